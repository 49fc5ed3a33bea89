"""The three scenarios: against a naive reading of the paper, known answers, what chance may depend on, bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.evaluation.draws import Draw
from qpwl_core.evaluation.metrics import auc
from qpwl_core.evaluation.protocol import (
    draw,
    identification,
    imposters,
    person_distances,
    scores,
    summarise,
    verification,
)


def names(*counts):
    return np.repeat([f"p{i:03d}" for i in range(len(counts))], counts)


def random_case(seed, people=9, ties=False):
    """Distances that are neither symmetric nor perfect, with people mixed in storage and some with too few."""
    random = np.random.default_rng(seed)
    subjects = random.permutation(names(*random.integers(4, 12, people), 7, 8))
    distances = random.uniform(size=(len(subjects),) * 2) + 0.3 * (subjects[:, None] != subjects)
    return (np.round(distances * 6) / 6 if ties else distances), subjects


# --- the paper, loop by loop; only what was drawn is taken from the fast rendering ---

def naive_distance(distances, subjects, drawn, repeat, i, j, n, groups=None):
    """d_j of the first n observed sequences of person i, by names."""
    total = 0.0
    all_observed = {int(s) for row in drawn.observed[repeat] for s in row}
    for s in drawn.observed[repeat][list(drawn.people).index(i)][:n]:
        nearest = None
        for e in range(len(subjects)):
            if subjects[e] != j or e in all_observed or (groups is not None and groups[e] == groups[s]):
                continue
            if nearest is None or distances[s, e] < nearest:
                nearest = float(distances[s, e])
        total += nearest
    return total / n


def naive_auc(genuine, imposter):
    return sum((g < i) + (g == i) / 2 for g in genuine for i in imposter) / (len(genuine) * len(imposter))


def naive_count(fraction, people, least):
    return max(int(fraction * people + 0.5 + 1e-9), least)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_naive_reading(seed, grouped, ties):
    distances, subjects = random_case(seed, ties=ties)
    groups = None
    if grouped:  # most trials are one person's two windows, some are shared by all
        groups = np.array([f"{who}/{i // 8}" if i % 3 else f"t{i % 5}" for i, who in enumerate(subjects)])
    options = {"repeats": 3, "seed": seed, "groups": groups}
    drawn = draw(subjects, **options)
    people = list(drawn.people)
    assert len(people) > 3
    d = {(r, n, i, j): naive_distance(distances, subjects, drawn, r, i, j, n, groups)
         for r in range(3) for n in range(1, 6) for i in people for j in people}

    fast = person_distances(distances, drawn)
    for (r, n, i, j), value in d.items():
        assert fast[r, n - 1, people.index(i), people.index(j)] == value

    for row in verification(distances, subjects, **options).itertuples():
        pairs = [(i, j, d[row.repeat, row.n, i, j]) for i in people for j in people]
        wanted = naive_auc([x for i, j, x in pairs if i == j], [x for i, j, x in pairs if i != j])
        assert row.auc == wanted
        assert (row.subjects, row.trials) == (len(people), len(pairs))

    fractions, n = (0.1, 0.25, 0.5, 1.0), 3
    frame = identification(distances, subjects, fractions=fractions, n=n, **options)
    assert len(frame) == 3 * len(fractions)
    for row in frame.itertuples():
        some = [people[i] for i in drawn.order[row.repeat][:naive_count(row.fraction, len(people), 2)]]
        right = 0.0
        for i in some:
            least = min(d[row.repeat, n, i, j] for j in some)
            nearest = [j for j in some if d[row.repeat, n, i, j] == least]
            right += (i in nearest) / len(nearest)
        assert row.accuracy == right / len(some)
        assert row.subjects == len(some)

    for row in imposters(distances, subjects, fractions=(0.05, 0.2, 0.5), n=n, **options).itertuples():
        shuffled = [people[i] for i in drawn.order[row.repeat]]
        half = len(people) // 2
        unknown = shuffled[len(people) - half:]
        known = shuffled[:min(naive_count(row.fraction, len(people), 1), len(people) - half)]
        least = {i: min(d[row.repeat, n, i, j] for j in known) for i in known + unknown}
        assert row.auc == naive_auc([least[i] for i in known], [least[i] for i in unknown])
        assert (row.enrolled, row.imposters) == (len(known), half)
        assert not set(known) & set(unknown)


# --- known answers ---

def by_person(subjects, own, other):
    return np.where(np.asarray(subjects)[:, None] == subjects, own, other).astype(float)


@pytest.mark.parametrize(("own", "other", "area", "accuracy"), [(0, 1, 1.0, 1.0), (1, 0, 0.0, 0.0)])
def test_perfect_and_inverted(own, other, area, accuracy):
    subjects = names(*[8] * 20)
    distances = by_person(subjects, own, other)
    frame = verification(distances, subjects)
    assert (frame["auc"] == area).all()
    assert (frame["eer"] == 1 - area).all()
    assert (identification(distances, subjects)["accuracy"] == accuracy).all()
    if area:
        assert (imposters(distances, subjects)["auc"] == 1).all()


def test_chance_gives_one_half_within_its_error():
    subjects = names(*[8] * 40)
    distances = np.random.default_rng(3).uniform(size=(320, 320))
    frame = summarise(verification(distances, subjects, repeats=20))
    # 40 genuine distances: the AUC of one repeat has a standard deviation of about 1 / √(12 · 40)
    assert (abs(frame["auc"] - 0.5) < 4 / np.sqrt(12 * 40 * 20 / 4)).all()  # repeats share sequences: a fourth counts
    assert (frame["auc_se"] < 0.03).all()
    accuracy = summarise(identification(distances, subjects, fractions=[1.0], repeats=20))["accuracy"][0]
    assert accuracy < 5 / 40


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_a_planted_imposter_rate_is_found(rate):
    """Everyone is at 1 from themselves; that share of all people is at 0 from everyone else, the others at 2."""
    subjects = names(*[7] * 40)
    cunning = np.zeros(40, dtype=bool)
    cunning[:round(rate * 40)] = True
    distances = by_person(subjects, 1, 2)
    distances[np.ix_(np.repeat(cunning, 7), np.ones(280, dtype=bool))] -= 2 * (distances[np.repeat(cunning, 7)] == 2)
    drawn = draw(subjects)
    frame = imposters(distances, subjects, fractions=[0.5])
    for repeat, area in zip(frame["repeat"], frame["auc"], strict=True):
        share = cunning[drawn.order[repeat][20:]].mean()
        known = cunning[drawn.order[repeat][:20]]  # an enrolled cunning person is at 0 from another enrolled one
        assert area == pytest.approx(1 - share + share * known.mean() / 2)
    verified = scores(distances, subjects)
    assert (verified.loc[~verified["genuine"], "distance"] < 1).mean() == pytest.approx(rate)


def test_more_sequences_and_fewer_people_are_easier():
    random = np.random.default_rng(0)
    subjects = names(*[12] * 30)
    x = np.repeat(random.normal(size=(30, 4)), 12, axis=0) + random.normal(size=(360, 4))
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    assert summarise(verification(distances, subjects))["auc"].is_monotonic_increasing
    accuracy = summarise(identification(distances, subjects, fractions=[0.1, 0.4, 1.0]))["accuracy"]
    assert accuracy.is_monotonic_decreasing


# --- frames ---

def test_frames_and_defaults():
    distances, subjects = random_case(4)
    drawn = draw(subjects)
    frame = verification(distances, subjects)
    assert frame.columns.tolist() == ["repeat", "n", "subjects", "trials", "auc", "eer"]
    assert frame[["repeat", "n"]].drop_duplicates().shape == (50, 2)
    assert frame.attrs["left_out"] == drawn.left_out != []
    assert frame.attrs["note"].startswith(f"{len(drawn.left_out)} of 11 subjects left out")
    frame = identification(distances, subjects)
    assert frame.columns.tolist() == ["repeat", "n", "fraction", "subjects", "accuracy"]
    assert frame["fraction"].unique().tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    frame = imposters(distances, subjects)
    assert frame.columns.tolist() == ["repeat", "n", "fraction", "enrolled", "imposters", "auc", "eer"]
    assert len(frame) == 100
    assert frame["fraction"].max() == 0.5
    assert (frame["n"] == 5).all()


def test_scores_are_what_verification_reads():
    distances, subjects = random_case(5)
    table, found = scores(distances, subjects, n=2), verification(distances, subjects)
    assert table.columns.tolist() == ["repeat", "observed_subject", "claimed_subject", "genuine", "distance"]
    assert (table["genuine"] == (table["observed_subject"] == table["claimed_subject"])).all()
    assert table.attrs == found.attrs
    for repeat in (0, 7):
        one = scores(distances, subjects, n=2, repeat=repeat)
        assert one["distance"].tolist() == table.loc[table["repeat"] == repeat, "distance"].tolist()
        area = auc(one.loc[one["genuine"], "distance"], one.loc[~one["genuine"], "distance"])
        assert area == found.query("repeat == @repeat and n == 2")["auc"].item()


def test_summarise():
    distances, subjects = random_case(7)
    frame = verification(distances, subjects, repeats=4)
    summary = summarise(frame)
    assert summary.columns.tolist() == ["n", "subjects", "trials", "repeats", "auc", "auc_se", "eer", "eer_se"]
    of_two = frame.loc[frame["n"] == 2, "auc"].to_numpy()
    row = summary[summary["n"] == 2].iloc[0]
    assert row["auc"] == pytest.approx(of_two.mean())
    assert row["auc_se"] == pytest.approx(of_two.std(ddof=1) / 2)
    assert row["repeats"] == 4
    assert summary.attrs["left_out"] == frame.attrs["left_out"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_takes_torch(dtype):
    distances, subjects = random_case(8)
    tensor = torch.tensor(distances, dtype=dtype, requires_grad=True)
    ours = verification(tensor, subjects)
    theirs = verification(tensor.detach().double().numpy(), subjects)
    assert ours.equals(theirs)


# --- what chance may depend on ---

@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 10), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 99), st.randoms())
def test_draw(counts, observed, seed, random):
    subjects = names(*counts, observed + 1, observed + 2)
    drawn = draw(subjects, repeats=3, observed=observed, seed=seed)
    assert isinstance(drawn, Draw)
    assert sorted([*drawn.people, *drawn.left_out]) == sorted(set(subjects))
    assert all((subjects == who).sum() <= observed for who in drawn.left_out)
    for repeat in range(3):
        seen, kept = drawn.observed[repeat], drawn.enrolled(repeat)
        assert (subjects[seen] == drawn.people[:, None]).all()            # of the right person
        assert not set(seen.ravel()) & set(kept)
        everyone = np.flatnonzero(np.isin(subjects, drawn.people))
        assert sorted([*seen.ravel(), *kept]) == everyone.tolist()        # observed or enrolled, no third
        assert sorted(drawn.order[repeat]) == list(range(len(drawn.people)))
    fewer = draw(subjects, repeats=2, observed=observed, seed=seed)       # more repeats change no earlier one
    np.testing.assert_array_equal(fewer.observed, drawn.observed[:2])
    # People may be mixed in storage in any way, as long as each keeps the order of its own sequences.
    people = subjects.tolist()
    random.shuffle(people)
    mixed = draw(people, repeats=3, observed=observed, seed=seed)
    rank = np.empty(len(people), dtype=int)
    for who in set(people):
        rank[np.array(people) == who] = np.flatnonzero(subjects == who)
    np.testing.assert_array_equal(rank[mixed.observed], drawn.observed)
    np.testing.assert_array_equal(mixed.order, drawn.order)


def test_seed_changes_the_draw():
    assert (draw(names(*[9] * 5), seed=0).observed != draw(names(*[9] * 5), seed=1).observed).any()


def test_every_sequence_is_observed_as_often():
    seen = np.bincount(draw(names(10, 10), repeats=2000).observed.ravel())
    assert abs(seen / 2000 - 0.5).max() < 4 * np.sqrt(0.25 / 2000)


# --- groups ---

def test_windows_of_one_trial_do_not_leak():
    """Windows of one trial are at 0, all else is chance: without groups everyone is recognised, with them nobody.

    Below one half, even: a person's own trials are ignored, others' are not, and a minimum over fewer is larger.
    """
    random = np.random.default_rng(1)
    subjects, trials = names(*[12] * 25), np.repeat(np.arange(100), 3).astype(str)
    distances = random.uniform(1, 2, size=(300, 300)) * (trials[:, None] != trials)
    leaky, fair = (summarise(verification(distances, subjects, groups=g))["auc"].iloc[-1] for g in (None, trials))
    assert leaky > 0.95
    assert 0.25 < fair < 0.5


def test_groups_of_one_sequence_change_nothing():
    distances, subjects = random_case(9)
    alone = np.arange(len(subjects)).astype(str)
    assert verification(distances, subjects).equals(verification(distances, subjects, groups=alone))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans()), min_size=20, max_size=50),
       st.integers(1, 3), st.integers(0, 9))
def test_there_is_always_something_to_compare_with(sequences, observed, seed):
    subjects = [f"p{who}" for who, _, _ in sequences]
    groups = [f"g{group}" if shared else f"p{who}g{group}" for who, group, shared in sequences]
    distances = np.random.default_rng(seed).uniform(size=(len(subjects),) * 2)
    try:
        drawn = draw(subjects, observed=observed, seed=seed, groups=groups)
    except ValueError as error:
        assert "at least two people" in str(error)  # noqa: PT017  (either is right)
        return
    assert np.isfinite(person_distances(distances, drawn)).all()


def test_who_has_all_in_one_group_is_left_out():
    subjects = names(8, 8, 8)
    groups = [f"{who}{i % 2}" if who != "p001" else "only" for i, who in enumerate(subjects)]
    assert draw(subjects, observed=4, groups=groups).left_out == ["p001"]


# --- bad input ---

GOOD = names(7, 7, 7)
CHANCE = np.random.default_rng(0).uniform(size=(21, 21))


@pytest.mark.parametrize("scenario", [verification, identification, imposters, scores])
@pytest.mark.parametrize(("distances", "subjects", "match"), [
    (CHANCE[:13, :13], names(7, 5, 1), r"at least two people with enough sequences \(fewer than 6 .*got 1 of 3"),
    (CHANCE[:8, :8], names(8), "at least two people .* got 1 of 1"),
    (np.ones((21, 21)), GOOD, "distances must differ to tell people apart, got 1 "),
    (1 - np.eye(21), GOOD, "distances must differ"),
    (np.where(CHANCE > 0.9, np.nan, CHANCE), GOOD, r"distances must be finite, got \d+ NaN"),
    (np.where(CHANCE > 0.9, np.inf, CHANCE), GOOD, "distances must be finite"),
    (CHANCE[:, :20], GOOD, r"distances must be a square matrix \(n, n\), got shape \(21, 20\)"),
    (CHANCE[0], GOOD, "distances must be a square matrix"),
    (CHANCE, names(7, 7), "subjects must hold one name per row of distances, got 14 for 21 rows"),
    (CHANCE, GOOD[:, None], "subjects must hold one name per sequence"),
    (CHANCE, [], "subjects must hold one name per sequence")])
def test_bad_input(scenario, distances, subjects, match):
    with pytest.raises(ValueError, match=match) as caught:
        scenario(distances, subjects)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("call", "options", "match"), [
    (verification, {"repeats": 0}, "repeats must be"), (verification, {"observed": 0}, "observed must be"),
    (verification, {"observed": 2.5}, "observed must be"), (verification, {"seed": -1}, "seed must be"),
    (verification, {"groups": ["a"]}, "groups must hold one name per sequence, 21 of them"),
    (verification, {"groups": GOOD}, "at least two people .* outside a group"),
    (identification, {"n": 6}, "n must be a whole number from 1 to observed = 5, got 6"),
    (imposters, {"n": 0}, "n must be"), (scores, {"n": 6}, "n must be"), (scores, {"n": True}, "n must be"),
    (identification, {"fractions": []}, "fractions must be"), (identification, {"fractions": [0]}, "fractions must"),
    (identification, {"fractions": [1.1]}, "fractions must be above 0 and at most 1"),
    (imposters, {"fractions": [0.6]}, "fractions must be above 0 and at most 0.5"),
    (imposters, {"fractions": [float("nan")]}, "fractions must"),
    (scores, {"repeat": 10}, "repeat must be one of 0 to 9"), (scores, {"repeat": -1}, "repeat must be")])
def test_bad_options(call, options, match):
    with pytest.raises(ValueError, match=match):
        call(CHANCE, GOOD, **options)


def test_bad_frames():
    with pytest.raises(ValueError, match="at least two repeats"):
        summarise(verification(CHANCE, GOOD, repeats=1))
    with pytest.raises(ValueError, match="frame must come from"):
        summarise(scores(CHANCE, GOOD))
