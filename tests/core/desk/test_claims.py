"""The line between a person and others: known answers, invariances, and what it lets in where it was set."""

import math
from dataclasses import replace

import numpy as np
import pytest

from qpwl_core.desk.claims import Rule, calibration_rule, claim_distance, from_nought, shrunk, spread_of


def people(count=8, each=12, forgeries=6, seed=0, sessions=True):
    """Points on a line: everyone near a place of their own, forgers half as near as strangers are."""
    draw = np.random.default_rng(seed)
    x, subjects, imitates, stimuli = [], [], [], []
    for i in range(count):
        own = draw.uniform(0.5, 1.5)
        x += (20 * i + draw.normal(0, own, each)).tolist() + (20 * i + draw.normal(6, 2, forgeries)).tolist()
        subjects += [f"p{i}"] * each + [f"forger-of-p{i}"] * forgeries
        imitates += [""] * each + [f"p{i}"] * forgeries
        stimuli += [f"session{1 + (2 * k >= each)}" for k in range(each)] + ["forgery"] * forgeries
    x = np.array(x)
    return abs(x[:, None] - x), np.array(subjects), np.array(imitates), np.array(stimuli) if sessions else None


def test_the_line_is_in_the_middle_where_owners_and_forgers_lie_apart_and_with_the_forgers_where_they_meet():
    rule = Rule(5, 1, True, 1.0, 4, np.full(50, 1.0), np.full(50, 9.0), np.linspace(4.0, 5.0, 101))
    assert rule.theta(0.1) == pytest.approx(math.sqrt(1.0 * 4.1), rel=0.01)
    assert replace(rule, genuine=np.full(50, 4.5)).theta(0.1) == pytest.approx(4.1, rel=0.01)
    assert replace(rule, forgers=np.zeros(0)).theta(0.1) == pytest.approx(3.0, rel=0.01)
    assert replace(rule, genuine=np.zeros(50)).theta(0.1) == pytest.approx(4.1, rel=0.01), "of copies nothing is known"


@pytest.mark.parametrize("sessions", [True, False])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(("enrolled", "n"), [(1, 1), (2, 1), (5, 1), (5, 3)])
def test_no_more_than_the_wanted_share_gets_in_where_it_was_set(enrolled, n, own, sessions):
    rule = calibration_rule(*people(sessions=sessions), enrolled=enrolled, n=n, own=own)
    for rate in (0.02, 0.1, 0.3):
        rates = rule.rates(rule.theta(rate))
        assert rates["forgers"] <= rate
        assert rates["strangers"] <= rate / 2
    assert rule.theta(0.3) >= rule.theta(0.02)
    assert rule.people == 8
    assert rule.own == (own and enrolled > 1)


def test_scores_do_not_follow_the_unit_of_the_distance():
    distances, *names = people()
    one, other = (calibration_rule(scale * distances, *names, enrolled=5) for scale in (1.0, 7.0))
    np.testing.assert_allclose(one.genuine, other.genuine)
    assert other.typical == pytest.approx(7 * one.typical)


def test_the_spread_is_between_ones_own_and_the_typical_one():
    rule = calibration_rule(*people(), enrolled=5)
    held = np.array([[0, 4, 4], [4, 0, 4], [4, 4, 0]]) * rule.typical
    assert rule.spread(held) == pytest.approx(2 * rule.typical)
    assert rule.spread(held[:1, :1]) == rule.typical
    assert rule.spread(0 * held) > 0, "copies of one signature do not make a line of no width"
    assert shrunk(9.0, 1.0) == 3.0
    assert spread_of(held / rule.typical) == 4.0


def test_without_forgeries_strangers_hold_the_line():
    distances, subjects, imitates, stimuli = people()
    genuine = imitates == ""
    rule = calibration_rule(distances[np.ix_(genuine, genuine)], subjects[genuine], None, stimuli[genuine], enrolled=3)
    assert rule.rates(rule.theta(0.1))["forgers"] is None
    assert rule.rates(rule.theta(0.1))["strangers"] <= 0.05


def test_cosines_count_from_minus_one_and_tries_are_averaged():
    assert from_nought(np.array([-1.0, 1.0]), "cosine").tolist() == [0, 2]
    assert from_nought(np.array([0.5]), "wasserstein").tolist() == [0.5]
    assert claim_distance(np.array([2.0, 4.0, 9.0]), 3).tolist() == [2, 3, 5]


@pytest.mark.parametrize("changes", [{"enrolled": 0}, {"n": 0}, {"enrolled": 99}])
def test_what_cannot_be_calibrated_is_said(changes):
    with pytest.raises(ValueError, match=r"enrolled and n must|a line needs two calibration people"):
        calibration_rule(*people(), **changes)
