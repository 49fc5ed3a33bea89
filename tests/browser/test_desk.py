"""Desk in a real browser."""

import os
import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from qpwl_core.common.files import read_json
from tests.support.browser import serving_app
from tests.support.places import ROOT

MODEL = "gait-hapt-qp-wl"
MARKUP = "<img src=x onerror=alert(1)> **b** [l](javascript:x) $x$ :red[y]"


@pytest.mark.browser
def test_the_walk_in_a_browser(browser, tmp_path):
    """Enrol three, identify one, reject an imposter, restart the server: they are still there; remove one."""
    shots = Path(os.environ.get("QPWL_SHOTS") or tmp_path)
    shots.mkdir(parents=True, exist_ok=True)
    problems = []
    settings = {"QPWL_DESK": str(tmp_path / "desk"), "QPWL_RUNS": str(tmp_path / "runs")}

    def visit(address):
        page = browser.new_page(viewport={"width": 1400, "height": 1700})
        page.set_default_timeout(120_000)
        page.on("dialog", lambda dialog: problems.append("a dialog opened"))
        page.on("pageerror", lambda error: problems.append(str(error)))
        ours = (address, address.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda request: None if request.url.startswith(ours) else problems.append(request.url))
        title = quote_plus(read_json(ROOT / "models" / MODEL / "card.json")["title"])
        page.goto(f"{address}/desk?model={title}&desk-how=By+hand", wait_until="commit")
        page.get_by_text(re.compile("^Enrolled: ")).wait_for()
        return page

    def shot(page, name):
        page.wait_for_timeout(500)
        page.screenshot(path=shots / f"desk-{name}.png")

    def idle(page):
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    def press(page, key):
        page.locator(f".st-key-{key} button").first.click()

    def enrol(page, count, name):
        idle(page)
        box = page.get_by_role("textbox", name="Name", exact=True)
        box.fill(name)
        box.press("Enter")
        press(page, "desk-enrol")
        page.get_by_text(f"Enrolled: {count}").wait_for()
        page.get_by_text(f"{name} is enrolled with").wait_for()

    def set_threshold(page, value):
        idle(page)
        box = page.get_by_label("Largest distance let in")
        box.fill(str(value))
        box.press("Enter")
        page.wait_for_url(re.compile(f"desk-threshold={value}"))

    with serving_app(**settings) as (address, _):
        page = visit(address)
        for count, name in enumerate(("Ann", MARKUP, "Cat"), start=1):
            enrol(page, count, name)
        shot(page, "1-enrolled")
        set_threshold(page, 1000)
        press(page, "desk-present")
        page.get_by_text("Accepted as Ann").wait_for()
        page.locator(".js-plotly-plot").nth(2).wait_for()
        shot(page, "2-identified")
        press(page, "desk-try-stranger-who")
        page.wait_for_url(re.compile("desk-who=Stranger"))        # before it, the browser would say "Enrolled" again
        set_threshold(page, 0.1)
        press(page, "desk-present")
        page.get_by_text("Rejected: nobody we know").wait_for()
        page.get_by_text("Rightly sent away").wait_for()
        assert page.locator("img[src=x]").count() == 0, "a name is no markup"
        shot(page, "3-imposter-rejected")
        page.close()
    with serving_app(**settings) as (address, _):
        page = visit(address)
        page.get_by_text("Enrolled: 3").wait_for()
        shot(page, "4-after-a-restart")
        press(page, "desk-way-out")
        press(page, "desk-remove")
        page.get_by_text("Enrolled: 2").wait_for()
        shot(page, "5-removed")
        page.get_by_text("Log", exact=True).click()
        page.get_by_text("The last 3 decisions").wait_for()
        shot(page, "6-log")
        page.close()
    assert problems == []
