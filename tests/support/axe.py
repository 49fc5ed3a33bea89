"""axe-core, the accessibility checker, from npm into `.venv`: it is used by tests and never committed."""

import shutil
import subprocess
import tarfile

import pytest

from tests.support.places import ROOT

VERSION = "4.14.0"
PLACE = ROOT / ".venv" / "axe-core" / "package" / "axe.min.js"


def axe_source() -> str:
    """The script that checks a page; it is fetched once, and the test is skipped where there is no npm."""
    if not PLACE.exists():
        if not shutil.which("npm"):
            pytest.skip("axe-core comes by npm, and there is none")
        folder = PLACE.parents[1]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", f"axe-core@{VERSION}"], cwd=folder, check=True, timeout=120)
        with tarfile.open(folder / f"axe-core-{VERSION}.tgz") as archive:
            archive.extract("package/axe.min.js", folder, filter="data")
    return PLACE.read_text()
