"""Quantile layer in a real browser."""

import re

import pytest


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(visit, scheme):
    page = visit("/?p=2.0", scheme)
    page.get_by_role("link", name="Quantile layer").first.click()
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(4).wait_for(timeout=120_000)
    page.get_by_text("Why Wasserstein").click()
    page.wait_for_url(re.compile("ql_view=Why"), timeout=60_000)
    page.locator(".js-plotly-plot").nth(1).wait_for(timeout=60_000)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"ql_shift=1\.55"), timeout=60_000)
