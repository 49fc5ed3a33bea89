"""How well M + 2 knots stand for N samples, against sums and NumPy; samples drawn from mixtures."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from qpwl_core.transport.approximation import (
    approximation_error,
    error_bound,
    even_levels,
    gradient_weights,
    quantile_knots,
    quantiles_at,
)
from qpwl_core.transport.divergences import transport_cost, transport_plan
from qpwl_core.transport.toy_samples import Bump, draw_again, draw_mixture

SAMPLES = st.lists(st.floats(-100, 100), min_size=1, max_size=40).map(lambda x: torch.tensor(x, dtype=torch.float64))


@settings(deadline=None, max_examples=50)
@given(SAMPLES, st.integers(1, 20))
def test_error_is_that_of_a_fine_sum_and_within_its_bound(x, points):
    levels = even_levels(points)
    area, largest = approximation_error(x, levels)
    kept = quantiles_at(x, levels)
    r = np.linspace(0, 1, 20_001)
    ranked = np.append(np.sort(x.numpy()), x.max())
    difference = np.abs(np.interp(r, np.arange(len(x) + 1) / len(x), ranked) - np.interp(r, levels, kept))
    assert area == pytest.approx(np.trapezoid(difference, r), rel=1e-3, abs=1e-3)
    assert largest >= difference.max() - 1e-9
    bound = error_bound(kept, levels)
    assert area <= bound + 1e-9
    assert bound == pytest.approx((x.max() - x.min()).item() / (2 * (points + 1)), abs=1e-9)


def test_as_many_even_levels_as_samples_lose_nothing():
    x = torch.randn(8, generator=torch.Generator().manual_seed(0))
    assert approximation_error(x, even_levels(7)) == pytest.approx((0, 0), abs=1e-12)
    assert approximation_error(torch.full((5,), 3.0), even_levels(1)) == (0, 0)


def test_one_sample_is_a_flat_function():
    values, levels = quantile_knots(torch.tensor([2.5]))
    assert values.tolist() == [2.5, 2.5]
    assert levels.tolist() == [0, 1]


@pytest.mark.parametrize(("n", "points"), [(125, 16), (500, 16), (3, 64), (1, 1), (17, 16)])
def test_gradient_reaches_the_order_statistics_around_each_level(n, points):
    x = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    weights, order, wanted = gradient_weights(x, even_levels(points)), x.argsort(), set()
    for k in range(points + 2):
        place, rest = divmod(k * n, points + 1)              # the level k / (points + 1), times n, in whole numbers
        wanted.add(int(order[min(place, n - 1)]))
        if rest:
            wanted.add(int(order[min(place + 1, n - 1)]))
    assert set(weights.nonzero()[:, 0].tolist()) == wanted
    assert weights.sum().item() == pytest.approx(points + 2), "each knot hands on all of its gradient"


def test_no_points_and_no_samples_are_refused():
    with pytest.raises(ValueError, match="points"):
        even_levels(0)
    with pytest.raises(ValueError, match="at least one sample"):
        quantile_knots(torch.tensor([]))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, 8.0])
def test_the_cost_of_the_plan_is_the_distance_of_the_samples(p):
    random = np.random.default_rng(0)
    x, y = torch.from_numpy(random.normal(size=12)), torch.from_numpy(random.normal(2, 3, size=18))
    cost = transport_cost(x, y, transport_plan(x, y), p)
    a, b = (np.repeat(np.sort(v.numpy()), 36 // len(v)) for v in (x, y))
    assert cost == pytest.approx(np.mean(np.abs(a - b) ** p) ** (1 / p))
    if p == 1:
        assert cost == pytest.approx(stats.wasserstein_distance(x, y))
    assert transport_cost(x, x, transport_plan(x, x), p) == 0
    assert transport_cost(1e60 * x, 1e60 * y, transport_plan(x, y), p) == pytest.approx(1e60 * cost)


def test_mixtures_have_the_moments_they_say():
    x = draw_mixture([Bump(-2, 0.5, 3), Bump(4, 2, 1, "uniform"), Bump(99, 1, 0)], 100_000, seed=3)
    assert x.mean() == pytest.approx(-0.5, abs=0.05)
    assert np.mean(x > 1.9) == pytest.approx(0.25, abs=0.01)
    assert x.max() <= 6
    assert (draw_mixture([Bump(0, 1, 1)], 5, 1) == draw_mixture([Bump(0, 1, 1)], 5, 1)).all()


@pytest.mark.parametrize("bad", [{"spread": -1}, {"weight": -1}, {"centre": float("nan")}, {"shape": "square"}])
def test_a_bump_that_is_none(bad):
    with pytest.raises(ValueError):
        Bump(**{"centre": 0, "spread": 1, "weight": 1} | bad)


def test_nothing_to_draw_from():
    with pytest.raises(ValueError, match="weight"):
        draw_mixture([Bump(0, 1, 0)], 5)


def test_samples_drawn_again_have_the_same_quantiles():
    levels = np.linspace(0, 1, 33)
    values = np.sort(np.random.default_rng(0).normal(size=33))
    x = draw_again(values, levels, 50_000, seed=1)
    assert np.abs(np.quantile(x, levels) - values).max() < 0.1
    assert values[0] <= x.min() <= x.max() <= values[-1]
