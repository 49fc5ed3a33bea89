"""Figures on a page: redrawn in place, in the theme's colours, at once what can be seen; clicks; files to take away."""

import gc
import sys

import numpy as np
import pytest
from conftest import ROOT
from streamlit.testing.v1 import AppTest

from qpwl_core.gallery import load_gallery
from ui import navigation
from ui.figures.panels import figure, line_at
from ui.library import SHIPPED, Entry, told_apart
from ui.page import as_web_page

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves


def opened(page, **state):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for key, value in state.items():
        app.session_state[key] = value
    app.run()
    return app.switch_page(f"pages/{page}.py").run()


def test_titles_of_axes_become_what_plotly_reads():
    drawn = figure([{"type": "bar", "x": [1], "y": [2]}], xaxis={"title": "x"}, yaxis2={"title": {"text": "y"}})
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis2.title.text) == ("x", "y")


def test_a_line_across_has_its_words_on_the_side_that_is_asked_for():
    layout = line_at(2.5, {"color": "red"}, "here", left=False)
    assert (layout["shapes"][0]["x0"], layout["annotations"][0]["xanchor"]) == (2.5, "left")
    assert line_at(2.5, {})["annotations"] == []


def test_a_figure_to_take_away_needs_nothing_else():
    page = as_web_page(figure([{"type": "scatter", "x": np.arange(3), "y": np.arange(3)}]))
    assert "plotly.js v" in page
    assert '<script src="http' not in page


def test_files_are_offered_when_somebody_asks():
    page = opened("distances", model="gait-hapt-qp-wl")
    assert not page.get("download_button")
    page = opened("distances", model="gait-hapt-qp-wl", **{"distances-histograms-export": True})
    assert [button.proto.label for button in page.get("download_button")] == ["Data (CSV)", "Figure (HTML)"]


def test_p_is_the_models_own_until_somebody_moves_it():
    page = opened("distances", model="eeg-uci-qp-wl")
    own = {name: load_gallery(SHIPPED / name).p for name in ("eeg-uci-qp-wl", "gait-ipol-qp-wl")}
    assert own["eeg-uci-qp-wl"] != own["gait-ipol-qp-wl"], "or this test sees nothing"
    assert page.slider(key="p").value == own["eeg-uci-qp-wl"]
    page.selectbox(key="model").set_value("gait-ipol-qp-wl").run()
    assert page.slider(key="p").value == own["gait-ipol-qp-wl"]
    page.slider(key="p").set_value(5.0).run()
    page.selectbox(key="model").set_value("eeg-uci-qp-wl").run()
    assert page.slider(key="p").value == 5.0
    page.slider(key="p").set_value(own["eeg-uci-qp-wl"]).run()
    assert page.slider(key="p").value == own["eeg-uci-qp-wl"]


def test_two_models_of_one_title_are_told_apart():
    entries = [Entry(name, "trained", SHIPPED, {"title": title}) for name, title in zip("abc", "xxy", strict=True)]
    assert told_apart(entries) == {"a": "x, a", "b": "x, b", "c": "y"}


def test_modules_are_out_of_the_collectors_way(monkeypatch):
    monkeypatch.setitem(sys.modules, "a_module_that_was_just_loaded", navigation)
    monkeypatch.setitem(navigation.modules, "aside", 0)
    before = len(gc.get_objects())
    try:
        navigation.set_modules_aside()
        assert len(gc.get_objects()) < before / 10
        kept = gc.get_freeze_count()
        navigation.set_modules_aside()
        assert gc.get_freeze_count() == kept, "nothing new was loaded"
    finally:
        gc.unfreeze()


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
        expect(chosen).to_have_value(people[0 if place < 0.5 else -1], timeout=60_000)
