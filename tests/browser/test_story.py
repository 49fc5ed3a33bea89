"""The story in a browser, as a newcomer clicks through it: home, data, quantile layer, train, filters, distances.

`visit` fails on any error in the browser's console; the pictures of each step lie in the test's folder.
"""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


def test_from_home_to_the_distances_of_a_model_trained_on_the_way(visit, tmp_path):
    from playwright.sync_api import expect

    page = visit("/")

    def go(name):
        page.get_by_test_id("stSidebarNavLink").filter(has_text=name).first.click()
        page.get_by_role("heading", name=name, exact=True).wait_for()

    def shot(name):
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
        page.locator('[role="figure"] svg').first.wait_for()
        page.wait_for_timeout(500)
        page.screenshot(path=tmp_path / f"{name}.png")

    page.get_by_text("The person is nearer to themselves").wait_for()
    shot("1-home")
    go("Data")
    page.get_by_text("How long each person was recorded").wait_for()
    shot("2-data")
    go("Quantile layer")
    page.get_by_role("slider", name="Sampling points M").press("ArrowLeft")
    page.get_by_text("M + 2 = 17").wait_for()
    shot("3-quantile-layer")
    go("Train")
    page.get_by_label("Iterations", exact=True).fill("30")
    page.keyboard.press("Enter")
    page.get_by_text("--iterations 30").wait_for()
    page.get_by_role("button", name="Start training").click()
    page.get_by_text("The model is on the shelf").wait_for()
    shot("4-train")
    page.get_by_role("link", name="Its filters").click()
    page.get_by_role("heading", name="Filters", exact=True).wait_for()
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("30 steps"))
    shot("5-filters")
    go("Distances")
    page.get_by_role("slider", name="Order p").press("ArrowRight")
    page.get_by_text("W, p = 1.5").first.wait_for()               # the model was trained with p = 1, and p follows it
    shot("6-distances")
    assert len(list(tmp_path.glob("*.png"))) == 6
