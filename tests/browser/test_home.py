"""Home in a real browser."""

import re

import pytest


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
