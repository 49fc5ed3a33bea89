"""Trials, intervals and explanations against the protocol, the slow way, and known answers."""

import numpy as np
import pytest

from qpwl_core.evaluation import metrics, protocol
from qpwl_core.evaluation.bootstrap import subject_interval, subject_intervals
from qpwl_core.evaluation.draws import fair_groups
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.evaluation.explain import explain_pair, match_by_filter, nearest_sequences, pair_parts
from qpwl_core.evaluation.trials import at_threshold, attack, auc_by_n, confusion, error_rates, make_trials, same_fmr
from qpwl_core.models.gallery import Gallery
from qpwl_core.models.methods import METHODS

PEOPLE, EACH = 7, 9


def some_gallery(method="qp-wl", seed=0) -> Gallery:
    """Seven people with nine sequences each, three windows of each of three recordings, and four filters."""
    random = np.random.default_rng(seed)
    own = None if not METHODS[method].aggregation.startswith("quantile") else np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    centres = random.normal(size=(PEOPLE, 1, 4, 1))
    values = np.sort(centres + random.normal(size=(PEOPLE, EACH, 4, 9)), axis=-1).reshape(-1, 4, 9).astype(np.float32)
    vectors = None if own is not None else values[..., -1].copy()
    subjects = np.repeat([f"person {i}" for i in range(PEOPLE)], EACH)
    return Gallery(values, np.linspace(0, 1, 9), own, vectors, subjects, None, np.arange(PEOPLE * EACH) // 3,
                   np.full(PEOPLE * EACH, "test", "U11"), method, 1.0, "0")


@pytest.fixture(scope="module")
def gallery():
    return some_gallery()


@pytest.fixture(scope="module")
def trials(gallery):
    return make_trials(gallery.distances(), gallery.subjects, gallery.sources)


def test_they_are_those_of_evaluate(gallery, trials):
    summary, _ = evaluate_distances(gallery.distances(), gallery.subjects, gallery.sources)
    table = auc_by_n(trials)
    for n in range(1, 6):
        wanted = summary["verification"][str(n)]
        assert table["auc"][n - 1] == pytest.approx(wanted["auc"])
        assert table["se"][n - 1] == pytest.approx(wanted["se"])
        assert error_rates(trials, n)["eer"] == pytest.approx(wanted["eer"])


def test_pooled_lists_are_the_draws_end_to_end(trials):
    genuine, imposter = trials.of(3)
    assert len(genuine) == 10 * PEOPLE
    assert len(imposter) == 10 * PEOPLE * (PEOPLE - 1)
    assert np.array_equal(np.concatenate([trials.of(3, draw)[0] for draw in range(10)]), genuine)


def test_rates_that_cannot_be_measured_are_none(trials):
    rates = error_rates(trials, 1)
    assert rates["imposter"] == 42                       # 0.1 needs 30, 0.01 needs 300
    assert rates[0.1] is not None
    assert rates[0.01] is None
    assert rates[0.001] is None


def test_a_threshold_counts_people_as_metrics_counts_shares(trials):
    genuine, imposter = trials.of(1)
    for threshold in np.quantile(imposter, [0, 0.1, 0.5, 1]):
        out, rates = at_threshold(genuine, imposter, threshold), metrics.apply_threshold(genuine, imposter, threshold)
        assert out["let_in"] == (imposter <= threshold).sum()
        assert out["sent_away"] == (genuine > threshold).sum()
        assert (out["fmr"], out["fnmr"]) == (rates["fmr"], rates["fnmr"])


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_a_rate_carries_over_to_another_scale(trials, rate):
    genuine, imposter = trials.of(1)
    out = at_threshold(genuine, imposter, same_fmr(imposter, rate))
    assert out["fmr"] == pytest.approx(rate, abs=1 / len(imposter))


def test_attack_known_answer():
    scores = np.array([[0.1, 2.0, 1.0], [5.0, 0.1, 6.0], [1.5, 3.0, 0.2]])
    table = attack(scores, 1.5, ["a", "b", "c"])
    assert table["imposter"].tolist() == ["a", "c", "b"]
    assert table["nearest"].tolist() == ["c", "a", "a"]
    assert table["gets_in"].tolist() == [True, True, False]


def test_confusion_has_the_accuracy_of_identification_on_its_diagonal(gallery, trials):
    groups = fair_groups(gallery.subjects, gallery.sources)
    table = protocol.summarise(protocol.identification(gallery.distances(), gallery.subjects, n=2, groups=groups))
    shares = confusion(trials.scores[:, 1])
    assert np.allclose(shares.sum(1), 1)
    assert np.trace(shares) / PEOPLE == pytest.approx(table["accuracy"].iloc[-1])


def test_intervals_are_those_of_the_slow_way(trials):
    scores = trials.scores[:3, 0].round(1)               # rounded: ties count too
    quick = subject_intervals(scores, (0.1,), resamples=40, seed=3)
    for name, statistic in (("auc", metrics.auc), ("eer", metrics.eer)):
        slow = subject_interval(scores, statistic, resamples=40, seed=3)
        assert quick[name] == pytest.approx(slow), name
    quick = subject_intervals(trials.scores[:3, 0], (0.3,), resamples=40, seed=3)
    slow = subject_interval(trials.scores[:3, 0], lambda g, i: metrics.fnmr_at_fmr(g, i, 0.3), resamples=40,
                                    seed=3)
    assert quick[0.3] == pytest.approx(slow)


def test_intervals_say_what_they_want():
    with pytest.raises(ValueError, match="scores must be finite"):
        subject_intervals(np.zeros((2, 2)))


@pytest.mark.parametrize("method", ["qp-wl", "qp-npl", "mp-npl", "qp-euclid", "pswe-npl"])
def test_what_filters_add_sums_to_the_distance(method):
    gallery = some_gallery(method)
    distances = gallery.distances()
    rows, columns = np.array([0, 5, 40]), np.array([9, 30, 2])
    parts = pair_parts(gallery, rows, columns)
    assert parts.shape == (3, 4)
    assert np.allclose(parts.sum(1), distances[rows, columns], atol=1e-5)
    trials = make_trials(distances, gallery.subjects, gallery.sources)
    assert np.allclose(match_by_filter(gallery, trials, 3, 1).sum(-1), trials.scores[1, 2], atol=1e-5)


def test_the_sequences_that_met_are_allowed_to(gallery, trials):
    observed, nearest = nearest_sequences(trials, 2, 0)
    for person, claimed in ((0, 0), (2, 5)):
        met = nearest[person, :, claimed]
        assert set(gallery.subjects[met]) == {trials.people[claimed]}
        assert (gallery.sources[observed[person]] != gallery.sources[met]).all()
        assert trials.distances[observed[person], met].mean() == pytest.approx(trials.scores[0, 1, person, claimed])


def test_the_filter_that_matched_most_comes_first(gallery, trials):
    by_filter = match_by_filter(gallery, trials, 2, 0)
    sequences, filters = explain_pair(trials, by_filter, 2, 0, 1, 4)
    gain = filters["typical"] - filters["pair"]
    assert gain.is_monotonic_decreasing
    assert set(filters["filter"]) == set(range(4))
    assert filters["pair"].sum() == pytest.approx(trials.scores[0, 1, 1, 4], rel=1e-5)
    assert sequences["distance"].mean() == pytest.approx(trials.scores[0, 1, 1, 4], rel=1e-5)
