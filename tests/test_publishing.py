"""What a stranger finds: documentation that builds, licences that allow it, a citation, an app that can be served."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request

import pytest
import yaml

from qpwl_core.common.version import __version__
from tests.support.browser import serving
from tests.support.places import ROOT


def test_the_documentation_builds_with_every_room_and_every_public_name(tmp_path):
    import qpwl_core

    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
                          cwd=ROOT, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for module, names in qpwl_core.PUBLIC.items():
        page = (tmp_path / "reference" / f"{module.split('.')[0]}.html").read_text()
        for name in names:
            assert f'id="qpwl_core.{module}.{name}"' in page


def test_no_licence_forbids_this_use():
    done = subprocess.run([sys.executable, "-m", "scripts.licences"], cwd=ROOT, text=True, capture_output=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")
    listed = {line.split()[0] for line in done.stdout.splitlines() if line}
    assert {"torch", "streamlit", "numpy", "pytest"} <= listed
    assert "none forbids this use" in done.stdout


def test_the_citation_and_the_changelog_know_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    authors = citation["preferred-citation"]["authors"]
    assert [author["family-names"] for author in authors] == ["Abdelwahab", "Landwehr"]
    assert re.search(rf"^## {re.escape(__version__)}", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_the_workflow_runs_on_three_systems_with_the_pythons_we_promise():
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    pythons = {version for job in jobs.values() for version in job["strategy"]["matrix"]["python"]}
    assert pythons == {"3.11", "3.12", "3.13"}
    assert set(jobs["elsewhere"]["strategy"]["matrix"]["system"]) == {"macos-latest", "windows-latest"}


def test_the_container_is_made_of_the_same_requirements_and_starts_the_same_app():
    text = (ROOT / "Dockerfile").read_text()
    assert "pip install --no-cache-dir -r requirements.txt" in text
    assert "grep '^torch==' requirements.txt" in text
    assert re.search(r'^CMD \["streamlit", "run", "app.py"', text, re.M)
    assert text.index("USER lab") > text.index("COPY . ."), "what it runs as cannot change the code"
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not {"models", "sample_data", "ui", "pages", "qpwl_core", "lessons", "results", "app.py"} & set(ignored)


def test_the_extras_of_the_package_are_the_versions_of_the_requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.match(r"[\w-]+", line).group(): line.split("#")[0].strip()
              for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] not in "#-"}
    for line in project["dependencies"]:
        name = re.match(r"[\w-]+", line).group()
        assert name == "torch" or wanted[name] == line, "one range, in both places"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_app_runs_without_write_access_to_its_code(tmp_path):
    """As in a container: code read-only (for root, too: without the right to override permissions), data elsewhere."""
    code = tmp_path / "code"
    listed = subprocess.run(["git", "ls-files", "app.py", "pages", "ui", "qpwl_core", "lessons", ".streamlit",
                             "pyproject.toml"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split("\n")
    for name in filter(None, listed):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, code / name)
    for name in ("models", "sample_data", "results"):
        (code / name).symlink_to(ROOT / name)
    for folder, _, files in os.walk(code):
        for name in (folder, *(os.path.join(folder, file) for file in files)):
            os.chmod(name, os.stat(name).st_mode & ~0o222)
    without = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    if without and not shutil.which("setpriv"):
        pytest.skip("setpriv is not there, and root may write anywhere")
    denied = subprocess.run([*without, "touch", str(code / "x")], capture_output=True, check=False)
    assert denied.returncode != 0, "the folder is read-only"
    try:
        with serving(code / "app.py", without, QPWL_RUNS=str(tmp_path / "runs"), QPWL_DESK=str(tmp_path / "desk"),
                     QPWL_CACHE=str(tmp_path / "cache"), PYTHONDONTWRITEBYTECODE="1") as (address, process):
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=10) as answer:
                assert answer.read() == b"ok"
            assert process.poll() is None
    finally:
        for folder, _, _ in os.walk(code):
            os.chmod(folder, 0o755)
