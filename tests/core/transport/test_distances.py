import math
import tracemalloc

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from qpwl_core.transport import kernels as kernels_module
from qpwl_core.transport.distances import pairwise_cosine, pairwise_euclidean, pairwise_wasserstein, wasserstein
from qpwl_core.transport.quantiles import QuantileLayer, empirical_quantiles, interpolate_quantiles
from tests.support.oracles import quantile
from tests.support.oracles import wasserstein as oracle

ORDERS = [1, 1.5, 2, 2.5, 3, 7]
K, L = 3, 18


@pytest.fixture(params=["compiled", "plain"])
def way(request, monkeypatch):
    """Compiled kernels, and PyTorch alone."""
    if request.param == "plain":
        monkeypatch.setattr(kernels_module, "_loaded", [None])
    return request.param


def some_levels(count=L, dtype=torch.float32, seed=0):
    gaps = torch.rand(count - 1, generator=torch.Generator().manual_seed(seed), dtype=torch.double) + 0.1
    levels = torch.cat([torch.zeros(1), (gaps / gaps.sum()).cumsum(0)])
    levels[-1] = 1
    return levels.to(dtype)


def pair(kind, seed=0):
    """Two embeddings (K, L) of a kind that has broken somebody's closed form."""
    g = torch.Generator().manual_seed(seed)
    a = torch.randn(K, L, generator=g).sort(-1).values
    b = torch.randn(K, L, generator=g).sort(-1).values
    if kind == "flat":           # constant functions: every slope is zero
        a, b = a[:, :1].expand(K, L), b[:, :1].expand(K, L)
    elif kind == "parallel":     # the difference is constant, the functions are not
        b = a + 0.5
    elif kind == "nearly flat":  # slope of the difference 1e-6: the printed form loses its digits
        b = a + 1 + 1e-6 * torch.rand(K, L, generator=g).sort(-1).values
    elif kind == "crossing":     # every other knot changes sign
        b = a + torch.tensor([1.0, -1.0]).repeat(L // 2) * torch.rand(K, L, generator=g)
    elif kind == "touching":     # exact zeros of the difference at knots
        b[:, ::3] = a[:, ::3]
    elif kind == "tiny":
        a, b = a * 1e-9, b * 1e-9
    elif kind == "tinier":
        a, b = a * 1e-30, b * 1e-30
    elif kind == "huge":
        a, b = a * 1e15, b * 1e15
    elif kind == "equal":
        b = a.clone()
    elif kind == "one filter equal":
        b[0] = a[0]
    return a.contiguous(), b.contiguous()


KINDS = ["random", "flat", "parallel", "nearly flat", "crossing", "touching", "tiny", "tinier", "huge", "equal",
         "one filter equal"]


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_float32_agrees_with_adaptive_quadrature(kind, p, way):
    levels = some_levels()
    for seed in range(3):
        a, b = pair(kind, seed)
        want = oracle(a, b, levels, p)
        for got in (wasserstein(a, b, levels, p), pairwise_wasserstein(a[None], b[None], levels, p).squeeze()):
            assert got.item() == pytest.approx(want, rel=1e-6, abs=0)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_float32_gradients_are_finite_and_equal_float64_ones(kind, p, way):
    a, b = pair(kind)
    levels = some_levels()
    gradients = {}
    for name, dtype in (("single", torch.float32), ("pairs", torch.float32), ("double", torch.float64)):
        inputs = [x.clone().to(dtype).requires_grad_() for x in (a, b, levels)]
        if name == "pairs":
            distance = pairwise_wasserstein(inputs[0][None], inputs[1][None], inputs[2], p).sum()
        else:
            distance = wasserstein(*inputs, p)
        gradients[name] = torch.autograd.grad(distance, inputs)
    for name in ("single", "pairs"):
        for got, want in zip(gradients[name], gradients["double"], strict=True):
            assert torch.isfinite(got).all()
            scale = float(want.abs().max()) or 1.0
            torch.testing.assert_close(got.double() / scale, want / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("kind", ["random", "flat", "parallel", "nearly flat", "crossing", "touching"])
def test_float64_gradients_pass_gradcheck(kind, p):
    a, b = (x[:2, :6].double().requires_grad_() for x in pair(kind))
    inner = some_levels(6, torch.double)[1:-1].clone().requires_grad_()
    ends = torch.tensor([0.0, 1.0], dtype=torch.double)

    def one(a, b, inner):
        return wasserstein(a, b, torch.cat([ends[:1], inner, ends[1:]]), p)

    def many(a, b, inner, per_filter):
        levels = torch.cat([ends[:1], inner, ends[1:]])
        queries, references = torch.stack([a, a * 1.3 + 0.1]), torch.stack([b, b * 0.9 + 3])
        return pairwise_wasserstein(queries, references, levels, p, per_filter)

    assert torch.autograd.gradcheck(one, (a, b, inner), eps=1e-7, atol=1e-5)
    for per_filter in (False, True):
        assert torch.autograd.gradcheck(lambda *x, f=per_filter: many(*x, f), (a, b, inner), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 2.5, 3, 40])
@pytest.mark.parametrize("per_filter", [False, True])
def test_compiled_gradients_equal_the_closed_form(p, per_filter, monkeypatch):
    torch.manual_seed(0)
    inputs = [torch.randn(n, 5, L).sort(-1).values.requires_grad_() for n in (7, 21)]
    inputs.append(some_levels().requires_grad_())
    above = torch.randn(7, 21, 5) if per_filter else torch.randn(7, 21)
    compiled = torch.autograd.grad((pairwise_wasserstein(*inputs, p, per_filter) * above).sum(), inputs)
    monkeypatch.setattr(kernels_module, "_loaded", [None])
    plain = torch.autograd.grad((pairwise_wasserstein(*inputs, p, per_filter) * above).sum(), inputs)
    for got, want in zip(compiled, plain, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=2e-6 * float(want.abs().max()))


def test_equal_embeddings_have_zero_gradient_not_nan(way):
    a = torch.randn(2, 3, L).sort(-1).values.requires_grad_()
    for p in ORDERS:
        (g,) = torch.autograd.grad(pairwise_wasserstein(a, a.detach(), some_levels(), p).diagonal().sum(), a)
        assert (g == 0).all()


@pytest.mark.parametrize("shapes", [(1, 1), (1, 40), (40, 1), (5, 7), (33, 70)])
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_pairwise_is_wasserstein_pair_by_pair(shapes, p, way):
    torch.manual_seed(0)
    a, b = (torch.randn(n, K, L).sort(-1).values for n in shapes)
    want = wasserstein(a[:, None], b[None], some_levels(), p, per_filter=True)
    torch.testing.assert_close(pairwise_wasserstein(a, b, some_levels(), p, True), want, rtol=2e-6, atol=1e-6)
    torch.testing.assert_close(pairwise_wasserstein(a, b, some_levels(), p), want.sum(-1), rtol=2e-6, atol=1e-6)


def test_no_pairs_give_an_empty_matrix(way):
    a = torch.randn(3, K, L)
    assert pairwise_wasserstein(a[:0], a, some_levels()).shape == (0, 3)
    assert pairwise_wasserstein(a, a[:0], some_levels(), 2.5, True).shape == (3, 0, K)


def test_references_are_tiled_in_stretches(monkeypatch):
    from qpwl_core.transport import pairwise
    a, b = torch.randn(9, K, L), torch.randn(100, K, L)
    whole = pairwise_wasserstein(a, b, some_levels())
    monkeypatch.setattr(pairwise, "TILES", 17 * K * L)
    assert torch.equal(pairwise_wasserstein(a, b, some_levels()), whole)


@pytest.mark.parametrize("p", ORDERS)
def test_different_levels_are_compared_exactly(p):
    """On the union of the levels, checked by quadrature on a common refinement."""
    torch.manual_seed(0)
    first, second = some_levels(9, torch.double, 1), some_levels(14, torch.double, 2)
    a, b = (torch.randn(K, n, dtype=torch.double).sort(-1).values for n in (9, 14))
    union = torch.cat([first, second]).unique()
    want = oracle(interpolate_quantiles(a, first, union), interpolate_quantiles(b, second, union), union, p)
    assert wasserstein(a, b, first, p, levels_b=second).item() == pytest.approx(want, rel=1e-9)
    pairs = pairwise_wasserstein(a[None], b[None], first, p, levels_b=second)
    assert pairs.item() == pytest.approx(want, rel=1e-9)
    same = interpolate_quantiles(a, first, union)
    assert wasserstein(a, same, first, p, levels_b=union).item() == pytest.approx(0, abs=1e-12)


# Independent libraries, on finely sampled functions

def finely(samples, count=20_000):
    """Midpoint samples of the function through Q̃'s own knots: what SciPy and POT may be given."""
    r = (torch.arange(count, dtype=torch.double) + 0.5) / count
    return empirical_quantiles(samples[None, None], None, r)[0, 0].numpy()


def through_all_knots(samples):
    n = len(samples)
    levels = torch.arange(n + 1, dtype=torch.double) / n
    return empirical_quantiles(samples[None, None], None, levels)[0], levels


@pytest.mark.parametrize("seed", range(3))
def test_order_one_agrees_with_scipy(seed):
    torch.manual_seed(seed)
    x, y = torch.randn(40, dtype=torch.double), torch.randn(40, dtype=torch.double) * 2 + 0.3
    (a, levels), (b, _) = through_all_knots(x), through_all_knots(y)
    assert wasserstein(a, b, levels).item() == pytest.approx(wasserstein_distance(finely(x), finely(y)), rel=1e-5)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 7])
def test_order_p_agrees_with_pot(p):
    torch.manual_seed(1)
    x, y = torch.randn(30, dtype=torch.double), torch.rand(30, dtype=torch.double) * 3
    (a, levels), (b, _) = through_all_knots(x), through_all_knots(y)
    want = ot.wasserstein_1d(finely(x), finely(y), p=p) ** (1 / p)  # POT returns W_p**p
    assert wasserstein(a, b, levels, p).item() == pytest.approx(want, rel=1e-5)


# Properties

generators = st.integers(0, 2**32 - 1).map(lambda seed: torch.Generator().manual_seed(seed))
embeddings = generators.map(lambda g: torch.randn(3, K, 8, generator=g, dtype=torch.double).sort(-1).values)
orders = st.floats(1, 12)
fast = settings(max_examples=40, deadline=None)


@given(embeddings, orders)
@fast
def test_metric_axioms(x, p):
    a, b, c = x
    levels = some_levels(8, torch.double)
    ab, ba, bc, ac = (wasserstein(*two, levels, p).item() for two in ((a, b), (b, a), (b, c), (a, c)))
    assert ab > 0
    assert ab == pytest.approx(ba, rel=1e-12)
    assert wasserstein(a, a, levels, p).item() == 0
    assert ac <= (ab + bc) * (1 + 1e-9)


@given(embeddings, orders, st.floats(-1e3, 1e3))
@fast
def test_a_shift_by_c_costs_c_a_filter(x, p, c):
    d = wasserstein(x[0], x[0] + c, some_levels(8, torch.double), p).item()
    assert d == pytest.approx(K * abs(c), rel=1e-9, abs=1e-11)


@given(embeddings, orders, st.floats(1e-6, 1e6))
@fast
def test_scaling_both_scales_the_distance(x, p, s):
    levels = some_levels(8, torch.double)
    d = wasserstein(x[0], x[1], levels, p).item()
    assert wasserstein(s * x[0], s * x[1], levels, p).item() == pytest.approx(s * d, rel=1e-9)
    assert wasserstein(x[0] + s, x[1] + s, levels, p).item() == pytest.approx(d, rel=1e-6)


@given(embeddings, orders, orders)
@fast
def test_the_distance_grows_with_p(x, p, q):
    low, high = sorted((p, q))
    levels = some_levels(8, torch.double)
    assert wasserstein(x[0], x[1], levels, low) <= wasserstein(x[0], x[1], levels, high) * (1 + 1e-9)


def test_a_large_p_tends_to_the_largest_difference():
    a, b = pair("random")
    largest = (a - b).abs().amax(-1).sum()
    assert wasserstein(a, b, some_levels(), 500.0).item() == pytest.approx(largest.item(), rel=0.02)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 2.0, 3.5]))
@settings(max_examples=25, deadline=None)
def test_more_points_converge_to_the_empirical_distance(seed, p):
    """M → ∞ on nested even levels ends at the distance of the functions Q̃ themselves.

    On a segment Q̄ and Q̃ rise between the same two values, so W_p(Q̄, Q̃) is at most range · width^(1/p): a bound that
    falls with every M, by the triangle inequality also on the error of the distance.
    """
    torch.manual_seed(seed)
    x = torch.randn(2, 1, 256, dtype=torch.double)
    x[1] = x[1] * 1.5 + 0.4
    _, every = through_all_knots(x[0, 0])
    exact = wasserstein(*empirical_quantiles(x, None, every), every, p).item()
    ranges = (x.amax(-1) - x.amin(-1)).sum().item()
    for points in (3, 7, 15, 31, 63, 127, 255):
        layer = QuantileLayer(points).double()
        error = abs(wasserstein(*layer(x), layer.levels, p).item() - exact)
        assert error <= ranges * (1 / (points + 1)) ** (1 / p)
    assert error < 1e-12


def test_the_empirical_distance_is_the_one_between_samples():
    """… and for long sequences Q̃'s distance is SciPy's between the samples themselves."""
    torch.manual_seed(0)
    x, y = torch.randn(5000, dtype=torch.double), torch.randn(5000, dtype=torch.double) + 0.7
    (a, levels), (b, _) = through_all_knots(x), through_all_knots(y)
    assert wasserstein(a, b, levels).item() == pytest.approx(wasserstein_distance(x, y), rel=1e-3)
    assert quantile(x.tolist(), 0.5) == pytest.approx(np.median(x), abs=2e-3)


# Cosine and Euclidean

def test_cosine_and_euclidean_agree_with_scipy():
    torch.manual_seed(0)
    a, b = torch.randn(5, K, L), torch.randn(8, K, L)
    flat = a.flatten(1).double(), b.flatten(1).double()
    np.testing.assert_allclose(pairwise_cosine(a, b), cdist(*flat, "cosine") - 1, atol=1e-6)
    np.testing.assert_allclose(pairwise_euclidean(a, b), cdist(*flat), rtol=1e-6)
    assert pairwise_euclidean(a, a).diagonal().abs().max() == 0


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_cosine_does_not_depend_on_scale(scale):
    torch.manual_seed(0)
    a, b = torch.randn(5, 40), torch.randn(8, 40)
    torch.testing.assert_close(pairwise_cosine(a * scale, b), pairwise_cosine(a, b))
    (g,) = torch.autograd.grad(pairwise_cosine(a.requires_grad_(), b).sum(), a)
    assert torch.isfinite(g).all()


def test_cosine_of_a_zero_vector_is_zero_with_finite_gradient():
    a = torch.zeros(1, 4, requires_grad=True)
    value = pairwise_cosine(a, torch.randn(3, 4))
    assert (value == 0).all()
    (g,) = torch.autograd.grad(value.sum(), a)
    assert torch.isfinite(g).all()


# Memory and bad input

def test_extra_memory_is_bounded():
    """NumPy's and Python's side; the whole process is measured by `make bench`."""
    tracemalloc.start()
    try:
        a = torch.randn(300, 4, L)
        pairwise_wasserstein(a, a, some_levels(), 2.5)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


A, RISING = torch.randn(2, K, 4), torch.tensor([0.0, 0.3, 0.6, 1.0])


def holding(value):
    x = A.clone()
    x[1, 2, 3] = value
    return x


@pytest.mark.parametrize("distance", [wasserstein, pairwise_wasserstein])
@pytest.mark.parametrize(("arguments", "name"), [
    ((A, A, RISING, 0.5), "p"),
    ((A, A, RISING, -1), "p"),
    ((A, A, RISING, math.nan), "p"),
    ((A, A, RISING, math.inf), "p"),
    ((A, A, RISING, "1"), "p"),
    ((A, A, RISING, None), "p"),
    ((holding(math.nan), A, RISING), "a"),
    ((A, holding(math.inf), RISING), "b"),
    ((A.long(), A, RISING), "a"),
    ((A, A.double(), RISING), "a and b"),
    ((A, A, RISING[:3]), "levels"),
    ((A, A[..., :3], RISING), "levels"),
    ((A, A, RISING.flip(0)), "levels"),
    ((A, A, torch.tensor([0.0, 0.3, 0.3, 1.0])), "levels"),
    ((A, A, torch.tensor([0.0, 0.3, math.nan, 1.0])), "levels"),
    ((A, A, RISING * 2), "levels"),
    ((A[..., :1], A[..., :1], RISING[:1]), "levels"),
    ((A, A[:, :2], RISING), "a and b"),
    ((A[0, 0], A, RISING), "a"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(distance, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        distance(*arguments)


@pytest.mark.parametrize("distance", [pairwise_cosine, pairwise_euclidean])
def test_bad_vectors_are_named(distance):
    cases = [(holding(math.nan), A, "a"), (A, A[:, :2], "a and b"), (A[0, 0], A, "a"), (A, A.double(), "a and b")]
    for a, b, name in cases:
        with pytest.raises(ValueError, match=f"^{name} must "):
            distance(a, b)


def test_levels_that_span_different_ranges_are_refused():
    with pytest.raises(ValueError, match="same range"):
        wasserstein(A, A, RISING, levels_b=torch.tensor([0.1, 0.2, 0.5, 1.0]))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e-3, 1.0, 1e3, 1e12, 1e30])
@pytest.mark.parametrize("p", [1.0001, 1.5, 2.5, 7.3, 40.0])
def test_real_p_in_float32_is_exact_at_every_scale(p, scale):
    """Also where three knots tell nothing of the size of a difference, where ends are alike, and where they cross."""
    random = torch.Generator().manual_seed(0)
    a, b = (torch.randn(n, 3, 18, generator=random).sort(-1).values for n in (7, 40))
    a[3], a[4], b[5] = a[2] + 1, a[2] + torch.linspace(-1e-3, 1e-3, 18), a[1]      # b[5]: no difference at all
    b[6] = a[1]
    b[6, :, 3], b[6, :, 12] = a[1, :, 3] - 3, a[1, :, 12] + 1e-4                     # nothing at the three knots
    levels = torch.linspace(0, 1, 18) ** 1.3
    a, b = a * scale, b * scale
    found = pairwise_wasserstein(a, b, levels, p, per_filter=True).double()
    exact = pairwise_wasserstein(a.double(), b.double(), levels.double(), p, per_filter=True)
    torch.testing.assert_close(found, exact, rtol=2e-6, atol=0)
    torch.testing.assert_close(pairwise_wasserstein(a, b, levels, p).double(), exact.sum(-1), rtol=1e-6, atol=0)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5])
def test_values_too_large_for_their_precision_are_refused(p):
    a, levels = torch.tensor([[[-3e38, 0.0, 3e38]]] * 2), torch.tensor([0.0, 0.5, 1.0])
    for compute in (lambda: pairwise_wasserstein(a, -a, levels, p), lambda: wasserstein(a, -a, levels, p),
                    lambda: pairwise_euclidean(a, -a)):
        with pytest.raises(ValueError, match="too large for their precision"):
            compute()
    found = pairwise_wasserstein(a.double(), -a.double(), levels.double(), p)
    assert torch.isfinite(found).all()


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, 9.0])
@pytest.mark.parametrize("large", [3e38, 1e30])
def test_finite_values_near_the_end_of_float32_are_computed_or_refused(p, large):
    """±3e38 are finite and their difference is not: never a silent infinity or NaN."""
    levels = torch.tensor([0.0, 0.5, 1.0])
    a = torch.tensor([[[-large, 0, large], [1.0, 2, 3]], [[large, large, large], [0.0, 0, 0]]])
    for compare in (lambda: wasserstein(a, -a, levels, p), lambda: pairwise_wasserstein(a, -a, levels, p),
                    lambda: pairwise_wasserstein(a, -a, levels, p, per_filter=True), lambda: pairwise_cosine(a, -a),
                    lambda: pairwise_euclidean(a, -a)):
        try:
            found = compare()
        except ValueError as error:
            said = str(error)
        else:
            assert torch.isfinite(found).all()
            continue
        assert "too large for their precision" in said
