"""Figures on a page: redrawn in place, in the theme's colours, at once what can be seen; clicks; files to take away."""

import gc
import re
import sys
from pathlib import Path

import numpy as np
import plotly
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.models.gallery import load_gallery
from tests.support.places import ROOT
from ui.library.models import SHIPPED, Entry, distinct_titles
from ui.shell import navigation
from ui.shell.charts import as_web_page, unbroken
from ui.shell.panels import figure, line_at

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


def test_both_files_of_plotly_js_are_of_one_version():
    of = [re.search(r"v(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8")[:300])[1] for path in (
        ROOT / "ui/shell/plotly/plotly-cartesian.min.js", Path(plotly.__file__).parent / "package_data/plotly.min.js")]
    assert of[0] == of[1], "npm pack plotly.js-cartesian-dist-min@VERSION has the small one"


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
    assert distinct_titles(entries) == {"a": "x, a", "b": "x, b", "c": "y"}


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


def test_a_figure_of_a_table_stands_on_one_line_and_its_words_may_break():
    assert unbroken("0.9936 ± 0.0011") == "0.9936\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.0011"
    assert [" " in unbroken(cell) for cell in ("12 of 1,340", "0.9955 ✓", "5 to 51 %", "by their own spread",
                                               "sequence 3, recording 1")] == [False, False, False, True, True]
    assert unbroken("0.95 (0.93 to 0.97)").split(" ") == ["0.95", "(0.93\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}0.97)"]
    assert unbroken("0.95 (0.93–0.97)").split(" ") == ["0.95", "(0.93–\N{WORD JOINER}0.97)"], "browsers break at a dash"

    def page():
        import pandas as pd

        from ui.shell.charts import table

        table(pd.DataFrame({"AUC": ["QP-WL, *ours*"], "n = 1": ["0.9936 ± 0.0011"], "try": ["0.9955 ✓"]}), "a table")

    shown = AppTest.from_function(page).run().table[0]
    assert shown.value["n = 1"][0] == "0.9936 ± 0.0011", "what is exported has plain spaces"
    assert b"0.9936\xc2\xa0\xc2\xb1" in shown.proto.arrow_data.styler.display_values, "and what is shown does not break"
    assert "0.9955\N{NO-BREAK SPACE}✓".encode() in shown.proto.arrow_data.styler.display_values
