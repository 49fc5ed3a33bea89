"""What pages keep is bounded by bytes, and what is too heavy for the server is done elsewhere."""

import os
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import ui.library.models as library
from qpwl_core.common import bounds
from qpwl_core.common.child import ChildError
from qpwl_core.evaluation.bootstrap import resample
from qpwl_core.models.gallery import load_gallery
from tests.support.pages import opened, said
from tests.support.places import ROOT
from ui.library import elsewhere, tuning
from ui.visitors import kept as keeping
from ui.visitors.kept import forget_all, held, kept, size_of

SHIPPED = ROOT / "models" / "gait-hapt-qp-wl"


@pytest.fixture(autouse=True)
def nothing_kept():
    forget_all()
    yield
    forget_all()


def test_the_longest_unused_goes_first_and_nobody_computes_twice(monkeypatch):
    monkeypatch.setattr(keeping, "KEPT_BYTES", 2500)
    asked = []

    @kept
    def array(name, _beside=None, count=1000):
        asked.append(name)
        return np.zeros(count, np.uint8)

    one = array("a", _beside=object())
    array("b")
    assert array("a", _beside=object()) is one, "what begins with _ is no part of the question"
    array("c")                                               # a was used last: b goes
    assert array("a") is one
    assert asked == ["a", "b", "c"]
    array("b")
    assert asked == ["a", "b", "c", "b"]
    assert held() <= 2500
    assert len(array("huge", count=5000)) == 5000, "what does not fit is given, and not kept"
    assert held() <= 2500


def test_in_a_class_what_nobody_asked_for_in_a_while_goes_before_there_is_much(monkeypatch, tmp_path):
    """Seen: thirty students who try all settings filled it minute by minute."""
    now = [0.0]
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(keeping, "KEPT_BYTES_IDLE", 2500)

    @kept
    def array(name):
        return np.zeros(1000, np.uint8)

    def after_a_while():
        forget_all()
        for name in "abcd":
            array(name)
            now[0] += 50
            array("a")                                       # in use all the time
        return held()

    assert after_a_while() == 4000, "one person alone"
    monkeypatch.setenv("QPWL_CLASS", str(tmp_path))
    assert after_a_while() == 3000, "b is gone, and what was used a moment ago stays"
    assert array("a") is array("a")


def test_many_who_ask_at_once_wait_for_one():
    begun, go, asked = threading.Event(), threading.Event(), []

    @kept
    def slow():
        asked.append(1)
        begun.set()
        assert go.wait(10)
        return "done"

    threads = [threading.Thread(target=slow) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    go.set()
    for thread in threads:
        thread.join()
    assert slow() == "done"
    assert asked == [1]


def test_what_was_refused_is_refused_again_at_once_and_not_for_ever(monkeypatch):
    asked = []

    @kept
    def refused():
        asked.append(1)
        raise ChildError("it takes too long")

    for _ in range(3):
        with pytest.raises(ChildError, match="it takes too long"):
            refused()
    assert asked == [1]
    monkeypatch.setattr(keeping, "REFUSED_SECONDS", 0.0)
    with pytest.raises(ChildError):
        refused()
    assert asked == [1, 1]


def test_sizes_count_every_array_once():
    array = np.zeros(1000)
    assert size_of(array) == 8000
    assert 8000 <= size_of([array, array, {"x": array}]) < 9000
    assert size_of(torch.zeros(10, 10)) == 400
    assert size_of(pd.DataFrame({"x": array})) >= 8000
    assert size_of(load_gallery(SHIPPED)) > load_gallery(SHIPPED).values.nbytes
    assert size_of(torch.nn.Linear(10, 10)) == 440



@pytest.mark.parametrize(("name", "value"), [("GALLERY_HERE", 0), ("PEOPLE_HERE", 1)])
def test_a_heavy_gallery_is_worked_on_elsewhere(monkeypatch, name, value):
    gallery = load_gallery(SHIPPED).part("test")
    assert library.worked(gallery, os.getpid) == os.getpid()
    monkeypatch.setattr(library, name, value)
    assert library.worked(gallery, os.getpid) != os.getpid()


def test_all_that_pages_compute_of_a_gallery_leaves_the_server_and_says_the_same(monkeypatch):
    """Every function that pages give to `worked`, here and elsewhere."""
    entry = next(entry for entry in library.entries() if entry.id == SHIPPED.name)
    key = str(entry.folder), entry.card["sha256"]
    here = tuning.resampled_by.__wrapped__(*key, "cosine", 4, 1.0, False)
    few = load_gallery(SHIPPED).part("test").select(np.arange(60))
    work = [(elsewhere.distances, few, None, None, None), (elsewhere.distances_by_each, few, 4, 2.0, True),
            (elsewhere.filter_aucs_of, few, 4, 1.0), (elsewhere.filter_interval, few, 4, 1.0, 0, 20),
            (elsewhere.distances_between, few, few, 4, 1.0)]
    found = [library.worked(few, *each) for each in work]
    monkeypatch.setattr(library, "GALLERY_HERE", 0)
    forget_all()
    there = tuning.resampled_by.__wrapped__(*key, "cosine", 4, 1.0, False)
    assert (there.auc, *there.interval()) == pytest.approx((here.auc, *here.interval()))
    for each, known in zip(work, found, strict=True):
        again = library.worked(few, *each)
        for a, b in zip(*(x.values() if isinstance(x, dict) else [x] for x in (known, again)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert resample.__module__.startswith("qpwl_core"), "what is sent elsewhere loads no page"


@pytest.mark.parametrize("page", ["distances", "filters", "verification", "identification", "desk"])
def test_where_it_cannot_be_computed_the_page_says_so(monkeypatch, page):
    def refuse(*_, **__):
        raise ChildError("it took longer than 60 seconds, which is the most")

    monkeypatch.setattr(library, "GALLERY_HERE", 0)
    monkeypatch.setattr(library, "in_child", refuse)
    shown = opened(page)
    assert not shown.exception
    if page != "desk":                                       # which needs no distances until somebody knocks
        assert "longer than 60 seconds" in said(shown, "error", "info")


def test_a_gallery_of_many_people_is_refused_and_a_run_keeps_as_many_as_it_may(monkeypatch, tmp_path):
    small = load_gallery(SHIPPED).part("calibration")
    n = 2 * bounds.GALLERY_PEOPLE + 2
    many = replace(small.select(np.arange(n) % len(small)), subjects=np.array([f"p{i // 2}" for i in range(n)]),
                   stimuli=None, sources=np.arange(n))
    many.save(tmp_path)
    assert len(load_gallery(tmp_path).people) == bounds.GALLERY_PEOPLE
    monkeypatch.setattr(bounds, "GALLERY_PEOPLE", bounds.GALLERY_PEOPLE - 1)
    with pytest.raises(ValueError, match="it claims 200 calibration people, and may have at most 199"):
        load_gallery(tmp_path)
