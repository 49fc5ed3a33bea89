"""People who try, in the tables of a study: every data set by itself, and QP-WL against every other row."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from qpwl_core.evaluation.paired import paired
from qpwl_core.study.report import questions
from qpwl_core.study.report.sentences import against_forgers
from qpwl_core.study.sets import Cell
from qpwl_core.study.tables import forgers, judged
from qpwl_core.study.tables.beside import COLUMNS, forgeries

SET = "signature-susig"


def rates(skilled, enrolled=5, normalised=False, random=0.01):
    return {"enrolled": enrolled, "normalised": normalised, "random_eer": random, "skilled_eer": skilled,
            "mixed_eer": (random + skilled) / 2}


def record(plain, normalised, *, spread=0.02):
    """Of two tablets, one worse by twice ``spread``, one whose people have too few signatures for ten of them."""
    parts = {name: {"forgeries": [rates(plain + off), rates(normalised + off, normalised=True),
                                  *([rates(plain, 10)] if off < 0 else [])]}
             for name, off in (("visual", -spread), ("svc", spread))}
    return {"results": {"forgeries": [rates(0.3), rates(0.3, normalised=True)]}, "of_sets": parts}


class Kept:
    """Records by method and seed; tries have those of their method's seed 1000."""

    def __init__(self, by_method):
        self.by_method = by_method

    def of(self, cell: Cell):
        return self.by_method.get(cell.method, {}).get(cell.seed) if cell.set == SET else None


def test_every_data_set_has_its_line_and_counts_alike_in_their_mean():
    rows = pd.DataFrame(forgers.rows_of(record(0.1, 0.2))).set_index(["of", "enrolled", "normalised"])["skilled_eer"]
    assert rows["all", 5, False] == 0.3
    assert rows["each", 5, False] == pytest.approx(0.1)
    assert rows["each", 5, True] == pytest.approx(0.2)
    assert rows["visual", 5, False] == pytest.approx(0.08)
    assert ("visual", 10, False) in rows.index
    assert ("each", 10, False) not in rows.index, "the mean of one of two is not theirs"


def test_a_set_that_was_not_joined_is_compared_as_it_is():
    alone = {"results": {"forgeries": [rates(0.3), rates(0.2, 1)]}}
    assert {row["of"] for row in forgers.rows_of(alone)} == {"all"}
    assert forgers.compared(alone)[False]["skilled_eer"] == 0.3
    assert list(forgers.rows_of({"results": {}})) == []


def test_the_form_is_chosen_on_the_tuning_split_whatever_the_tested_ones_say():
    there = Kept({"dtw": {1000: record(0.2, 0.1), 0: record(0.1, 0.4)}, "qp-wl": {1000: record(0.1, 0.2)}})
    assert forgers.normalises(SET, "dtw", "quick", there)
    assert not forgers.normalises(SET, "qp-wl", "quick", there)
    assert not forgers.normalises(SET, "untrained", "quick", there), "plain where nobody tried"


def test_qp_wl_against_the_others_split_by_split():
    random = np.random.default_rng(0)
    mine, worse = 0.05 + 0.002 * random.random((2, 6)) + np.array([[0], [0.05]])
    there = Kept({"qp-wl": {1000: record(0.1, 0.2), **{i: record(x, 0.5) for i, x in enumerate(mine)}},
                  "dtw": {1000: record(0.2, 0.1), **{i: record(0.6, x) for i, x in enumerate(worse)}},
                  "mp-npl": {i: record(x, 0.5) for i, x in enumerate(mine[:2])}})
    found = judged(pd.DataFrame(list(forgers.differences([SET, "eeg-uci"], "quick", there)),
                                columns=COLUMNS["forgers"][:-3]), "kind")
    skilled = found[found["kind"] == "skilled"].set_index("against")
    assert skilled.loc["dtw", "difference"] == pytest.approx(np.mean(worse - mine))
    assert skilled.loc["dtw", ["form", "against_form", "splits"]].tolist() == ["plain", "normalised", 6]
    assert skilled.loc["dtw", "leads"]
    assert skilled.loc["dtw", "clear"]
    assert skilled.loc["mp-npl", "splits"] == 2
    assert not skilled.loc["mp-npl", "clear"], "two splits show nothing"
    assert skilled.loc["dtw", "cells"] == f"{SET}-qp-wl-{{0,1,2,3,4,5}}"
    said = against_forgers({"forgers": found}, SET)
    assert "beyond noise fewer than Dynamic time warping (10." in said
    assert "not told apart from MP-NPL" in said
    assert against_forgers({"forgers": found}, "eeg-uci") == ""
    tables = {"forgers": found, "forgeries": pd.DataFrame(list(forgeries([SET], "quick", there)))}
    text = "\n".join(questions.forgeries(tables))
    assert "nan" not in text
    assert "| visual | each, their mean | all, one line |" in text.replace("svc | visual", "visual")


def test_paired_differences_are_those_of_a_paired_t_test_and_wider_where_splits_overlap():
    one, other = np.random.default_rng(0).random((2, 7))
    oracle, found = ttest_rel(one, other), paired(one - other)
    assert found["p"] == pytest.approx(oracle.pvalue)
    assert (found["low"], found["high"]) == pytest.approx(tuple(oracle.confidence_interval(0.95)))
    wider = paired(one - other, share=0.5)
    assert wider["low"] < found["low"] < found["difference"] < found["high"] < wider["high"]
    assert wider["p"] > found["p"]
    few = paired([0.1, 0.3])
    assert (few["difference"], few["p"]) == (pytest.approx(0.2), None)
    assert np.isnan([few["low"], few["high"]]).all()
