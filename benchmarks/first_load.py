"""The first load of Home: a server that has just been started, a browser that has nothing yet, against an empty app.

Before the small plotly.js, the text that does not wait and `ui.serve` (commit 26b4da2), this ratio was 3.2, the one of
the first text 2.3; the floors are half of that, and what an empty app's first text takes but a fifth.

When its text stands is what the browser says of its own painting. Asked from outside whether it does, it answers once
it has drawn everything else, too: 70 ms later for an empty app, 150 to 350 ms for Home. No person sees that.
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks._timing import repeat_to, row
from benchmarks.app import EMPTY
from tests.support.browser import chromium, serving, until_still
from tests.support.places import ROOT

ROUNDS, TEXT, ALL = 6, 1.2, 1.6        # rounds at a time; floors
PAINTED = """
new PerformanceObserver(list => {
  for (const {element, startTime} of list.getEntries())
    if (element && element.closest('[data-testid="stMain"]')) window.painted ??= startTime;
}).observe({type: 'largest-contentful-paint', buffered: true});
"""


def first_load(browser, script: Path, **folders) -> tuple[float, float]:
    """Seconds until words on the page can be read, and until it is still."""
    with serving(script, **folders) as (address, _):
        fresh = browser.new_context(viewport={"width": 1366, "height": 768})
        fresh.add_init_script(PAINTED)
        page = fresh.new_page()
        page.goto(address, wait_until="commit")
        page.locator("h1").first.wait_for(timeout=60_000)
        still = until_still(page)
        text = page.wait_for_function("window.painted").json_value() / 1000
        fresh.close()
    return text, still


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        script = Path(home) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        folders = {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"}
        found = []
        for moment, what, floor in ((0, "its text", TEXT), (1, "all of it", ALL)):
            ours, empty, ratio, noise = repeat_to(
                floor, lambda moment=moment: (first_load(browser, ROOT / "app.py", **folders)[moment],
                                              first_load(browser, script)[moment]),
                at_least=False, rounds=ROUNDS, seconds=60, of=statistics.median)
            found.append(row(f"app: first load of Home, {what}", f"{ours:.2f} s", f"empty app {empty:.2f} s", ratio,
                             floor, at_least=False, noise=noise))
    return found
