"""Home in a real browser."""

import re

import pytest


@pytest.mark.browser
def test_in_a_browser(visit):
    page = visit("/?p=2.0", "dark")
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(2).wait_for(timeout=120_000)
    assert page.get_by_role("heading", name="QP-WL Lab").is_visible()
    assert "W_{2}" in page.locator("annotation").first.text_content(), "the link carries p"
    page.get_by_role("slider", name="Order p").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("p=2.5"), timeout=60_000)
    page.locator(".js-plotly-plot .main-svg").nth(3).wait_for(state="attached")
    page.wait_for_timeout(1500)                # the picture below is drawn a second later; `visit` hears what it says
