import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.transport import kernels as kernels_module
from qpwl_core.transport.quantiles import QuantileLayer, density, empirical_quantiles, interpolate_quantiles
from tests.support.oracles import quantile


@pytest.fixture(params=["compiled", "plain"])
def way(request, monkeypatch):
    """Both ways to the order statistics: compiled look-up, and PyTorch's stable sort."""
    if request.param == "plain":
        monkeypatch.setattr(kernels_module, "_loaded", [None])
    return request.param


def padded(sequences, filters, dtype=torch.float32, fill=math.nan):
    longest = max(sequences)
    x = torch.full((len(sequences), filters, longest), fill, dtype=dtype)
    for i, n in enumerate(sequences):
        x[i, :, :n] = torch.randn(filters, n, dtype=dtype)
    return x, torch.tensor(sequences)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grad", [False, True])
def test_agrees_with_the_definition_sample_by_sample(dtype, grad, way):
    torch.manual_seed(0)
    x, lengths = padded([1, 2, 3, 7, 50], 3, dtype)
    levels = torch.tensor([0.0, 0.1, 1 / 3, 0.5, 0.77, 0.999, 1.0], dtype=dtype)
    got = empirical_quantiles(x.requires_grad_(grad), lengths, levels).detach()
    want = [[[quantile(x[b, k, :n].tolist(), float(r)) for r in levels] for k in range(3)]
            for b, n in enumerate(lengths.tolist())]
    tolerance = 1e-6 if dtype == torch.float32 else 1e-14
    torch.testing.assert_close(got, torch.tensor(want, dtype=dtype), rtol=tolerance, atol=0)


def test_known_answers():
    levels = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    four = empirical_quantiles(torch.tensor([[[4.0, 1.0, 3.0, 2.0]]]), None, levels)
    assert four.flatten().tolist() == [1, 2, 3, 4, 4]  # flat on [(N−1)/N, 1]
    one = empirical_quantiles(torch.tensor([[[5.0]]]), torch.tensor([1]), levels)
    assert one.flatten().tolist() == [5] * 5


def test_matches_no_numpy_method():
    """Should NumPy ever gain it, we would rather call NumPy."""
    x = np.array([0.3, 1.0, 2.5, 7.0, 9.0])
    ours = empirical_quantiles(torch.tensor(x)[None, None], None, torch.tensor([0.1, 0.5, 0.93], dtype=torch.double))
    for method in ("linear", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf"):
        assert not np.allclose(ours.flatten(), np.quantile(x, [0.1, 0.5, 0.93], method=method))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_sequence_embeds_the_same_alone_and_padded(lengths, seed):
    torch.manual_seed(seed)
    x, n = padded(lengths, 4)
    layer = QuantileLayer(points=7)
    together = layer(x, n)
    for i, length in enumerate(lengths):
        alone = layer(x[i:i + 1, :, :length])
        torch.testing.assert_close(together[i:i + 1], alone, rtol=0, atol=0)


@pytest.mark.parametrize("fill", [math.nan, math.inf, -math.inf, 1e30, -1e30])
def test_padding_does_not_leak_into_values_or_gradients(fill, way):
    torch.manual_seed(1)
    x, lengths = padded(list(range(1, 33)), 3, fill=fill)
    x.requires_grad_()
    values = QuantileLayer(points=5)(x, lengths)
    (gradient,) = torch.autograd.grad(values.square().sum(), x)
    for i, n in enumerate(lengths.tolist()):
        alone = x[i:i + 1, :, :n].detach().requires_grad_()
        (want,) = torch.autograd.grad(QuantileLayer(points=5)(alone).square().sum(), alone)
        torch.testing.assert_close(gradient[i:i + 1, :, :n], want, rtol=1e-6, atol=1e-6)
        assert (gradient[i, :, n:] == 0).all()


def test_gradients_to_samples_and_levels():
    torch.manual_seed(2)
    x = torch.randn(2, 3, 9, dtype=torch.double, requires_grad=True)
    levels = torch.tensor([0.03, 0.31, 0.62, 0.97], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, r: empirical_quantiles(x, torch.tensor([9, 5]), r), (x, levels))


def test_float32_gradients_equal_float64_ones(way):
    torch.manual_seed(3)
    x = torch.randn(4, 5, 400)
    layer, weight = QuantileLayer(points=16), torch.randn(4, 5, 18)
    results = []
    for dtype in (torch.float32, torch.float64):
        samples = x.clone().to(dtype).requires_grad_()
        layer.zero_grad()
        (layer.to(dtype)(samples, torch.tensor([400, 1, 77, 256])) * weight).sum().backward()
        results.append((samples.grad.double(), layer.gaps.grad.double()))
    for single, double in zip(*results, strict=True):
        torch.testing.assert_close(single, double, rtol=1e-4, atol=1e-4)


def test_ties_take_the_samples_in_order_of_appearance(way):
    x = torch.tensor([[[2.0, 1.0, 1.0, 2.0, 1.0, 0.0]]], requires_grad=True)
    ranks = torch.arange(6) / 6
    for rank, place in enumerate([5, 1, 2, 4, 0, 3]):
        (g,) = torch.autograd.grad(empirical_quantiles(x, None, ranks)[0, 0, rank], x)
        assert g[0, 0, place] > 0.99, f"rank {rank}"
        torch.testing.assert_close(g.sum(), torch.tensor(1.0))


def test_many_ties_agree_with_the_stable_sort(monkeypatch):
    """Zeros of a ReLU: half of all samples equal. Both ways give each sample the same gradient."""
    torch.manual_seed(4)
    x = torch.randn(3, 8, 700).relu().requires_grad_()
    layer, weight, gradients = QuantileLayer(16), torch.randn(3, 8, 18), []
    for plain in (False, True):
        if plain:
            monkeypatch.setattr(kernels_module, "_loaded", [None])
        gradients.append(torch.autograd.grad((layer(x, torch.tensor([700, 333, 64])) * weight).sum(), x)[0])
    assert torch.equal(*gradients)


@pytest.mark.parametrize("near", [False, True], ids=["spread out", "near ties"])
@pytest.mark.parametrize("length", [1, 2, 15, 17, 125, 256, 257, 1000, 1024, 1025])
def test_every_length_agrees_with_the_stable_sort(length, near, monkeypatch):
    """Up to 1024 samples, 16 rows are sorted side by side by samples rounded to 24 bits or fewer of their row's range:
    near ties beside one far sample are rounded to one number, in whatever order they stand."""
    torch.manual_seed(length)
    x, lengths = padded([length, (length + 1) // 2, length, 1, length], 7)
    if near:
        x = 1 + x.mul(3).round() * 2**-22
        x[:, :, length // 3] = 1e4
    layer, weight, found = QuantileLayer(16), torch.randn(5, 7, 18), []
    for plain in (False, True):
        if plain:
            monkeypatch.setattr(kernels_module, "_loaded", [None])
        values = layer(x.requires_grad_(), lengths)
        found.append([values.detach(), *torch.autograd.grad((values * weight).sum(), [x, layer.gaps])])
    (values, by_x, by_gaps), (want, want_by_x, want_by_gaps) = found
    torch.testing.assert_close(values, want, rtol=2e-7, atol=1e-7)
    assert torch.equal(by_x, want_by_x), "the gradient reaches the same samples"
    torch.testing.assert_close(by_gaps, want_by_gaps, rtol=1e-4, atol=1e-5)


def test_long_sequences_keep_their_digits():
    """The printed form N(x₂−x₁)r + n x₁ + (1−n)x₂ loses digits as N grows; the interpolating form does not."""
    n = 200_000
    x = torch.linspace(1000, 1001, n, dtype=torch.double)
    levels = torch.tensor([0.123456789, 0.5, 0.987654321], dtype=torch.double)
    single = empirical_quantiles(x.float()[None, None], None, levels.float()).double().flatten()
    torch.testing.assert_close(single, empirical_quantiles(x[None, None], None, levels).flatten(), rtol=2e-7, atol=0)


@given(st.integers(1, 64), st.integers(0, 2**32 - 1), st.floats(0.1, 50))
@settings(max_examples=50, deadline=None)
def test_levels_stay_ordered_with_a_smallest_gap_whatever_is_learned(points, seed, size):
    torch.manual_seed(seed)
    layer = QuantileLayer(points)
    with torch.no_grad():
        layer.gaps.copy_(torch.randn(points + 1) * size)
    levels = layer.levels.detach()
    assert (levels[0], levels[-1]) == (0, 1)
    assert levels.shape == (points + 2,)
    assert levels.diff().min() >= 0.05 / (points + 1) * 0.99
    assert torch.isfinite(layer.alphas).all()


@pytest.mark.parametrize("points", [1, 2, 16, 64])
def test_levels_start_even_and_can_be_fixed(points):
    layer = QuantileLayer(points, learn_levels=False)
    torch.testing.assert_close(layer.levels, torch.linspace(0, 1, points + 2))
    assert not layer.gaps.requires_grad
    assert not layer(torch.randn(1, 1, 9)).requires_grad


def test_the_levels_are_saved_with_the_module():
    layer, other = QuantileLayer(4), QuantileLayer(4)
    with torch.no_grad():
        layer.gaps.add_(torch.randn(5))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.levels, layer.levels)


def test_half_precision_is_computed_in_single():
    x = torch.randn(2, 3, 50).half()
    half = QuantileLayer(5)(x)
    assert half.dtype == torch.half
    torch.testing.assert_close(half.float(), QuantileLayer(5)(x.float()), atol=1e-3, rtol=1e-3)


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_interpolation_is_numpy_interp(count, seed):
    rng = np.random.default_rng(seed)
    levels = np.unique(np.concatenate([[0, 1], rng.uniform(0.01, 0.99, count)]))
    values, r = np.sort(rng.normal(size=(3, len(levels)))), rng.uniform(size=20)
    got = interpolate_quantiles(*map(torch.tensor, (values, levels, r)))
    np.testing.assert_allclose(got, [np.interp(r, levels, v) for v in values], rtol=1e-12, atol=1e-12)


def test_interpolation_passes_gradients():
    levels = torch.tensor([0.0, 0.4, 1.0], dtype=torch.double)
    inputs = (torch.randn(2, 3, dtype=torch.double, requires_grad=True),
              torch.tensor([0.1, 0.3, 0.9], dtype=torch.double, requires_grad=True))
    assert torch.autograd.gradcheck(lambda v, r: interpolate_quantiles(v, levels, r), inputs)


def test_density_integrates_to_one_and_inverts_the_quantile_function():
    torch.manual_seed(0)
    values = torch.randn(4, 18, dtype=torch.double).sort(-1).values
    levels = torch.linspace(0, 1, 18, dtype=torch.double)
    mass, height = density(values, levels)
    torch.testing.assert_close((height * values.diff(dim=-1)).sum(-1), torch.ones(4, dtype=torch.double))
    assert mass.sum() == pytest.approx(1)
    _, with_atom = density(torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0.0, 0.5, 1.0]))
    assert with_atom[1] == math.inf


X, N, R = torch.randn(2, 3, 8), torch.tensor([8, 4]), torch.tensor([0.0, 0.5, 1.0])


def spoiled(value):
    x = X.clone()
    x[0, 1, 2] = value
    return x


@pytest.mark.parametrize(("call", "argument"), [
    (lambda: empirical_quantiles(X[0], N, R), "x"),
    (lambda: empirical_quantiles(X.long(), N, R), "x"),
    (lambda: empirical_quantiles(X.tolist(), N, R), "x"),
    (lambda: empirical_quantiles(spoiled(math.nan), N, R), "x"),
    (lambda: empirical_quantiles(spoiled(math.inf), N, R), "x"),
    (lambda: empirical_quantiles(spoiled(-math.inf), N, R), "x"),
    (lambda: empirical_quantiles(spoiled(math.nan).requires_grad_(), N, R), "x"),
    (lambda: empirical_quantiles(spoiled(math.nan).double().requires_grad_(), N, R.double()), "x"),
    (lambda: empirical_quantiles(X[:, :, :0], N, R), "x"),
    (lambda: empirical_quantiles(X, torch.tensor([8, 0]), R), "lengths"),
    (lambda: empirical_quantiles(X, torch.tensor([9, 1]), R), "lengths"),
    (lambda: empirical_quantiles(X, torch.tensor([8]), R), "lengths"),
    (lambda: empirical_quantiles(X, torch.tensor([8.0, 4.0]), R), "lengths"),
    (lambda: empirical_quantiles(X, N, torch.tensor([0.0, 0.6, 0.5])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor([0.0, 0.5, 0.5])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor([-0.1, 0.5])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor([0.5, 1.1])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor([0.5, math.nan])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor([])), "levels"),
    (lambda: empirical_quantiles(X, N, torch.tensor(0.5)), "levels"),
    (lambda: QuantileLayer(0), "points"),
    (lambda: QuantileLayer(2.5), "points"),
    (lambda: QuantileLayer(4, smallest_gap=0), "smallest_gap"),
    (lambda: interpolate_quantiles(X, R, torch.tensor([0.5])), "levels"),
    (lambda: interpolate_quantiles(X[..., :3], R, torch.tensor([1.5])), "r"),
    (lambda: density(torch.tensor([1.0, 0.0, 2.0]), R), "values"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, argument):
    with pytest.raises(ValueError, match=f"^{argument} must "):
        call()


def test_bad_input_is_found_without_compiled_kernels(monkeypatch):
    monkeypatch.setattr(kernels_module, "_loaded", [None])
    with pytest.raises(ValueError, match="^x must be finite"):
        empirical_quantiles(spoiled(math.nan).requires_grad_(), N, R)


@pytest.mark.parametrize("filters", [3, 21])
@pytest.mark.parametrize("spread", ["outlier", "two clusters", "huge", "tiny", "constant", "signed zeros", "denormal"])
def test_any_spread_of_samples_is_sorted(spread, filters, way):
    """The kernel sorts by buckets of equal width, many short rows side by side by rounded samples; values that crowd
    into one bucket, or are rounded to one number, must not confuse it."""
    torch.manual_seed(0)
    x = torch.randn(1, filters, 512)
    if spread == "outlier":
        x[..., 7] = 1e30
    elif spread == "two clusters":
        x = torch.where(x > 0, x * 1e-6 + 1e6, x * 1e-6 - 1e6)
    elif spread == "huge":
        x = x / x.abs().max() * 3e38
    elif spread == "tiny":
        x = x * 1e-33
    elif spread == "constant":
        x = torch.full_like(x, 2.5)
    elif spread == "signed zeros":
        x = torch.where(x > 0.3, 0.0, -0.0)
    elif spread == "denormal":
        x = x * 1e-41
    levels = torch.arange(513) / 512  # exact, so that each level meets its sample
    values = empirical_quantiles(x.requires_grad_(), None, levels)[..., :-1].detach()
    torch.testing.assert_close(values, x.detach().sort().values, rtol=1e-6, atol=0)


def test_the_result_does_not_depend_on_the_number_of_threads():
    x, lengths = padded([900, 31, 777, 5, 900], 7)
    layer, before, results = QuantileLayer(9), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 5):
            torch.set_num_threads(threads)
            results.append(layer(x, lengths))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(result, results[0]) for result in results)
