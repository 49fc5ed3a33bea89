"""What the pages of M and p quote of the study is what the study says."""

import json

import pytest

from qpwl_core.study.summary import best_and_worst, latest_sweeps
from tests.support.places import ROOT
from ui.shell.quoted import table_rows


def rows(name, what, trained, *values):
    return [{"what": what, "set": name, "method": "qp-wl", "value": value, "trained": trained, "auc": auc,
             "low": auc - 0.01, "high": auc + 0.01, "splits": 3} for value, auc in values]


def study(**changes):
    return {"format": "qpwl-study", "version": 1, "sets": {"a": {"title": "A"}, "b": {"title": "B <b>"}}} | changes


def test_best_and_worst_of_every_set_and_whether_they_differ():
    found = study(sweeps=[*rows("a", "p", "anew", (1, 0.99), (2, 0.95), (8, 0.9)),
                          *rows("b", "p", "anew", (1, 0.90), (8, 0.91)), *rows("a", "p", "no", (1, 0.5), (2, 0.6)),
                          *rows("a", "points", "anew", (16, 0.99))])
    assert [(row["best_value"], row["worst_value"], row["clear"]) for row in best_and_worst(found, "p", "anew")] == [
        (1, 8, True), (8, 1, False)]
    assert best_and_worst(found, "points", "anew") == [], "one value is nothing to compare"
    one, other = table_rows(found, "p", "anew")
    assert one["best"] == "p = 1: 0.9900 (0.9800 – 1.0000)"
    assert (one["differ"], other["differ"]) == ("yes", "not beyond noise")
    assert "<b>" not in other["set"]


def test_a_study_that_goes_on_is_quoted_until_the_whole_one_asked(tmp_path):
    assert latest_sweeps(tmp_path) == {}
    (tmp_path / "study.json").write_text(json.dumps(study()))
    (tmp_path / "so-far").mkdir()
    (tmp_path / "so-far" / "study.json").write_text(json.dumps(study(sweeps=rows("a", "p", "no", (1, 0.5)))))
    assert latest_sweeps(tmp_path)["sweeps"][0]["auc"] == 0.5
    (tmp_path / "so-far" / "study.json").write_text("{")
    assert latest_sweeps(tmp_path) == {}


@pytest.mark.parametrize("trained", ["anew", "no"])
@pytest.mark.parametrize("what", ["points", "p"])
def test_what_ships_has_something_to_quote(what, trained):
    assert table_rows(latest_sweeps(ROOT / "results"), what, trained)
