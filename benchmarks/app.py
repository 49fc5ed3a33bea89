"""The app in a real browser: moving p or M, changing page, and the server's memory, against an empty Streamlit page.

The empty page has one slider and one line of text, the empty app two such pages. Each act is timed in turns with the
same act there, from the key or click to the last change on screen; medians are compared, of so many rounds that their
noise is smaller than the margin. The gallery is the largest that ships.
"""

import itertools
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks._timing import repeat_to
from qpwl_core.common.files import read_json
from tests.support.browser import chromium, serving, timed, until_still
from tests.support.places import ROOT

ROUNDS, TIMES = 3, 3        # rounds at a time; an act may take so many times as long as on the empty page
PAGES = ("Home", "Data", "Quantile layer", "Train", "Filters", "Distances", "Sign", "Verification",
         "Identification and imposters", "Enrolment desk", "Results")
EMPTY = '''
import streamlit as st

def one():
    st.title("Empty")
    st.write(st.slider("Order p", 1.0, 8.0, 1.0, 0.5))

def other():
    st.title("Also empty")
    st.write(st.slider("Order p", 1.0, 8.0, 1.0, 0.5))

st.navigation([st.Page(one, title="One", default=True), st.Page(other, title="Other")]).run()
'''


def largest_gallery() -> str:
    """The title of the model that ships with the most to compute on."""
    gallery = max((ROOT / "models").glob("*/gallery.safetensors"), key=lambda path: path.stat().st_size)
    return read_json(gallery.parent / "card.json")["title"]


def key_presses(page, label: str):
    """An act: one step of a slider, to the right and back in turn."""
    keys = itertools.cycle(["ArrowRight", "ArrowLeft"])
    slider = page.get_by_role("slider", name=label, exact=False).first

    def act():
        slider.focus()
        page.keyboard.press(next(keys))

    return act


def goes_to(page, *titles):
    """An act: to the next of these pages, by the menu at the side."""
    names = itertools.cycle(titles)
    return lambda: page.get_by_test_id("stSidebarNavLink").filter(has_text=next(names)).first.click()


def line(what: str, turn, most: float) -> dict:
    """A row with two floors: seconds, and the ratio to the empty page; ``turn`` does the act here and there."""
    def limit(theirs: float) -> float:
        return min(TIMES, most / theirs)

    ours, theirs, ratio, noise = repeat_to(limit, turn, at_least=False, rounds=ROUNDS, of=statistics.median)
    return {"what": what, "measured": f"{ours:.2f} s", "reference": f"empty page {theirs:.2f} s",
            "ratio": f"{ratio:.3g}", "noise": f"{noise:.2g}", "floor": f"<= {TIMES} and {most:g} s",
            "ok": ratio - noise <= limit(theirs)}


def megabytes(process) -> float:
    """Memory that a process holds now."""
    return int(subprocess.run(["ps", "-o", "rss=", "-p", str(process.pid)], capture_output=True, text=True,
                              check=True).stdout) / 1024


def sliders(page, address, empty, title: str) -> list[dict]:
    """p and M, on the pages that have them, with the largest gallery."""
    rows, empty_act = [], key_presses(empty, "Order p")
    for path, name, query in (("", "Home", ""), ("quantile_layer", "Quantile layer", ""), ("filters", "Filters", ""),
                              ("distances", "Distances", ""), ("verification", "Verification", "&live=true"),
                              ("identification", "Identification", "&live=true")):
        page.goto(f"{address}/{path}?levels=even&M=16&model={title}{query}")
        until_still(page)
        for label, short in (("Order p", "p"), ("M", "M")):
            slider = page.get_by_role("slider", name=label, exact=False)
            if slider.count() and slider.first.is_enabled():
                act = key_presses(page, label)
                rows.append(line(f"app: {name}, moving {short}",
                                 lambda act=act: (timed(page, act), timed(empty, empty_act)), 0.5))
    return rows


def changes(page, address, empty) -> list[dict]:
    """From Home to each page and back; a first visit of all of them does not count."""
    rows, empty_act = [], goes_to(empty, "Other", "One")
    page.goto(address)
    for name in PAGES:
        timed(page, goes_to(page, name))
    for name in PAGES[1:]:
        def turn(name=name):
            timed(page, goes_to(page, "Home"))
            return timed(page, goes_to(page, name)), timed(empty, empty_act)

        rows.append(line(f"app: opening {name}", turn, 1.5))
    return rows


def memory(browser, title: str, home: str) -> dict:
    """A new server: all ten pages are the first ten interactions, ninety more follow."""
    with serving(ROOT / "app.py", QPWL_RUNS=f"{home}/runs-2", QPWL_DESK=f"{home}/desk-2") as (address, process):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{address}/?levels=even&M=16&model={title}")
        for name in PAGES:
            timed(page, goes_to(page, name))
        before = megabytes(process)
        for i in range(90):
            if i % 10 == 0:
                act = goes_to(page, PAGES[i // 10])
            elif i % 10 == 1:
                act = goes_to(page, "Distances" if i % 20 == 1 else "Filters")
            else:
                act = key_presses(page, "Order p")
            timed(page, act)
        after = megabytes(process)
        page.close()
    return {"what": "app: memory after 100 interactions", "measured": f"{after:.0f} MB",
            "reference": f"after 10 {before:.0f} MB", "ratio": f"{after / before:.3g}", "floor": "<= 1.2",
            "ok": after <= 1.2 * before}


def run() -> list[dict]:
    title = largest_gallery()
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        script = Path(home) / "empty.py"
        script.write_text(EMPTY)
        folders = {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"}
        with serving(script) as (bare, _), serving(ROOT / "app.py", **folders) as (address, _):
            empty = browser.new_page(viewport={"width": 1400, "height": 1000})
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            empty.goto(bare)
            page.goto(address)             # app.py must have run once, see ui/page.py
            until_still(page), until_still(empty)
            rows = sliders(page, address, empty, title) + changes(page, address, empty)
            page.close(), empty.close()
        rows.append(memory(browser, title, home))
    return rows
