"""What the pages of M and p quote of the study is what the study says."""

import json

import pytest

from qpwl_core.study.summary import best_and_worst, read_or_none
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


def test_a_study_that_cannot_be_read_or_did_not_ask_is_not_quoted(tmp_path):
    path = tmp_path / "study.json"
    assert read_or_none(path) is None
    path.write_text("{")
    assert read_or_none(path) is None
    path.write_text(json.dumps(study()))
    assert table_rows(read_or_none(path), "p", "no") == []


@pytest.mark.parametrize("trained", ["anew", "no"])
@pytest.mark.parametrize("what", ["points", "p"])
def test_what_ships_has_something_to_quote(what, trained):
    assert table_rows(read_or_none(ROOT / "results" / "study.json"), what, trained)
