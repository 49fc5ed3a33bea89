"""The package outside its repository: it writes into the user's folders, and claims nothing that it does not have."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package alone, as site-packages has it, and a home to write to."""
    home = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(ROOT / "qpwl_core", home / "site-packages" / "qpwl_core",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return home


def run(installed, *arguments, **environment):
    folders = {"HOME": str(installed / "home"), "XDG_DATA_HOME": str(installed / "home" / "data"),
               "XDG_CACHE_HOME": str(installed / "home" / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QPWL_")}
    return subprocess.run([sys.executable, "-m", "qpwl_core", *map(str, arguments)], cwd=installed, text=True,
                          capture_output=True, check=False,
                          env=kept | folders | {"PYTHONPATH": str(installed / "site-packages")} | environment)


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_nothing_is_written_into_the_package(installed):
    from qpwl_core.training.loop import train

    recordings = tiny_recordings()
    *_, last = train(tiny_config(), recordings)
    last.model.save(installed / "model")
    recordings.save(installed / "people.npz")
    before = files_of(installed / "site-packages")
    done = run(installed, "enrol", "model", "--name", "Ada", "--data", "people.npz", "--subject", "p0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ada is enrolled with" in done.stdout
    assert str(installed / "home" / "data") in done.stdout, "in the user's data folder"
    assert "Ada" in run(installed, "enrol", "model", "--list").stdout
    assert files_of(installed / "site-packages") == before


def test_a_set_that_is_not_there_does_not_claim_to_ship(installed):
    listed = run(installed, "datasets").stdout
    row = next(line for line in listed.splitlines() if "gait-hapt-30" in line)
    assert row.endswith("not installed")
    done = run(installed, "info", "gait-hapt-30")
    assert done.returncode == 2
    assert "ships with the repository" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "shipped" in subprocess.run([sys.executable, "-m", "qpwl_core", "datasets"], cwd=ROOT, text=True,
                                       capture_output=True, check=True).stdout


def test_what_is_imported_is_declared():
    """Every library that the package imports anywhere stands among its dependencies or extras."""
    import ast
    import re
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *(x for extra in project["optional-dependencies"].values() for x in extra)]
    names = {re.match(r"[\w-]+", line).group().lower().replace("-", "_") for line in declared}
    called = {"sklearn": "scikit_learn", "PIL": "pillow"}
    for path in (ROOT / "qpwl_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            for top in {module.split(".")[0] for module in modules} - {"qpwl_core"} - set(sys.stdlib_module_names):
                assert called.get(top, top).lower() in names, f"{path.name} imports {top}"
