"""Metrics: against scikit-learn, SciPy and counting by hand, known answers, ties, too few trials, bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm
from sklearn.metrics import det_curve, roc_auc_score

from qpwl_core.evaluation.bootstrap import subject_interval
from qpwl_core.evaluation.metrics import (
    apply_threshold,
    auc,
    cmc,
    d_prime,
    det,
    eer,
    fnmr_at_fmr,
    genuine_and_imposter,
    mean_roc,
    roc,
    smallest_rate,
    threshold_at_fmr,
)

PERFECT, EQUAL, INVERTED = ([1.0, 2.0], [3.0, 4.0]), ([1.0, 1.0], [1.0]), ([3.0, 4.0], [1.0, 2.0])
few = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30)  # whole numbers: many ties


def normal(seed=0, genuine=200, imposter=5000, shift=2.0):
    random = np.random.default_rng(seed)
    return random.normal(size=genuine), random.normal(shift, size=imposter)


def rates(genuine, imposter, threshold):
    """FMR and FNMR at a threshold, counted one by one."""
    return (sum(x <= threshold for x in imposter) / len(imposter), sum(x > threshold for x in genuine) / len(genuine))


# --- curves ---

@settings(max_examples=100, deadline=None)
@given(few, few)
def test_roc_by_counting(genuine, imposter):
    curve = roc(genuine, imposter)
    assert curve.columns.tolist() == ["threshold", "fpr", "tpr"]
    assert np.isfinite(curve).all(axis=None)
    for threshold, fpr, tpr in curve.itertuples(index=False):
        assert (fpr, 1 - tpr) == pytest.approx(rates(genuine, imposter, threshold))
    assert curve.iloc[0, 1:].tolist() == [0, 0]
    assert curve.iloc[-1, 1:].tolist() == [1, 1]
    assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(auc(genuine, imposter))


@settings(max_examples=100, deadline=None)
@given(few, few)
def test_auc_against_scikit_learn_and_scipy(genuine, imposter):
    truth = [1] * len(genuine) + [0] * len(imposter)
    assert auc(genuine, imposter) == pytest.approx(roc_auc_score(truth, [-x for x in genuine + imposter]))
    wins = mannwhitneyu(imposter, genuine, method="asymptotic").statistic
    assert auc(genuine, imposter) == pytest.approx(wins / len(genuine) / len(imposter))
    assert auc(imposter, genuine) == pytest.approx(1 - auc(genuine, imposter))


@pytest.mark.parametrize(("trials", "area", "rate"), [(PERFECT, 1, 0), (EQUAL, 0.5, 0.5), (INVERTED, 0, 1)])
def test_known_auc_and_eer(trials, area, rate):
    assert auc(*trials) == area
    assert eer(*trials) == rate


@settings(max_examples=100, deadline=None)
@given(few, few)
def test_eer_by_walking_the_curve(genuine, imposter):
    points = [rates(genuine, imposter, t) for t in [-1.0, *sorted({*genuine, *imposter})]]
    for (fmr0, fnmr0), (fmr1, fnmr1) in itertools.pairwise(points):
        if fnmr0 > fmr0 and fnmr1 <= fmr1:
            s = (fnmr0 - fmr0) / ((fnmr0 - fmr0) + (fmr1 - fnmr1))
            assert eer(genuine, imposter) == pytest.approx((1 - s) * fmr0 + s * fmr1)
            assert eer(genuine, imposter) == pytest.approx((1 - s) * fnmr0 + s * fnmr1)
            return
    raise AssertionError("the curve never crosses")


def test_normal_distances_have_the_rates_of_theory():
    genuine, imposter = normal(genuine=20_000, imposter=20_000)
    assert eer(genuine, imposter) == pytest.approx(norm.cdf(-1), abs=0.006)
    assert auc(genuine, imposter) == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.004)
    assert d_prime(genuine, imposter) == pytest.approx(2, abs=0.04)
    assert fnmr_at_fmr(genuine, imposter, 0.1) == pytest.approx(norm.sf(2 + norm.ppf(0.1)), abs=0.015)
    curve = det(genuine, imposter)
    middle = curve[curve["fmr"].between(0.05, 0.95) & curve["fnmr"].between(0.05, 0.95)]
    assert abs(middle["fmr_deviate"] + middle["fnmr_deviate"] + 2).max() < 0.1  # a straight line on these axes


def test_det_against_scikit_learn():
    genuine, imposter = normal(genuine=30, imposter=50, shift=1)
    curve = det(genuine, imposter)
    truth = [1] * 30 + [0] * 50
    fpr, fnr, _ = det_curve(truth, -np.concatenate([genuine, imposter]), drop_intermediate=False)
    inside = (fpr > 0) & (fpr < 1) & (fnr > 0) & (fnr < 1)
    theirs = sorted(zip(fpr[inside], fnr[inside], strict=True))
    ours = sorted(zip(curve["fmr"], curve["fnmr"], strict=True))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert np.isfinite(curve).all(axis=None)
    assert len(det(*PERFECT)) == 0


def test_mean_roc():
    a, b = ([1.0, 3.0], [2.0, 4.0]), PERFECT
    curve = mean_roc([a, b], grid=[0.0, 0.25, 0.5, 1.0])
    assert curve["tpr"].tolist() == [0.75, 0.75, 1.0, 1.0]  # a: 0.5 up to 0.5, there up to 1
    assert curve["se"].tolist() == [0.25, 0.25, 0.0, 0.0]
    trials = [normal(seed, 20, 300) for seed in range(6)]
    curve = mean_roc(trials)
    assert len(curve) == 201
    assert curve["tpr"].is_monotonic_increasing
    assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(np.mean([auc(*t) for t in trials]), abs=0.005)


# --- thresholds ---

@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 20).map(float), min_size=10, max_size=80), few, st.floats(0.3, 1))
def test_threshold_is_the_largest_that_keeps_the_rate(imposter, genuine, fmr):
    threshold = threshold_at_fmr(imposter, fmr)
    assert apply_threshold(genuine, imposter, threshold)["fmr"] <= fmr + 1e-9
    beyond = [x for x in imposter if x > threshold]
    if beyond:
        assert rates(genuine, imposter, min(beyond))[0] > fmr
    assert fnmr_at_fmr(genuine, imposter, fmr) == rates(genuine, imposter, threshold)[1]
    curve = roc(genuine, imposter)  # the same as the best point of the curve that keeps the rate
    assert fnmr_at_fmr(genuine, imposter, fmr) <= 1 - curve.loc[curve["fpr"] <= fmr, "tpr"].max() + 1e-12


def test_a_rate_that_floating_point_would_round_down():
    imposter = np.arange(100.0)
    assert apply_threshold([0.0], imposter, threshold_at_fmr(imposter, 0.29))["fmr"] == 0.29


def test_a_threshold_holds_for_single_precision():
    imposter = np.linspace(0, 1, 40, dtype=np.float32)
    threshold = threshold_at_fmr(imposter, 0.1)
    assert apply_threshold(imposter[:1], imposter, threshold)["fmr"] == 0.1


@pytest.mark.parametrize(("fmr", "trials"), [(0.1, 30), (0.01, 300), (0.001, 3000)])
def test_rates_that_are_not_measurable(fmr, trials):
    genuine, imposter = normal(imposter=trials)
    assert fnmr_at_fmr(genuine, imposter, fmr) is not None
    assert fnmr_at_fmr(genuine, imposter[:-1], fmr) is None
    with pytest.raises(ValueError, match=rf"fmr must be at least .* with {trials - 1} imposter distances"):
        threshold_at_fmr(imposter[:-1], fmr)
    assert smallest_rate(trials) == pytest.approx(fmr)


def matrix(seed, people, repeats=None):
    """Scores as person to person distances with some people easier than others."""
    random = np.random.default_rng(seed)
    shape = (people, people) if repeats is None else (repeats, people, people)
    return random.normal(2, 1, size=shape) + random.normal(size=(people, 1)) - 2 * np.eye(people)


# --- people ---

def test_genuine_and_imposter():
    genuine, imposter = genuine_and_imposter([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert genuine.tolist() == [1, 5, 9]
    assert imposter.tolist() == [2, 3, 4, 6, 7, 8]


def test_d_prime():
    assert d_prime([0.0, 2.0], [4.0, 6.0]) == pytest.approx(4 / np.sqrt(2))
    assert d_prime([0.1] * 3, [0.3] * 7) is None
    assert d_prime([1.0], [2.0, 3.0]) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 8), st.integers(0, 999))
def test_cmc_by_sorting(people, seed):
    scores = np.random.default_rng(seed).permutation(people * people).reshape(people, people)  # no ties
    ranks = [sorted(row).index(row[i]) for i, row in enumerate(scores.tolist())]
    assert cmc(scores) == pytest.approx([np.mean([r < k for r in ranks]) for k in range(1, people + 1)])


def test_cmc_breaks_ties_on_average():
    assert cmc(np.ones((4, 4))) == pytest.approx([0.25, 0.5, 0.75, 1])
    assert cmc([[0, 0, 1], [0, 1, 1], [1, 1, 0]]) == pytest.approx([1.5 / 3, 2.5 / 3, 1])


def test_interval_resamples_people_not_pairs():
    scores = matrix(1, 12)
    low, high = subject_interval(scores, resamples=300, seed=5)
    assert low < auc(*genuine_and_imposter(scores)) < high
    assert (low, high) == subject_interval(scores, resamples=300, seed=5)

    values, random = [], np.random.default_rng(5)  # the same people, pair by pair
    for _ in range(300):
        drawn = random.integers(12, size=12)
        values.append(auc([scores[i, i] for i in drawn], [scores[i, j] for i in drawn for j in drawn if i != j]))
    assert (low, high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def test_interval_covers_the_truth():
    """Where rows share a person's ease, nine in ten 90 % intervals hold the AUC of the population, more or less."""
    truth = auc(*genuine_and_imposter(matrix(0, 1500)))
    intervals = [subject_interval(matrix(seed, 30), resamples=200, level=0.9) for seed in range(1, 81)]
    assert 0.78 <= np.mean([low <= truth <= high for low, high in intervals]) <= 0.98


def test_interval_over_repeats_and_of_other_statistics():
    stack = matrix(2, 15, repeats=3)
    low, high = subject_interval(stack, eer, resamples=100)
    assert low < np.mean([eer(*genuine_and_imposter(m)) for m in stack]) < high
    narrow = subject_interval(stack, resamples=200, level=0.5)
    wide = subject_interval(stack, resamples=200, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert subject_interval([[0, 1], [1, 0]], resamples=20) == (1.0, 1.0)  # two people: never one of them twice


# --- bad input ---

@pytest.mark.parametrize("measure", [roc, auc, det, eer, d_prime, lambda g, i: fnmr_at_fmr(g, i, 1.0),
                                     lambda g, i: apply_threshold(g, i, 1.0)])
@pytest.mark.parametrize(("genuine", "imposter", "match"), [
    ([], [1.0], "genuine must be a list of at least one"), ([1.0], [], "imposter must be a list of at least one"),
    ([float("nan")], [1.0], "genuine must be finite, got 1 NaN"), ([1.0], [np.inf, 0], "imposter must be finite"),
    ([[1.0]], [1.0], r"genuine must be a list .* got shape \(1, 1\)")])
def test_bad_distances(measure, genuine, imposter, match):
    with pytest.raises(ValueError, match=match):
        measure(genuine, imposter)


@pytest.mark.parametrize("measure", [genuine_and_imposter, cmc, subject_interval])
@pytest.mark.parametrize(("scores", "match"), [
    ([[1.0]], "at least two people"), ([[1.0, 2.0]], r"scores must be an \(S, S\) matrix"),
    ([[1.0, np.nan], [0, 0]], "scores must be finite"), (1.0, "scores must be an")])
def test_bad_scores(measure, scores, match):
    with pytest.raises(ValueError, match=match):
        measure(scores)


@pytest.mark.parametrize(("call", "match"), [
    (lambda: threshold_at_fmr([1.0] * 30, 0), "fmr must be above 0"),
    (lambda: fnmr_at_fmr([1.0], [1.0] * 30, 1.5), "fmr must be above 0 and at most 1, got 1.5"),
    (lambda: fnmr_at_fmr([1.0], [1.0] * 30, float("nan")), "fmr must be"),
    (lambda: apply_threshold([1.0], [1.0], float("nan")), "threshold must be finite"),
    (lambda: smallest_rate(0), "trials must be at least 1"),
    (lambda: subject_interval(np.eye(4), resamples=0), "resamples must be at least 1"),
    (lambda: subject_interval(np.eye(4), level=1), "level between 0 and 1"),
    (lambda: subject_interval(np.ones((0, 3, 3))), "scores must"),
    (lambda: mean_roc([PERFECT]), "at least two repeats"), (lambda: mean_roc([PERFECT] * 2, grid=[2.0]), "grid must"),
    (lambda: mean_roc([PERFECT] * 2, grid=[]), "grid must be a list")])
def test_bad_options(call, match):
    with pytest.raises(ValueError, match=match):
        call()
