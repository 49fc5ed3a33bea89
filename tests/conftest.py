"""Fixtures that many tests share: the recordings beside the project, the browser, thread counts."""

import json
import os

import plotly.graph_objects as go
import pytest

from benchmarks._browser import ROOT, chromium
from benchmarks._browser import serving as serve

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


def figures_on(page) -> list[dict]:
    """The figures on a page of an AppTest, each checked by Plotly, which the app leaves to the tests."""
    found = [json.loads(json.loads(element.proto.json)["figure"]) for element in page.get("bidi_component")]
    for figure in found:
        go.Figure(figure)
    return found


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real recordings beside the project; use with ``@pytest.mark.shared``."""
    return SHARED


@pytest.fixture(scope="session")
def browser():
    """A real Chromium."""
    with chromium() as found:
        yield found


def serving(**environment):
    """The app as a person starts it, on a free port: yields its address and process."""
    return serve(ROOT / "app.py", **environment)


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
