"""The Distances page in every state, its numbers against the core."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.evaluation.pairs import pairs_of, some_of_each
from qpwl_core.models.gallery import load_gallery
from qpwl_core.transport.distances import wasserstein
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.distances.figures import matrices
from ui.library.models import SHIPPED

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def opened(**state):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for key, value in state.items():
        app.session_state[key] = value
    return app.run().switch_page("pages/distances.py").run()


def said(page) -> str:
    return " ".join(element.value for kind in ("caption", "markdown", "info", "error", "latex")
                    for element in getattr(page, kind))


def shown_aucs(page) -> list[str]:
    """Of Wasserstein, cosine and Euclidean, as they stand on the page."""
    return re.search(r"AUC (\S+) against (\S+), Euclidean (\S+), over", said(page)).groups()


def aucs_of(page, points, p) -> tuple:
    """The pairs on the page, and what the core says of them."""
    test = load_gallery(SHIPPED / page.selectbox(key="model").value).part("test")
    few = test.select(some_of_each(test.subjects, test.sources, page.slider(key="distances_each").value))
    pairs = pairs_of(few.subjects, few.sources)
    return pairs, [f"{pairs.auc(few.distances(measure, points, p)):.3f}"
                   for measure in ("wasserstein", "cosine", "euclidean")]


def test_numbers_on_screen_are_the_cores():
    page = opened(p=2.5, levels="even", M=8)
    assert not page.exception
    pairs, aucs = aucs_of(page, 8, 2.5)
    assert list(shown_aucs(page)) == aucs
    assert f"{pairs.genuine.sum():,} genuine and {(~pairs.genuine).sum():,} imposter pairs" in said(page)


def test_moving_p_and_m_needs_no_training():
    page = opened(levels="even", M=16)
    for key, value, points, p in (("p", 8.0, 16, 8.0), ("M", 1, 1, 8.0)):
        page.slider(key=key).set_value(value).run()
        assert list(shown_aucs(page)) == aucs_of(page, points, p)[1]


def test_every_shipped_model_opens_in_every_view():
    page = opened()
    for model in page.selectbox(key="model").options:
        page.selectbox(key="model").select(model).run()
        for view in ("matrices", "maps", "disagree", "histograms"):
            page.segmented_control(key="distances_view").set_value(view).run()
            assert not page.exception, (model, view)
            assert figures_on(page)


def test_a_pair_is_explained_by_the_cores_numbers():
    page = opened(distances_view="disagree", p=3.0)
    assert not page.exception
    first, second = (page.selectbox(key=f"distances_{name}").value for name in ("first", "second"))
    gallery = load_gallery(SHIPPED / page.selectbox(key="model").value)
    test = gallery.part("test")
    seen = test.embeddings()
    a, b = (np.flatnonzero(test.subjects == person)[int(number) - 1]
            for person, number in (name.rsplit(" · ", 1) for name in (first, second)))
    assert f"= {wasserstein(seen.values[a], seen.values[b], seen.levels, 3.0).item():.4g}" in said(page)
    page.slider(key="p").set_value(1.0).run()
    assert page.selectbox(key="distances_first").value == first, "the pair stays while p moves"
    page.selectbox(key="distances_second").set_value(first).run()
    assert not page.exception
    assert "two different sequences" in said(page)


def test_a_person_with_one_recording_alone_is_nothing_to_compare(monkeypatch):
    monkeypatch.setattr("ui.library.comparisons.some_of_each", lambda subjects, sources, each: np.array([0]))
    page = opened(distances_each=3)
    assert not page.exception
    assert "nothing to compare" in said(page)


def test_no_model_offers_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setattr("ui.library.models.SHIPPED", tmp_path)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    page = opened()
    assert not page.exception
    assert "No model is at hand" in said(page)


def test_many_people_have_no_labels_that_overlap():
    subjects = np.repeat([f"{i:02d}" for i in range(25)], 2)
    drawn = matrices({"wasserstein": np.random.default_rng(0).random((50, 50))}, subjects, ["W"])
    assert drawn.layout.xaxis.showticklabels is False
    assert len(drawn.layout.xaxis.tickvals) == 25
