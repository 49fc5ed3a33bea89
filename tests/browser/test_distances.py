"""Distances in a real browser."""

import pytest


@pytest.mark.browser
def test_the_link_is_the_state_and_a_slider_redraws(visit):
    page = visit("/distances?p=2.0&distances_view=Matrices", "dark")
    page.locator(".js-plotly-plot .heatmaplayer").first.wait_for(timeout=60_000)
    assert page.locator(".js-plotly-plot .heatmaplayer image").count() == 3
    page.get_by_role("slider", name="Order p").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("p = 2.5: AUC").first.wait_for(timeout=60_000)
