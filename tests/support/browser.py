"""A real browser on a real server, and a clock that stops when the page is still."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from tests.support.places import ROOT

# The system's Chromium where there is one, else Playwright's own; it asks the web for nothing by itself.
LAUNCH = {"executable_path": next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                                  None),
          "args": ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                   "--disable-background-networking", "--disable-component-update"]}
QUIET = 350              # milliseconds without a change after which a page counts as still

# The header has a spinner of its own, which says that the server works and is no part of the page.
WATCH = """
() => {
  if (window.lastChange !== undefined) return;
  window.lastChange = performance.now();
  const outside = '[data-testid="stStatusWidget"], [data-testid="stHeader"], [data-testid="stToolbar"]';
  new MutationObserver(changes => {
    if (changes.some(change => !(change.target.closest && change.target.closest(outside))))
      window.lastChange = performance.now();
  }).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}
"""
STILL = f"""
() => {{
  const app = document.querySelector('[data-testid="stApp"]');
  const done = app && app.dataset.testScriptState === 'notRunning';
  if (!done || performance.now() - window.lastChange <= {QUIET}) return false;      // to look costs a layout
  const seen = box => box.bottom > 0 && box.top < window.innerHeight;
  const charts = [...document.querySelectorAll('[data-testid="stPlotlyChart"]')]
    .filter(chart => seen(chart.getBoundingClientRect()));
  const whole = document.querySelector('h1') && !document.querySelector('[data-testid="stSkeleton"]')
    && charts.every(chart => chart.querySelector('.main-svg'));
  return whole ? window.lastChange : false;
}}
"""


@contextmanager
def serving(script: Path, before: tuple[str, ...] = (), **environment):
    """A Streamlit script on a free port, the app as `make run` starts it: yields its address and process.

    ``before``: a command that starts it, with its options."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    start = ["ui.serve"] if script == ROOT / "app.py" else ["streamlit", "run", str(script)]
    command = [*before, sys.executable, "-m", *start, "--server.port", str(port), "--server.headless", "true",
               "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none"]
    with subprocess.Popen(command, cwd=script.parent, env=os.environ | environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(3000):            # so often that a clock sees the moment in which it answers
                try:
                    urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.02)
            yield f"http://localhost:{port}", process
        finally:
            process.kill()


def serving_app(**environment):
    """The app as a person starts it: yields its address and process."""
    return serving(ROOT / "app.py", **environment)


@contextmanager
def chromium():
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**LAUNCH)
        yield browser
        browser.close()


def until_still(page, timeout: float = 60) -> float:
    """Wait until the script has run and the page no longer changes; the time of its last change, in seconds."""
    page.evaluate(WATCH)
    return page.wait_for_function(STILL, timeout=timeout * 1000, polling=50).json_value() / 1000


def timed(page, act) -> float:
    """Seconds from an act of the person to the last change that it makes to the page."""
    until_still(page)
    start = page.evaluate("() => window.lastChange = performance.now()") / 1000
    act()
    return until_still(page) - start


def on_screen(page, what: str) -> bool:
    """Whether the first of these that is shown can be seen without scrolling."""
    return page.evaluate("""what => {
      const box = [...document.querySelectorAll(what)].find(box => box.checkVisibility()), place =
        box?.getBoundingClientRect();
      return !!place && place.top >= 0 && place.bottom <= window.innerHeight && place.left >= 0
        && place.right <= window.innerWidth;
    }""", what)
