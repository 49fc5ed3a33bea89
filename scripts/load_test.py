"""Twenty people at once on the verification page: everyone gets their result, nobody an error, nobody waits too long.

The app is started afresh. One browser session opens the page alone, three times with three settings; then twenty open
it at the same moment, each with another n, M and p, so that what one computed is of no use to another, and each
moves n once it is there. A session counts as served when the last part of the page has arrived and the sentence on
screen says what `qpwl_core` computes from the same model with the same settings. Times are wall clock, from the click
to the whole page; browsers and app share this machine's cores, so pages that wait move nothing (`reduced_motion`): the
spinners of twenty pages, drawn without a graphics card, would take a third of it.

    python -m scripts.load_test [--sessions 20] [--limit 25]

Exits with 0 where all were served and the 95th percentile of the many is at most ``--limit`` times the time of one.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from urllib.parse import urlencode

from tests.support.browser import LAUNCH, serving
from tests.support.places import ROOT

SENTENCE = re.compile(r"At a distance of (\S+), ([\d,]+) of ([\d,]+) imposters get in .*? ([\d,]+) of ([\d,]+) owners")
WAIT = 180_000                                            # ms


def settings(number: int) -> dict:
    """n, M and p that no other session has."""
    return {"n": 1 + number % 5, "live": "true", "M": 8 + number % 50, "p": 1.0 + 0.5 * (number % 15)}


class Truth:
    """What the page must say, from the model that it shows first."""

    def __init__(self):
        from qpwl_core.models.gallery import load_gallery
        from ui.library.models import entries

        first = next(entry for entry in entries() if entry.has_gallery)
        alike = [entry for entry in entries() if entry.card.get("set") == first.card.get("set")
                 and entry.method == "qp-wl" and entry.has_gallery]
        self.gallery = load_gallery((alike or [first])[0].folder).part("test")

    def counts(self, setting: dict, threshold: float) -> tuple:
        from qpwl_core.evaluation.trials import at_threshold, make_trials

        distances = self.gallery.distances(None, setting["M"], setting["p"])
        trials = make_trials(distances, self.gallery.subjects, self.gallery.sources)
        out = at_threshold(*trials.of(setting["n"]), threshold)
        return out["let_in"], out["imposters"], out["sent_away"], out["owners"]


async def served(page) -> tuple[float, tuple]:
    """Wait until all of the page has come and what can be seen is drawn; the threshold and the counts it tells."""
    await page.get_by_text("DET: the same errors").wait_for(timeout=WAIT)
    await page.locator(".js-plotly-plot").first.wait_for(timeout=WAIT)
    await page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT)
    if await page.locator('[data-testid="stException"], [data-testid="stAlertContentError"]').count():
        raise RuntimeError("the page shows an error")
    sentence = await page.locator('[data-testid="stAlert"]').filter(has_text="imposters get in").inner_text()
    said = SENTENCE.search(" ".join(sentence.split()))
    number = [float(word.replace(",", "").replace("−", "-")) for word in said.groups()]
    return number[0], tuple(map(int, number[1:]))


async def session(browser, address: str, number: int) -> dict:
    """One person: open the page by a link, then change n; how long both took, and what went wrong."""
    setting, row = settings(number), {"session": number, "opened": None, "moved": None, "problem": ""}
    context = await browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    try:
        page = await context.new_page()
        page.set_default_timeout(WAIT)
        start = time.perf_counter()
        await page.goto(f"{address}/verification?{urlencode(setting)}")
        threshold, counts = await served(page)
        row["opened"] = time.perf_counter() - start
        wanted = [(setting, threshold, counts)]
        setting = setting | {"n": 1 + setting["n"] % 5}
        start = time.perf_counter()
        await page.locator('[data-testid="stButtonGroup"]').first.get_by_text(str(setting["n"]), exact=True).click()
        formula = page.locator("annotation").filter(has_text=f"d_j({setting['n']})")
        await formula.first.wait_for(state="attached", timeout=WAIT)
        threshold, counts = await served(page)
        row["moved"] = time.perf_counter() - start
        row["said"] = [*wanted, (setting, threshold, counts)]
    except Exception as error:
        row["problem"] = " ".join(str(error).split())[:120]
    await context.close()
    return row


def check(rows: list[dict], truth: Truth) -> None:
    """Hold what was said on screen against the core, after the clock has stopped."""
    for row in rows:
        for setting, threshold, counts in row.pop("said", []):
            if counts != truth.counts(setting, threshold):
                row["problem"] = f"says {counts}, and the core {truth.counts(setting, threshold)}"


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def run(sessions: int) -> tuple[list[dict], list[dict]]:
    from playwright.async_api import async_playwright

    truth = Truth()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**LAUNCH)
        with tempfile.TemporaryDirectory() as home, serving(
                ROOT / "app.py", QPWL_RUNS=f"{home}/runs", QPWL_DESK=f"{home}/desk") as (address, _):
            await session(browser, address, 100)               # the app's first page imports everything
            alone = [await session(browser, address, 101 + number) for number in range(3)]
            many = await asyncio.gather(*(session(browser, address, number) for number in range(sessions)))
        await browser.close()
    check(alone, truth)
    check(many, truth)
    return alone, many


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--limit", type=float, default=25, help="times the time of one session alone (default: 25)")
    options = parser.parse_args()
    alone, many = asyncio.run(run(options.sessions))
    problems = [f"session {row['session']}: {row['problem']}" for row in [*alone, *many] if row["problem"]]
    print(f"{'':24}{'alone':>10}{'median':>10}{'p95':>10}{'slowest':>10}{'p95/alone':>12}")
    worst = 0.0
    for what, name in (("opened", "open the page, s"), ("moved", "change n, s")):
        one = [row[what] for row in alone if row[what]]
        each = [row[what] for row in many if row[what]]
        if one and each:
            base, late = percentile(one, 0.5), percentile(each, 0.95)
            worst = max(worst, late / base)
            print(f"{name:24}{base:10.2f}{percentile(each, 0.5):10.2f}{late:10.2f}{max(each):10.2f}"
                  f"{late / base:12.1f}")
    done = sum(not row["problem"] for row in many)
    print(f"{done} of {options.sessions} sessions served with the right figures; p95 at most {options.limit:g} times "
          f"one alone: {'yes' if 0 < worst <= options.limit else 'NO'}")
    print(*problems, sep="\n")
    return int(bool(problems) or not 0 < worst <= options.limit)


if __name__ == "__main__":
    sys.exit(main())
