"""The Distances page in every state, its numbers against the core."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from qpwl_core.evaluation.bootstrap import resample
from qpwl_core.evaluation.pairs import pairs_of, some_of_each
from qpwl_core.evaluation.trials import auc_by_n, make_trials
from qpwl_core.models.gallery import load_gallery
from qpwl_core.transport.distances import pairwise_cosine, pairwise_wasserstein, wasserstein
from tests.support import pages
from tests.support.pages import figures_on, stored
from ui.distances.figures import matrices
from ui.library.models import SHIPPED

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


opened = partial(pages.opened, "distances")


def said(page) -> str:
    return pages.said(page, "caption", "markdown", "info", "error", "latex")


def shown_aucs(page) -> list[str]:
    """Of Wasserstein, cosine and Euclidean, as they stand on the page."""
    return list(re.search(r"AUC (\S+) against (\S+), Euclidean (\S+); W minus", said(page)).groups())


def distances_of(test, points, p, inner=False) -> dict:
    """Three distances between all sequences, on the same values of each filter."""
    seen = test.embeddings(points)
    values = seen.values[..., 1:-1] if inner else seen.values
    flat = values.flatten(1).double()
    return {"wasserstein": pairwise_wasserstein(seen.values, seen.values, seen.levels, p).numpy(),
            "cosine": pairwise_cosine(flat, flat).numpy(), "euclidean": torch.cdist(flat, flat).numpy()}


def held_out(page):
    return load_gallery(SHIPPED / page.selectbox(key="model").value).part("test")


def wanted_aucs(page, points, p, inner=False) -> list[str]:
    """AUC of the protocol: nearest of the enrolled, n = 1, mean of ten draws."""
    test = held_out(page)
    return [f"{auc_by_n(make_trials(d, test.subjects, test.sources))['auc'][0]:.3f}"
            for d in distances_of(test, points, p, inner).values()]


def test_numbers_on_screen_are_the_cores_and_all_three_see_the_same_values():
    page = opened(p=2.5, levels="even", M=4, model="gait-ipol-qp-wl")
    assert not page.exception
    assert shown_aucs(page) == wanted_aucs(page, 4, 2.5)
    assert "nearest of the enrolled, n = 1" in said(page)
    few = held_out(page)
    few = few.select(some_of_each(few.subjects, few.sources, page.slider(key="distances_each").value))
    pairs = pairs_of(few.subjects, few.sources)
    assert f"{pairs.genuine.sum():,} genuine and {(~pairs.genuine).sum():,} imposter pairs" in said(page)
    titles = [note["text"] for note in figures_on(page)[0]["layout"]["annotations"]]
    for title, d in zip(titles, distances_of(few, 4, 2.5).values(), strict=True):
        assert f"AUC {pairs.auc(d):.3f}<br><sup>over all pairs" in title
    page.selectbox(key="distances_values").set_value("inner").run()
    assert shown_aucs(page) == wanted_aucs(page, 4, 2.5, inner=True), "as in the paper, where it is chosen"


def test_the_verdict_is_a_difference_with_its_interval_over_people():
    page = opened()
    seen, test = [], held_out(page)
    for model in ("eeg-uci-qp-wl", "gait-ipol-qp-npl", "gait-hapt-qp-wl"):
        page.selectbox(key="model").select(model).run()
        test = held_out(page)
        found = {name: resample({0: make_trials(d, test.subjects, test.sources).scores[:, 0]}, 500)
                 for name, d in distances_of(test, None, test.p).items()}
        apart = found["wasserstein"].minus(found["cosine"])
        assert f"{apart['low']:+.3f} to {apart['high']:+.3f}" in said(page)
        none = apart["low"] <= 0 <= apart["high"]
        assert ("no difference that these people could show" in said(page)) == none
        seen.append(none)
    assert any(seen), "or this test sees nothing"


def test_moving_p_and_m_needs_no_training():
    page = opened(levels="even", M=16)
    for key, value, points, p in (("p", 8.0, 16, 8.0), ("M", 1, 1, 8.0)):
        page.slider(key=key).set_value(value).run()
        assert shown_aucs(page) == wanted_aucs(page, points, p)


def test_over_p_and_m_the_present_setting_lies_on_the_curve():
    page = opened(levels="even", M=16, p=2.0, distances_view="tune")
    assert not page.exception
    over_p, over_m = figures_on(page)
    for drawn, x in ((over_p, 2.0), (over_m, 16)):
        line = next(t for t in drawn["data"] if t["mode"] == "lines+markers")
        now = next(t for t in drawn["data"] if t.get("name", "").endswith("now"))
        xs, ys = (stored(line[axis]) for axis in "xy")
        assert now["x"] == [x]
        assert now["y"][0] == pytest.approx(ys[xs.index(x)])
    level = [len({round(y, 9) for y in stored(line["y"])}) == 1 for line in over_p["data"]
             if line["mode"] == "lines+markers"]
    assert level == [False, True, True, True], "cosine, Euclid and the other model have no p"
    assert "Click a point" in said(page)


def test_every_shipped_model_opens_in_every_view():
    page = opened()
    for model in page.selectbox(key="model").options:
        page.selectbox(key="model").select(model).run()
        for view in ("matrices", "maps", "disagree", "tune", "histograms"):
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
