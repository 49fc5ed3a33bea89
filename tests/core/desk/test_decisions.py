"""Decisions at the desk against brute force, and thresholds against what they promise."""

import numpy as np
import pytest
import torch

from qpwl_core.desk.calibration import calibrate
from qpwl_core.desk.decisions import Enrolled, decide
from qpwl_core.desk.space import Space

LEVELS = tuple(torch.tensor([0, 0.1, 0.4, 0.8, 1.0]).tolist())
SPACES = [Space("a" * 64, "qp-wl", 1.0, LEVELS, (4, 5)), Space("a" * 64, "qp-wl", 2.5, LEVELS, (4, 5)),
          Space("a" * 64, "qp-npl", 1.0, LEVELS, (12,)), Space("a" * 64, "qp-euclid", 1.0, LEVELS, (20,)),
          Space("a" * 64, "mp-npl", 1.0, None, (4,))]


def everyone(space, people=7, each=4, seed=0):
    random = torch.Generator().manual_seed(seed)
    values = torch.randn(people, each, *space.shape, generator=random)
    values = (values.sort(-1).values + torch.arange(people).reshape(-1, *[1] * len(space.shape), 1)).flatten(0, 1)
    return Enrolled(space, tuple("abcdefg"[:people]), values.reshape(-1, *space.shape),
                    np.repeat(np.arange(people), each))


def brute_force(enrolled, presented, levels, p):
    """d_j by loops, W_p by adding up a million rectangles' worth of straight lines."""
    grid = np.linspace(0, 1, 20_001)

    def distance(a, b):
        return sum((np.trapezoid(np.abs(np.interp(grid, levels, x) - np.interp(grid, levels, y)) ** p, grid)) ** (1 / p)
                   for x, y in zip(a, b, strict=True))

    return {name: np.mean([min(distance(x.numpy(), y.numpy()) for y in enrolled.values[enrolled.owner == j])
                           for x in presented]) for j, name in enumerate(enrolled.names)}


@pytest.mark.parametrize("space", SPACES[:2], ids=lambda s: f"p={s.p}")
@pytest.mark.parametrize("n", [1, 3])
def test_the_exact_minimum(space, n):
    enrolled = everyone(space, people=4, each=3)
    presented = everyone(space, people=4, each=3, seed=1).values[3:3 + n]
    decision = decide(enrolled, presented, space.model, threshold=1e9)
    slow = brute_force(enrolled, presented, np.array(LEVELS), space.p)
    assert decision.names == tuple(sorted(slow, key=slow.get))
    assert np.allclose(decision.distances, sorted(slow.values()), rtol=1e-4)
    assert decision.person == decision.names[0]


@pytest.mark.parametrize("space", SPACES, ids=lambda s: f"{s.method}-{s.p}")
def test_filters_add_up_to_the_distance(space):
    enrolled = everyone(space)
    presented = everyone(space, seed=1).values[8:10]
    decision = decide(enrolled, presented, space.model, threshold=0.0)
    assert decision.filters.shape == (2, 4) if space.shape != (4,) else (2, space.shape[0])
    assert np.allclose(decision.filters.sum(1), decision.distances[:2], rtol=1e-4)
    between = space.pairwise(presented, enrolled.values)
    slow = [np.mean([between[i, enrolled.owner == j].min() for i in range(2)]) for j in range(7)]
    assert np.allclose(sorted(slow), decision.distances, rtol=1e-6)
    assert decision.filters.shape[1] == 4


def test_accepted_rejected_and_claims():
    space = SPACES[0]
    enrolled = everyone(space)
    presented = enrolled.values[5:6] + 0.01
    near = decide(enrolled, presented, space.model, 100.0)
    at = decide(enrolled, presented, space.model, near.distance)
    below = decide(enrolled, presented, space.model, np.nextafter(near.distance, 0))
    assert (near.person, at.person, below.person) == ("b", "b", None), "on the threshold is accepted"
    assert "Accepted as b" in near.verdict
    assert "nobody" in below.verdict
    claim = decide(enrolled, presented, space.model, near.distance, claimed="g")
    assert (claim.kind, claim.person, claim.compared[0]) == ("verify", None, "g")
    assert claim.compared[1] == "b", "against the best of the others"
    assert claim.distance == near.distances[near.names.index("g")]
    assert decide(enrolled, presented, space.model, 1e9, claimed="g").person == "g"


def test_what_is_enrolled_itself_is_told():
    space = SPACES[0]
    enrolled = everyone(space)
    presented = torch.stack([enrolled.values[5], enrolled.values[6] + 0.01])
    assert decide(enrolled, presented, space.model, 1.0).copies == 1
    assert enrolled.owners_of(presented.numpy()) == ["b", None]


@pytest.mark.parametrize(("change", "why"), [
    ({"presented": torch.zeros(6, 4, 5)}, "1 to 5"), ({"presented": torch.zeros(0, 4, 5)}, "at least one"),
    ({"presented": torch.zeros(1, 4, 6)}, "shape"), ({"presented": torch.full((1, 4, 5), torch.inf)}, "finite"),
    ({"model": "b" * 64}, "another model"), ({"threshold": float("nan")}, "threshold"), ({"claimed": "x"}, "nobody")])
def test_bad_input(change, why):
    given = {"presented": torch.zeros(1, 4, 5), "model": "a" * 64, "threshold": 1.0, "claimed": None} | change
    with pytest.raises(ValueError, match=why):
        decide(everyone(SPACES[0]), given["presented"], given["model"], given["threshold"], given["claimed"])


def people_on_a_line(people, each=12, seed=0):
    random = np.random.default_rng(seed)
    x = np.repeat(random.normal(scale=3, size=people), each) + random.normal(scale=0.5, size=people * each)
    return np.abs(x[:, None] - x), np.repeat([f"p{i:03}" for i in range(people)], each)


@pytest.mark.parametrize("enrolled", [1, 10])
def test_so_many_strangers_get_in_as_was_asked_for(enrolled):
    """Set on 30 people, tried on 120 others, by the statistic the desk uses: the minimum over those enrolled."""
    found = calibrate(*people_on_a_line(30), 0.1, n=2, enrolled=enrolled, sequences=5)
    distances, subjects = people_on_a_line(120, seed=1)
    names, let_in, random = np.unique(subjects), [], np.random.default_rng(2)
    for stranger in names:
        others = random.choice(names[names != stranger], enrolled, replace=False)
        rows = random.choice(np.flatnonzero(subjects == stranger), 2, replace=False)
        d = min(np.mean([distances[row, random.choice(np.flatnonzero(subjects == other), 5, replace=False)].min()
                         for row in rows]) for other in others)
        let_in.append(d <= found.threshold)
    assert 0.03 < np.mean(let_in) < 0.2
    assert found.measurable
    assert (found.people, found.emulated) == (30, enrolled)


def test_more_people_enrolled_need_a_lower_threshold_and_beyond_the_calibration_people_it_says_so():
    given = people_on_a_line(6)
    thresholds = [calibrate(*given, 0.1, enrolled=j).threshold for j in (1, 3, 5, 50)]
    assert thresholds == sorted(thresholds, reverse=True)
    far = calibrate(*given, 0.1, enrolled=50)
    assert far.emulated == 5
    assert far.aimed == pytest.approx(1 - 0.9 ** 0.1)
    assert "extrapolated as independent chances" in far.note
    assert "take it as a guide" in far.note
    assert "extrapolated" not in calibrate(*given, 0.1, enrolled=5).note


def test_windows_of_one_recording_do_not_make_an_owner_look_good():
    distances, subjects = people_on_a_line(6)
    alike = np.arange(len(subjects)) // 2                         # two windows per recording, the same twice
    distances[alike[:, None] == alike] = 0
    assert calibrate(distances, subjects, 0.05, sequences=6).refused < calibrate(
        distances, subjects, 0.05, sequences=6, sources=alike).refused


@pytest.mark.parametrize(("options", "why"), [
    ({"fmr": 0}, "fmr"), ({"fmr": 1}, "fmr"), ({"n": 0}, "n must"), ({"n": 13}, "at least two calibration people"),
    ({"enrolled": 0}, "enrolled")])
def test_bad_calibration(options, why):
    given = {"fmr": 0.1} | options
    with pytest.raises(ValueError, match=why):
        calibrate(*people_on_a_line(3), given.pop("fmr"), **given)


def test_how_sure_a_promised_rate_is_follows_from_how_many_people_it_rests_on():
    many, few = calibrate(*people_on_a_line(60), 0.1), calibrate(*people_on_a_line(6), 0.1)
    for found in (many, few):
        low, high = found.promised
        assert 0 <= low <= 0.12
        assert 0.08 <= high <= 1
    assert np.ptp(many.promised) < np.ptp(few.promised)
    assert few.doubtful
    assert "Too few calibration people" in few.promise
    assert f"{100 * few.promised[1]:.0f} %" in few.promise
    far = calibrate(*people_on_a_line(6), 0.1, enrolled=50)
    assert far.promised[1] >= 0.1, "of an extrapolated rate, too"
