"""Home in a real browser."""

import re

import pytest

from tests.support.browser import on_screen, until_still


@pytest.mark.browser
def test_the_first_action_and_its_answer_are_on_one_screen(visit):
    page = visit("/", width=1024, height=768)
    button = page.get_by_role("button", name="Another pair")
    button.wait_for()
    until_still(page)
    page.get_by_role("link", name="Results").last.wait_for()
    assert on_screen(page, '[data-testid="stMain"] a[href*="results"]'), "the tour"
    for _ in range(3):
        before = page.get_by_test_id("stAlert").last.inner_text()
        assert on_screen(page, '[data-testid="stMain"] button[data-testid="stBaseButton-primary"]')
        assert page.get_by_text("to themselves,").first.evaluate(
            "box => box.getBoundingClientRect().bottom") <= 768, "the answer"
        button.click()
        page.wait_for_function("old => [...document.querySelectorAll('[data-testid=\"stAlert\"]')].at(-1)?.innerText"
                               " != old", arg=before)
        until_still(page)


@pytest.mark.browser
def test_in_a_browser(visit):
    page = visit("/?p=2.0", "dark")
    page.locator("figure.drawing svg path").nth(2).wait_for(state="attached", timeout=120_000)
    assert page.get_by_role("heading", name="QP-WL Lab").is_visible()
    assert "W_{2}" in page.locator("annotation").first.text_content(), "the link carries p"
    page.get_by_role("slider", name="Order p").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("p=2.5"), timeout=60_000)
    page.locator("figure.drawing path.bar").nth(63).wait_for(state="attached", timeout=60_000)
    assert page.locator("figure.drawing").count() == 2
    assert page.evaluate("window.Plotly === undefined"), "Home takes no plotly.js"
