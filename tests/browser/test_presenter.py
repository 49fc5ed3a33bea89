"""Presenter mode of the pages of *Use* on a projector: no sidebar, large type, one decision per screen, keys."""

import re

import pytest

from tests.support.browser import on_screen, until_still

pytestmark = pytest.mark.browser


def on_one_screen(page, *what):
    """All that is said and asked can be seen without scrolling."""
    until_still(page)
    for each in what:
        assert on_screen(page, each), f"{each} is not on the screen"


def begun(visit, link):
    page = visit(link, width=1024, height=768)
    page.locator("h1").first.wait_for()
    until_still(page)
    assert page.locator('[data-testid="stSidebar"]').count() == 0 or not page.get_by_test_id("stSidebar").is_visible()
    assert float(page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)")) >= 36
    return page


@pytest.mark.parametrize(("link", "key"), [("/verification?present=true&present-seed=5", "present-claim"),
                                           ("/identification?present=true&present-seed=5", "present-who"),
                                           ("/sign?present=true&present-seed=5", "present-sign")])
def test_a_claim_and_a_name_by_keys_alone(visit, link, key):
    page = begun(visit, link)
    parts = ("h1", f".st-key-{key}-answer-1 button", f".st-key-{key}-reveal button", ".js-plotly-plot")
    on_one_screen(page, *parts)
    asked = page.locator("h1").inner_text()
    page.keyboard.press("1")
    page.get_by_text("Your guess:").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text(re.compile("It (really )?was ")).wait_for()
    page.get_by_text(re.compile("Audience [01] of 1")).wait_for()
    on_one_screen(page, *parts)
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Visitor 2").wait_for()
    assert page.locator("h1").inner_text() != asked
    on_one_screen(page, *parts)


def test_the_desk_by_keys_alone(visit):
    page = visit("/desk?present=true&desk-seed=5&model=Gait+%C2%B7+HAPT+%C2%B7+QP-NPL", width=1024, height=768)
    page.get_by_role("button", name="Enrol three people").click()
    page.get_by_role("heading", name="Who is it?").wait_for()
    on_one_screen(page, "h1", ".st-key-desk-guess-1 button", ".st-key-desk-reveal button")
    page.keyboard.press("4")
    page.get_by_text("Your guess: a stranger").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("It really was").wait_for()
    until_still(page)
    assert on_screen(page, "h1"), "the verdict is where the question was"
    page.get_by_text(re.compile("Audience [01] of 1")).wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Who is it?").wait_for()


def test_results_one_view_per_screen(visit):
    page = begun(visit, "/results?present=true")
    first = page.locator("h1").inner_text()
    on_one_screen(page, "h1", ".st-key-results-next button")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("old => document.querySelector('h1')?.innerText != old", arg=first)
