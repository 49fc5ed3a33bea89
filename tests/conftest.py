"""Fixtures that many tests share: the recordings beside the project, the browser, thread counts."""

import os
import shutil
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
