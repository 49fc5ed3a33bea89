"""Puts into the wheel what lies beside the package in the repository: recordings that ship, and a model to start with.

Everything else is in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
STARTER = "models/gait-hapt-qp-wl"       # CC BY 4.0, with a gallery, on the people of sample_data/gait-hapt-30.npz


class BuildWithSamples(build_py):
    """The ordinary build, and copies of what ships inside the package."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for name in ("sample_data", STARTER):
                shutil.copytree(ROOT / name, Path(self.build_lib, "qpwl_core", name), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithSamples})
