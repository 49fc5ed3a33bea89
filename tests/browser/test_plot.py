"""Plot in a real browser."""

import pytest

from qpwl_core.models.gallery import load_gallery
from tests.support.browser import until_still
from ui.library.models import SHIPPED
from ui.shell.people import name_of


@pytest.mark.browser
def test_drawn_in_place_in_both_themes_and_below_the_fold_a_second_later(visit):
    page = visit("/verification", height=700)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    page.evaluate("document.querySelector('.js-plotly-plot').mark = 'the same'")
    font = "document.querySelector('.js-plotly-plot .xtick text')?.style.fill"
    light = page.evaluate(font)
    page.locator('[data-testid="stSlider"]').filter(has_text="Threshold").get_by_role("slider").press("ArrowRight")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"({font} || '{light}') !== '{light}'")
    assert page.evaluate("document.querySelector('.js-plotly-plot').mark") == "the same"
    page.locator(".js-plotly-plot .main-svg").nth(3).wait_for(state="attached")      # three layers a figure
    assert page.locator('[role="figure"]').nth(1).get_attribute("aria-label").startswith("ROC curves")


@pytest.mark.browser
def test_a_change_that_overtakes_another_leaves_every_figure_drawn(visit):
    """Streamlit calls plot.js for the slider and for the theme, and tidies up after the call that was overtaken."""
    page = visit("/verification", height=700)
    slider = page.locator('[data-testid="stSlider"]').filter(has_text="Threshold").get_by_role("slider")
    for scheme in ["dark", "light", "dark"]:
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        slider.press("ArrowRight")
        page.wait_for_timeout(60)
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("""() => [...document.querySelectorAll('[role="figure"]')].map(
            figure => figure.querySelectorAll('.main-svg').length).join() === '3,3'""", timeout=20_000)
        page.reload()


@pytest.mark.browser
def test_a_slider_in_quick_succession_loses_nothing(visit):
    """Runs that are cut short by the next one; `visit` fails on an error in the browser."""
    page = visit("/distances?p=1")
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    slider = page.get_by_role("slider", name="Order p")
    for key in ["ArrowRight"] * 12 + ["ArrowLeft"] * 4:
        slider.press(key)
        page.wait_for_timeout(40)
    page.get_by_text("W, p = 5 ").first.wait_for(timeout=30_000)
    page.wait_for_timeout(1500)


@pytest.mark.browser
def test_a_click_on_a_cell_chooses_its_people(visit):
    from playwright.sync_api import expect

    page = visit("/identification?identification_view=Who+is+taken+for+whom", height=1400)
    matrix = page.locator(".clickable .nsewdrag").first
    matrix.wait_for()
    page.wait_for_timeout(1000)
    chosen, box = page.get_by_role("combobox", name="Who came"), matrix.bounding_box()
    people = load_gallery(SHIPPED / "eeg-uci-qp-wl").part("test").people
    for place in (0.03, 0.97):                 # the first and the last person, each taken for themselves
        page.mouse.move(box["x"] + place * box["width"] + 3, box["y"] + place * box["height"])
        page.wait_for_timeout(500)             # Plotly must have seen the pointer
        page.mouse.click(box["x"] + place * box["width"], box["y"] + place * box["height"])
        expect(chosen).to_have_value(name_of(people[0 if place < 0.5 else -1]), timeout=60_000)


@pytest.mark.browser
def test_only_a_picture_by_webgl_fetches_the_whole_plotly_js(visit):
    page = visit("/verification")
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    fetched = ("performance.getEntriesByType('resource').map(found => found.name.split('/').at(-1))"
               ".filter(name => name.startsWith('plotly'))")
    assert page.evaluate(fetched) == ["plotly-cartesian.min.js"]
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Data").first.click()
    page.get_by_text("How long one sequence is").wait_for()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    page.get_by_role("radio", name="Sequences").click()
    page.locator(".js-plotly-plot .gl-canvas, .js-plotly-plot canvas").first.wait_for()
    assert page.evaluate(fetched) == ["plotly-cartesian.min.js", "plotly.min.js"]
    page.get_by_role("radio", name="People").click()
    page.get_by_text("How long one sequence is").wait_for()
    page.locator(".js-plotly-plot .barlayer .point").first.wait_for()


# Words of one picture over words of another part of it: titles of panels, names of axes, numbers, the legend.
OVERLAPS = """
() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
  const kinds = {title: '.annotation text', axis: '.xtitle, .ytitle, .x2title, .y2title, .x3title, .y3title',
                 tick: '.xtick text, .ytick text, .x2tick text, .y2tick text, .x3tick text, .y3tick text',
                 legend: '.legendtext'};
  const words = Object.entries(kinds).flatMap(([kind, where]) => [...plot.querySelectorAll(where)].map(
    text => ({kind, says: text.textContent, box: text.getBoundingClientRect()}))).filter(({box}) => box.width > 1);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  return words.flatMap((one, i) => words.slice(i + 1).filter(
    other => other.kind !== one.kind && meet(one.box, other.box)).map(other => `${one.says} / ${other.says}`));
})
"""


@pytest.mark.browser
@pytest.mark.parametrize("link", ["/distances?distances_view=Histograms", "/distances?distances_view=Matrices",
                                  "/filters?filters_view=One+filter,+large"])
def test_no_words_of_a_picture_cover_others_on_a_phone_and_on_a_projector(visit, link):
    page = visit(link, width=390, height=2600)
    for width in (390, 1024):
        page.set_viewport_size({"width": width, "height": 2600})
        until_still(page)
        page.wait_for_timeout(1200)
        assert page.evaluate(OVERLAPS) == [], width
