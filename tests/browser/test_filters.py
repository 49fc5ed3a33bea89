"""Filters in a real browser."""

import pytest


@pytest.mark.browser
def test_a_click_shows_the_filter_large(visit):
    page = visit("/filters")
    page.locator(".js-plotly-plot .barlayer .point").first.wait_for(timeout=60_000)
    page.locator(".js-plotly-plot .barlayer .trace").nth(1).locator(".point").nth(2).click(force=True)
    page.get_by_role("heading", name="number 3 of").wait_for(timeout=60_000)
