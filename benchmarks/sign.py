"""The page Sign in a real browser: from *Done* to the verdict, against a rerun of an empty Streamlit page."""

import itertools
import statistics
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._timing import repeat_to
from benchmarks.app import EMPTY, key_presses
from tests.support.browser import chromium, serving, timed, until_still
from tests.support.drawings import loops
from tests.support.places import ROOT
from tests.support.replay import draw

ROUNDS = 6
MOST = 0.5                # seconds
SEEN = """
([wanted, start]) => {
  const found = [...document.querySelectorAll('h2')].some(heading => heading.innerText.includes(wanted));
  return found ? performance.now() - start : false;
}
"""


def verdict_after(page, session, number: int) -> float:
    """Seconds from pressing Done to the verdict on signature ``number`` standing on the page."""
    draw(page, session, [np.column_stack([stroke[:, 0] / 1000, stroke[:, 1:]]) for stroke in loops(number)])
    start = page.evaluate("() => performance.now()")
    page.locator("button.done").click()
    return page.wait_for_function(SEEN, arg=[f"Number {number}", start], polling="raf").json_value() / 1000


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        script = Path(home) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        with serving(script) as (bare, _), serving(ROOT / "app.py", QPWL_RUNS=f"{home}/runs",
                                                   QPWL_DESK=f"{home}/desk") as (address, _):
            empty, page = browser.new_page(), browser.new_page(viewport={"width": 1400, "height": 1000})
            empty.goto(bare)
            page.goto(f"{address}/sign")
            page.locator("canvas.ink").wait_for()
            until_still(page, 120), until_still(empty)
            session, act = page.context.new_cdp_session(page), key_presses(empty, "Order p")
            draw(page, session, [np.column_stack([stroke[:, 0] / 1000, stroke[:, 1:]]) for stroke in loops(1)])
            page.locator("button.done").click()
            page.get_by_text("1 of 5 signatures").wait_for()
            numbers = itertools.count(2)

            def turn():
                until_still(page)
                return verdict_after(page, session, next(numbers)), timed(empty, act)

            turn()                                         # the first one loads
            ours, theirs, ratio, noise = repeat_to(lambda theirs: MOST / theirs, turn, at_least=False, rounds=ROUNDS,
                                                   of=statistics.median)
    return [{"what": "app: Sign, from Done to the verdict", "measured": f"{ours:.2f} s", "reference":
             f"empty page {theirs:.2f} s", "ratio": f"{ratio:.3g}", "noise": f"{noise:.2g}", "floor": f"<= {MOST:g} s",
             "ok": ratio - noise <= MOST / theirs}]
