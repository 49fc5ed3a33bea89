"""A stranger's walk: build the wheel, install it elsewhere, train on a CSV, evaluate, enrol, identify, add a method."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.shown import SHOWN


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """An environment with nothing but the built wheel in it; what it depends on is looked up in this one's packages."""
    home = tmp_path_factory.mktemp("stranger")
    source = home / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    for name in ("qpwl_core", "sample_data", "models/gait-hapt-qp-wl"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(home), str(source)],
                   check=True)
    (wheel,) = home.glob("qpwl_lab-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "env")], check=True)
    subprocess.run([*pip, "--python", str(home / "env"), "install", "--no-deps", str(wheel)], check=True)
    (packages,) = (home / "env").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home, wheel


def walk(home, *arguments, **environment):
    """One command of the installed ``qpwl``, in an empty folder, with a home of its own."""
    folders = {"HOME": str(home / "home"), "XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QPWL_", "PYTHON"))}
    (home / "desk of a stranger").mkdir(exist_ok=True)
    done = subprocess.run([str(home / "env/bin/qpwl"), *map(str, arguments)], cwd=home / "desk of a stranger",
                          text=True, capture_output=True, check=False, env=kept | folders | environment)
    assert (done.returncode, done.stderr) == (0, ""), arguments
    return done.stdout


def test_the_wheel_has_what_it_needs_and_no_more(elsewhere):
    _, wheel = elsewhere
    names = zipfile.ZipFile(wheel).namelist()
    tops = {Path(name).parts[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"qpwl_core"}
    for name in ("py.typed", "transport/kernels.cpp", "transport/convolutions.h", "transport/sorting.h",
                 "sample_data/gait-hapt-30.npz", "sample_data/README.md",
                 "models/gait-hapt-qp-wl/card.json", "models/gait-hapt-qp-wl/gallery.safetensors"):
        assert f"qpwl_core/{name}" in names
    for licence in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f"licenses/{licence}") for name in names)
    assert wheel.stat().st_size < 30e6


def test_the_walk(elsewhere):
    home, _ = elsewhere
    where = subprocess.run([str(home / "env/bin/python"), "-c", "import qpwl_core; print(qpwl_core.__file__)"],
                           cwd=home, text=True, capture_output=True, check=True).stdout
    assert str(home / "env") in where
    listed = walk(home, "datasets")
    assert next(line for line in listed.splitlines() if "gait-hapt-30" in line).endswith("shipped")
    assert "gait-hapt-qp-wl" in walk(home, "models")
    assert "30" in walk(home, "info", "gait-hapt-30")
    assert "AUC" in walk(home, "evaluate", "gait-hapt-qp-wl", "--data", "gait-hapt-30")

    walk(home, "simulate", "eye", "--out", "people.csv", "--subjects", 8, "--sequences", 7)
    walk(home, "train", "--data", "people.csv", "--domain", "eye", "--out", "run", "--iterations", 4, "--filters", 4,
         "--layers", 2, "--pairs", 4)
    walk(home, "evaluate", "run", "--data", "people.csv", "--json", "results.json")
    person = walk(home, "info", "people.csv").splitlines()[-1].split()[0]
    assert "Ada is enrolled with" in walk(home, "enrol", "run", "--name", "Ada", "--data", "people.csv", "--subject",
                                          person)
    assert "Ada" in walk(home, "identify", "run", "--data", "people.csv", "--subject", person, "--sequences", 0,
                         "--threshold", 1e9)
    (home / "my_method.py").write_text(SHOWN["my_method.py"])
    assert "range-npl" in walk(home, "--plugin", home / "my_method.py", "methods")
    assert "range-npl" not in walk(home, "methods")
