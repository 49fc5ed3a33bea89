"""Fixtures that many tests share: the recordings beside the project, the browser, thread counts."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


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
def browser():
    """A real Chromium: the system's where there is one, else Playwright's own."""
    from playwright.sync_api import sync_playwright

    system = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=system, args=quiet)
        yield chromium
        chromium.close()


@contextmanager
def serving(**environment):
    """The app as a person starts it, on a free port: yields its address and process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.25)
        try:
            yield f"http://localhost:{port}", process
        finally:
            process.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of an app that keeps runs and enrolments in a folder of its own."""
    home = tmp_path_factory.mktemp("app")
    with serving(QPWL_RUNS=str(home / "runs"), QPWL_DESK=str(home / "desk")) as (address, _):
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
