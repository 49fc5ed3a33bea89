"""Lessons in a real browser: a step opens its page with its settings, whatever was set there before."""

import pytest

from tests.support.browser import until_still

pytestmark = pytest.mark.browser


def test_a_step_opens_its_page_with_its_settings(visit):
    page = visit("/distances?distances_view=Matrices&levels=even&M=40")
    until_still(page)
    page.get_by_role("link", name="Lessons").click()
    page.get_by_text("What do M and p do to recognition?").first.click()
    page.get_by_role("heading", name="What do M and p do to recognition?").wait_for()
    until_still(page)
    page.get_by_role("button", name="Open Distances").nth(1).click()
    page.get_by_role("heading", name="Distances", exact=True).wait_for()
    until_still(page)
    assert page.get_by_role("slider", name="Sampling points M").input_value() == "1"
    assert "distances_view=Matrices" not in page.url        # the first view, which a link does not name
