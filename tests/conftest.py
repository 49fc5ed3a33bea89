"""Fixtures that many tests share: the recordings beside the project, the browser, thread counts."""

import os
import signal
import subprocess
import sys
import time

import pytest

from qpwl_core.study.sets import cells_of
from tests.support import postgres as postgresql
from tests.support.browser import chromium, serving_app
from tests.support.places import ROOT, SHARED


def pytest_collection_modifyitems(items):
    """Skip what needs the shared recordings where they are absent; in CI that is an error instead."""
    if SHARED.is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared"):
            if os.environ.get("CI"):
                raise pytest.UsageError(f"CI must have the shared recordings, and {SHARED} is not there")
            item.add_marker(pytest.mark.skip(reason=f"the shared recordings are not at {SHARED}"))


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real recordings beside the project; use with ``@pytest.mark.shared``."""
    return SHARED


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server; skipped where its programs are not installed, never in CI."""
    if postgresql.programs() is None:
        if os.environ.get("CI"):
            raise pytest.UsageError("CI must have PostgreSQL: make test installs Debian's package as root")
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    with postgresql.cluster("fsync=off") as running:
        yield running


@pytest.fixture(scope="session")
def browser():
    """A real Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of an app that keeps runs and enrolments in a folder of its own."""
    home = tmp_path_factory.mktemp("app")
    with serving_app(QPWL_RUNS=str(home / "runs"), QPWL_DESK=str(home / "desk")) as (address, _):
        yield address


@pytest.fixture
def visit(browser, server):
    """``visit("/filters?M=8", "dark")`` opens a page of the app; a console error, or anything from the web, fails."""
    problems, opened = [], []
    ours = (server, server.replace("http", "ws"), "data:", "blob:")

    def visit(path="/", scheme="light", width=1400, height=1000):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(120_000)                        # the machine may have other things to do
        # on a link to a page, Streamlit's client first asks below that page for the server and then above it
        page.on("console", lambda message: problems.append(message.text)
                if message.type == "error" and "/_stcore/" not in message.location["url"] else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(ours) else problems.append(request.url))
        page.goto(server + path)
        opened.append(page)
        return page

    yield visit
    for page in opened:
        page.close()
    assert not problems


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """The smoke study as CI runs it, once: interrupted with Ctrl-C after its first checkpoint, then to the end."""
    out = tmp_path_factory.mktemp("study") / "results"
    command = [sys.executable, "-m", "qpwl_core", "study", "--preset", "smoke", "--out", str(out),
               "--results", str(out / "RESULTS.md"), "--ship", str(out / "models")]
    listening = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=listening) as first:
        while first.poll() is None and not list(out.glob("runs/*/checkpoint.safetensors")):
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGINT)                  # as a terminal does it: to all processes
        _, error = first.communicate()
    assert (first.returncode, error) == (
        130, "qpwl_core: stopped; to go on where it stopped, give the same command again\n")
    assert len(list(out.glob("cells/*"))) < len(cells_of("smoke"))
    second = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert (second.returncode, second.stderr) == (0, "")
    return out, second.stdout
