"""Train in a real browser."""

import pytest


@pytest.mark.browser
def test_a_run_goes_on_whatever_the_page_does(visit):
    page = visit("/?data=speech-vowels-9")
    page.get_by_role("link", name="Train", exact=True).first.click()
    page.get_by_label("Iterations", exact=True).fill("30")
    page.get_by_label("Iterations", exact=True).press("Enter")
    page.get_by_text("--iterations 30").wait_for(timeout=60_000)
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("button", name="Stop").or_(page.get_by_text("finished")).first.wait_for(timeout=60_000)
    page.get_by_label("Seed", exact=True).fill("3")
    page.get_by_label("Seed", exact=True).press("Enter")
    page.get_by_text("--seed 3").wait_for(timeout=60_000)
    page.get_by_role("link", name="Home").first.click()
    page.get_by_role("heading", name="QP-WL Lab").wait_for(timeout=60_000)
    page.reload()
    page.get_by_role("link", name="Train", exact=True).first.click()
    page.get_by_text("finished").first.wait_for(timeout=120_000)
    page.locator(".js-plotly-plot .scatterlayer .trace").first.wait_for(timeout=60_000)
    page.get_by_role("link", name="Its filters").click()
    page.get_by_role("heading", name="Filters", exact=True).wait_for(timeout=60_000)
