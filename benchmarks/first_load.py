"""The first load of Home: a server that has just been started, a browser that has nothing yet, against an empty app.

Before the small plotly.js, the text that does not wait and `ui.serve` (commit 26b4da2), this ratio was 3.2, the one of
the first text 2.3; the floors are half of that, and what an empty app's first text takes but a fifth.
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks._timing import row
from benchmarks.app import EMPTY
from tests.support.browser import chromium, serving, until_still
from tests.support.places import ROOT

ROUNDS = 5


def first_load(browser, script: Path, **folders) -> tuple[float, float]:
    """Seconds until the title can be read, and until the page is still."""
    with serving(script, **folders) as (address, _):
        fresh = browser.new_context(viewport={"width": 1366, "height": 768})
        page = fresh.new_page()
        page.goto(address, wait_until="commit")
        page.locator("h1").first.wait_for(timeout=60_000)
        text = page.evaluate("performance.now()") / 1000
        still = until_still(page)
        fresh.close()
    return text, still


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        script = Path(home) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        folders = {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"}
        times = [(*first_load(browser, ROOT / "app.py", **folders), *first_load(browser, script))
                 for _ in range(ROUNDS)]
    text, still, empty_text, empty_still = (statistics.median(column) for column in zip(*times, strict=True))
    return [row("app: first load of Home, its text", f"{text:.2f} s", f"empty app {empty_text:.2f} s",
                text / empty_text, 1.2, at_least=False),
            row("app: first load of Home, all of it", f"{still:.2f} s", f"empty app {empty_still:.2f} s",
                still / empty_still, 1.6, at_least=False)]
