"""The Filters page in every state, its numbers against the core."""

import shutil
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.evaluation.pairs import filter_aucs, pairs_of, some_of_each
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.model import load_model
from tests.support import pages
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.filters.figures import broken, large, overview
from ui.filters.responses import fitting_data
from ui.library.comparisons import SEQUENCES
from ui.library.models import SHIPPED
from ui.shell.palette import dashes_of

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


opened = partial(pages.opened, "filters")


def said(page) -> str:
    return pages.said(page, "caption", "markdown", "subheader", "info", "error")


def test_the_ranking_on_screen_is_the_cores():
    page = opened(p=2.0)
    assert not page.exception
    test = load_gallery(SHIPPED / page.selectbox(key="model").value).part("test")
    test = test.select(some_of_each(test.subjects, test.sources, max(2, SEQUENCES // len(test.people))))
    seen, pairs = test.embeddings(), pairs_of(test.subjects, test.sources)
    aucs = filter_aucs(seen.values, seen.levels, pairs, 2.0)
    assert page.selectbox(key="filter").options == [str(k + 1) for k in np.argsort(-aucs, kind="stable")]
    assert f"reaches {aucs.max():.3f}" in said(page)
    assert f"{pairs.genuine.sum():,} genuine" in said(page)
    page.segmented_control(key="filters_view").set_value("one").run()
    assert not page.exception
    assert f"Filter {aucs.argmax() + 1}: AUC {aucs.max():.3f} over all pairs, number 1 of {len(aucs)}" in said(page)


def test_every_shipped_model_opens_in_every_view():
    page = opened()
    for model in page.selectbox(key="model").options:
        page.selectbox(key="model").select(model).run()
        for view in ("all", "one", "fires"):
            page.segmented_control(key="filters_view").set_value(view).run()
            assert not page.exception, (model, view)
            figures_on(page)


def test_where_it_fires_is_shown_on_recordings_at_hand():
    page = opened(model="gait-hapt-qp-wl", filters_view="fires")
    assert not page.exception
    assert page.selectbox(key="filters_data").value == "gait-hapt-30"
    assert "never saw in training" in said(page)
    page.slider(key="filters_r").set_value(0.5).run()
    assert "top 50%" in said(page)
    page.multiselect(key="filters_channels").set_value([]).run()
    assert not page.exception


def test_simulated_recordings_are_called_so_and_none_are_made_up():
    model = load_model(SHIPPED / "eeg-uci-qp-wl")
    page = opened(model="eeg-uci-qp-wl", filters_view="fires")
    assert not page.exception
    if fitting_data(model):
        assert "simulated" in said(page)
    else:
        assert "do not ship" in said(page)


def test_controls_redraw_and_nobody_chosen_is_asked_about():
    page = opened(levels="even", M=1, p=8.0)
    assert not page.exception
    page.slider(key="M").set_value(64).run()
    page.toggle(key="filters_best").set_value(False).run()
    assert not page.exception
    page.multiselect(key="filters_people").set_value([]).run()
    assert not page.exception
    assert "Choose a person" in said(page)


def test_no_model_offers_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setattr("ui.library.models.SHIPPED", tmp_path)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    page = opened()
    assert not page.exception
    assert "No model is at hand" in said(page)


@pytest.mark.parametrize("page_file", ["filters", "distances"])
def test_a_damaged_gallery_is_one_sentence(tmp_path, monkeypatch, page_file):
    shutil.copytree(SHIPPED / "eeg-uci-qp-wl", tmp_path / "broken")
    path = tmp_path / "broken" / "gallery.safetensors"
    path.write_bytes(path.read_bytes()[:300])
    monkeypatch.setattr("ui.library.models.SHIPPED", tmp_path)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    page = app.switch_page(f"pages/{page_file}.py").run()
    assert not page.exception
    assert len(page.error) == 1


def test_figures_survive_flat_filters():
    levels = np.linspace(0, 1, 4)
    flat = {"a<b>": np.zeros((3, 4)), "b": np.ones((3, 4))}
    colours = {"a<b>": "#0072B2", "b": "#E69F00"}
    drawn = overview(np.full(3, 0.5), np.arange(3), flat, levels, colours)
    assert drawn.data[2].name.endswith("(a&lt;b&gt;)")
    heights = {person: np.full(3, np.inf) for person in flat}
    drawn = large(flat, levels, heights, colours)
    many = dashes_of(dict.fromkeys("abcdefghijk", ""))
    assert (many["a"], many["k"]) == ("solid", "dash"), "a ninth person has the first colour, and another dash"
    assert np.isfinite(np.concatenate([trace.y for trace in drawn.data if trace.xaxis == "x2"])).all()
    np.testing.assert_array_equal(broken(np.ones((2, 2))), [1, 1, np.nan, 1, 1, np.nan])
