"""Press and see, on a projector: the answer to a button is on the same screen as the button."""

import re

import pytest

from tests.support.browser import until_still

pytestmark = pytest.mark.browser
GAIT = "model=Gait+%C2%B7+HAPT+%C2%B7+QP-CLS"


def seen(page, *found):
    """All of these are on the screen, whole."""
    until_still(page)
    for each in found:
        box = each.first.bounding_box()
        assert box["y"] >= 0, f"{each} is above the screen"
        assert box["y"] + box["height"] <= page.viewport_size["height"], f"{each} is below the screen: {box}"


def test_a_preset_at_the_desk_presents_and_the_audience_sees_its_score(visit):
    page = visit(f"/desk?{GAIT}", width=1024, height=768)
    page.get_by_role("button", name="Enrol three people").click()
    verdict = page.get_by_role("heading", name=re.compile("Accepted as|Rejected"))
    for label, now in (("An owner", ""), ("A stranger", "desk-who=Stranger"), ("A false claim", "desk-question=")):
        button = page.get_by_role("button", name=label, exact=True)
        button.click()
        page.wait_for_url(re.compile(now))
        verdict.wait_for()
        seen(page, button, verdict, page.get_by_text("It really was"))
    page.goto(page.url.split("?")[0] + f"?{GAIT}&desk-view=Audience&desk-seed=5")
    page.get_by_role("heading", name="Who is it?").wait_for()
    seen(page, page.locator(".st-key-desk-guess-1 button"), page.locator(".st-key-desk-reveal button"))
    page.keyboard.press("1")
    page.get_by_text("Your guess: A").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("It really was").wait_for()
    seen(page, page.get_by_role("button", name="Next visitor"), page.get_by_text("It really was"),
         page.get_by_text(re.compile("Audience [01] of 1")))


def test_a_training_that_starts_says_so_beside_its_button(visit):
    page = visit("/train?data=speech-vowels-9", width=1024, height=768)
    page.get_by_label("Iterations", exact=True).fill("20")
    page.get_by_label("Iterations", exact=True).press("Enter")
    page.get_by_text("--iterations 20").wait_for()
    button = page.get_by_role("button", name="Start training")
    until_still(page)
    before = button.bounding_box()
    assert before["y"] + before["height"] <= 768, "no scrolling before it, either"
    button.click()
    told = page.get_by_text(re.compile("It starts|It trains|It waits|Finished"))
    told.first.wait_for()
    for each in (button, told.first):
        box = each.bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= 768
    page.get_by_text(re.compile("Finished")).first.wait_for()


def test_a_click_on_a_curve_goes_there(visit):
    page = visit("/distances?distances_view=Over+p+and+M", width=1024, height=768)
    page.locator(".js-plotly-plot").nth(1).wait_for()
    for place, url in ((0, "p=2"), (1, "M=4")):
        until_still(page)
        picture = page.locator(".js-plotly-plot").nth(place)
        picture.scroll_into_view_if_needed()
        until_still(page)
        at = picture.evaluate("""(box, x) => {           // where the curve has x, on the screen
          const trace = box._fullData.find(trace => trace.mode == 'lines+markers'), i = Array.from(trace.x).indexOf(x);
          const {xaxis, yaxis} = box._fullLayout, place = box.getBoundingClientRect();
          return [place.x + xaxis._offset + xaxis.d2p(trace.x[i]), place.y + yaxis._offset + yaxis.d2p(trace.y[i])];
        }""", 2 if place == 0 else 4)
        page.mouse.move(*at)
        page.mouse.click(*at)
        page.wait_for_url(re.compile(f"[?&]{url}"))
        page.get_by_text("W, p = 2").first.wait_for()
    assert "levels=even" in page.url
