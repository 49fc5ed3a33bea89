import math

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.divergences import jensen_shannon, transport_plan
from qpwl_core.transport.quantiles import density

LEVELS = torch.linspace(0, 1, 9, dtype=torch.double)


def by_bins(a, b, levels):
    """SciPy on the probabilities of the bins between all knots of both, on which both densities are constant."""
    edges = np.unique(np.concatenate([a, b]))
    masses = [np.diff(np.interp(edges, x, levels, left=0, right=1)) for x in (a, b)]
    return jensenshannon(*masses) ** 2


@given(st.integers(0, 2**32 - 1), st.floats(0, 6))
@settings(max_examples=40, deadline=None)
def test_jensen_shannon_agrees_with_scipy(seed, shift):
    a, b = torch.randn(2, 1, 9, generator=torch.Generator().manual_seed(seed), dtype=torch.double).sort(-1).values
    got = jensen_shannon(a, b + shift, LEVELS).item()
    assert got == pytest.approx(by_bins(a[0].numpy(), (b + shift)[0].numpy(), LEVELS.numpy()), abs=1e-10)
    assert got == pytest.approx(jensen_shannon(b + shift, a, LEVELS).item(), abs=1e-12)


def test_the_papers_point_disjoint_supports_cost_log_2_however_far():
    a = torch.linspace(0, 1, 9, dtype=torch.double)[None]
    shift = torch.tensor(1.5, dtype=torch.double, requires_grad=True)
    for distance in (1.5, 3.0, 100.0):
        assert jensen_shannon(a, a + distance, LEVELS).item() == pytest.approx(math.log(2))
    (flat,) = torch.autograd.grad(jensen_shannon(a, a + shift, LEVELS), shift)
    (steep,) = torch.autograd.grad(wasserstein(a, a + shift, LEVELS), shift)
    assert flat == 0
    assert steep == pytest.approx(1)


def test_jensen_shannon_of_equal_functions_is_zero():
    a = torch.randn(4, 3, 9, dtype=torch.double).sort(-1).values
    assert jensen_shannon(a, a, LEVELS, per_filter=True).abs().max() < 1e-12


def test_atoms_are_probability_too():
    """All mass at 0 against half at 0, half at 1: known masses 1, 0 and ½, ½ (the jump itself holds none)."""
    levels = torch.tensor([0.0, 0.5, 0.5001, 1.0], dtype=torch.double)
    at_zero = torch.zeros(1, 4, dtype=torch.double)
    both = torch.tensor([[0.0, 0.0, 1.0, 1.0]], dtype=torch.double)
    got = jensen_shannon(at_zero, both, levels).item()
    assert got == pytest.approx(jensenshannon([1, 0, 0], [0.5, 0.0001, 0.4999]) ** 2, abs=1e-9)
    assert jensen_shannon(at_zero, at_zero + 1, levels).item() == pytest.approx(math.log(2))
    assert jensen_shannon(at_zero, at_zero, levels).item() == 0


def test_jensen_shannon_from_the_density_view():
    """The integral over a fine grid of the two densities gives the same number."""
    a, b = torch.randn(2, 9, generator=torch.Generator().manual_seed(1), dtype=torch.double).sort(-1).values
    grid = torch.linspace(-4, 4, 400_001, dtype=torch.double)
    q = []
    for values in (a, b):
        height = density(values, LEVELS)[1]
        place = torch.searchsorted(values, grid, right=True)
        inside = (place > 0) & (place < 9)
        q.append(torch.where(inside, height[(place - 1).clamp(0, 7)], 0.0))
    middle = (q[0] + q[1]) / 2
    integrand = sum(torch.where(x > 0, x * (x / middle).log(), 0.0) for x in q) / 2
    want = torch.trapezoid(integrand, grid).item()
    assert jensen_shannon(a[None], b[None], LEVELS).item() == pytest.approx(want, rel=1e-3)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_transport_plan_is_pots(n, m, seed):
    g = torch.Generator().manual_seed(seed)
    x, y = torch.randn(n, generator=g, dtype=torch.double), torch.randn(m, generator=g, dtype=torch.double)
    i, j, mass = transport_plan(x, y)
    plan = torch.zeros(n, m, dtype=torch.double)
    plan[i, j] += mass
    np.testing.assert_allclose(plan, ot.emd_1d(x.numpy(), y.numpy(), metric="euclidean"), atol=1e-12)
    np.testing.assert_allclose(plan.sum(0), 1 / m)
    np.testing.assert_allclose(plan.sum(1), 1 / n)
    for p in (1, 2, 3):
        cost = ((x[i] - y[j]).abs() ** p * mass).sum().item()
        assert cost == pytest.approx(ot.wasserstein_1d(x.numpy(), y.numpy(), p=p), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("call", "name"), [
    (lambda: transport_plan(torch.tensor([]), torch.rand(2)), "x"),
    (lambda: transport_plan(torch.rand(2), torch.tensor([math.nan])), "y"),
    (lambda: transport_plan(torch.rand(2, 2), torch.rand(2)), "x"),
    (lambda: jensen_shannon(torch.rand(1, 9), torch.rand(1, 8), LEVELS.float()), "levels"),
    (lambda: jensen_shannon(torch.rand(1, 2), torch.rand(1, 2), torch.tensor([0.1, 0.9])), "levels"),
    (lambda: jensen_shannon(torch.rand(9), torch.rand(9), LEVELS.float()), "a"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
