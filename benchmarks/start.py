"""From the start of the server (`make run`, once all is installed) to the first picture that a new browser shows.

Against an empty app from its start to its text. FLOOR is half of what it was in commit 26b4da2, measured the same way:
4.3 s, 2.85 times as long as the empty app.
"""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks._timing import repeat_to, row
from benchmarks.app import EMPTY
from tests.support.browser import chromium, serving
from tests.support.places import ROOT

ROUNDS, FLOOR = 6, 1.42
PICTURE = ".drawing svg path, [data-testid='stPlotlyChart'] .main-svg"


def from_start(browser, script: Path, what: str, **folders) -> float:
    """Seconds from the command to the first element of this kind that can be seen."""
    start = time.perf_counter()
    with serving(script, **folders) as (address, _):
        fresh = browser.new_context(viewport={"width": 1366, "height": 768})
        page = fresh.new_page()
        page.goto(address, wait_until="commit")
        page.locator(what).first.wait_for(state="attached", timeout=60_000)
        seconds = time.perf_counter() - start
        fresh.close()
    return seconds


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        script = Path(home) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        folders = {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"}

        def turn():
            return from_start(browser, ROOT / "app.py", PICTURE, **folders), from_start(browser, script, "h1")

        picture, empty, ratio, noise = repeat_to(FLOOR, turn, at_least=False, rounds=ROUNDS, seconds=60,
                                                 of=statistics.median)
    return [row("app: from make run to the first picture", f"{picture:.2f} s", f"empty app, its text {empty:.2f} s",
                ratio, FLOOR, at_least=False, noise=noise)]
