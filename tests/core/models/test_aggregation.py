import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.models.aggregation import (
    AGGREGATIONS,
    AttentiveStatistics,
    MaxPooling,
    MeanPooling,
    MeanStdPooling,
    SlicedWassersteinPooling,
)
from tests.support.oracles import quantile

K, M = 4, 5


def made(name):
    torch.manual_seed(1)
    module = AGGREGATIONS[name](K, M).double()
    if name == "sliced-wasserstein":
        torch.nn.init.normal_(module.references)                # not in order any more
    return module


@pytest.mark.parametrize("name", AGGREGATIONS)
@given(seed=st.integers(0, 2**31), lengths=st.lists(st.integers(1, 30), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None)
def test_padding_never_counts(name, seed, lengths):
    module, lengths = made(name), torch.tensor(lengths)
    torch.manual_seed(seed)
    y = torch.randn(len(lengths), K, int(lengths.max()) + 3, dtype=torch.double)
    padding = torch.arange(y.shape[2]) >= lengths[:, None, None]
    together = module(y.masked_fill(padding, 1e6), lengths)
    for i, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(module(y[i:i + 1, :, :n], lengths[i:i + 1])[0], together[i])


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_gradients_reach_real_frames_and_parameters_only(name):
    module, y = made(name), torch.randn(3, K, 9, dtype=torch.double, requires_grad=True)
    lengths = torch.tensor([9, 4, 1])
    module(y, lengths).square().sum().backward()
    padding = (torch.arange(9) >= lengths[:, None, None]).expand_as(y)
    assert not y.grad[padding].any()
    assert y.grad[~padding].any()
    assert all(p.grad is not None and p.grad.any() for p in module.parameters() if p.requires_grad)
    assert torch.autograd.gradcheck(lambda y: module(y, lengths), y)


@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("value", [0.0, 3.0, -1e4])
@pytest.mark.parametrize("frames", [1, 7])
def test_constant_sequences_have_finite_values_and_gradients(name, value, frames):
    module, y = made(name).float(), torch.full((2, K, frames), value, requires_grad=True)
    out = module(y, torch.tensor([frames, 1]))
    out.square().sum().backward()
    assert out.isfinite().all()
    assert y.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in module.parameters() if p.requires_grad)


def test_against_numpy():
    y, lengths = torch.randn(3, K, 11, dtype=torch.double), torch.tensor([11, 6, 2])
    for i, n in enumerate(lengths.tolist()):
        real = y[i, :, :n].numpy()
        np.testing.assert_array_equal(MaxPooling()(y, lengths)[i], real.max(1))
        np.testing.assert_allclose(MeanPooling()(y, lengths)[i], real.mean(1))
        np.testing.assert_allclose(MeanStdPooling()(y, lengths)[i], np.r_[real.mean(1), np.sqrt(real.var(1) + 1e-6)])
        module = made("attentive")
        w, b, v = (p.detach().squeeze(-1).numpy() for p in (*module.hidden.parameters(), module.score.weight))
        weights = np.exp(v[0] @ np.tanh(w @ real + b[:, None]))
        weights /= weights.sum()
        mean = real @ weights
        deviation = np.sqrt((real - mean[:, None]) ** 2 @ weights + 1e-6)
        np.testing.assert_allclose(module(y, lengths)[i].detach(), np.r_[mean, deviation])


def test_attention_that_sees_no_difference_is_mean_and_deviation():
    module = AttentiveStatistics(K)
    torch.nn.init.zeros_(module.score.weight)
    y, lengths = torch.randn(2, K, 8), torch.tensor([8, 3])
    torch.testing.assert_close(module(y, lengths), MeanStdPooling()(y, lengths))


def test_sliced_wasserstein_by_loops():
    module, y, lengths = made("sliced-wasserstein"), torch.randn(2, K, 12, dtype=torch.double), torch.tensor([12, 3])
    got = module(y, lengths).unflatten(1, (K, M))
    for i, n in enumerate(lengths.tolist()):
        for s in range(K):
            direction = module.directions[s] / module.directions[s].norm()
            samples = (direction @ y[i, :, :n]).tolist()
            for m, reference in enumerate(module.references[s].tolist()):
                rank = sum(other < reference for other in module.references[s].tolist())
                assert got[i, s, m].item() == pytest.approx(quantile(samples, rank / M) - reference, abs=1e-9)


def test_as_many_frames_as_references_are_matched_one_to_one():
    """Then the norm of a slice's embedding is W_2 to the references: SciPy finds the same matching."""
    from scipy.optimize import linear_sum_assignment

    module, y = made("sliced-wasserstein"), torch.randn(1, K, M, dtype=torch.double)
    got = module(y, torch.tensor([M])).unflatten(1, (K, M))[0].detach()
    for s in range(K):
        samples = (module.directions[s] / module.directions[s].norm()).detach() @ y[0]
        cost = (module.references[s].detach()[:, None] - samples[None]).square().numpy()
        rows, columns = linear_sum_assignment(cost)
        assert got[s].square().sum().item() == pytest.approx(cost[rows, columns].sum())


def test_order_of_frames_does_not_matter():
    y, lengths = torch.randn(2, K, 20, dtype=torch.double), torch.tensor([20, 20])
    for name in AGGREGATIONS:
        module, shuffled = made(name), y[:, :, torch.randperm(20)]
        if name in ("quantile-pyramid", "frames"):                       # which are there to keep it
            assert not torch.allclose(module(shuffled, lengths), module(y, lengths))
        else:
            torch.testing.assert_close(module(shuffled, lengths), module(y, lengths))


@pytest.mark.parametrize(("call", "name"), [
    (lambda: MaxPooling()(torch.randn(2, 3), torch.tensor([3, 3])), "y"),
    (lambda: MeanPooling()(torch.randn(2, 3, 0), torch.tensor([0, 0])), "y"),
    (lambda: MeanStdPooling()(torch.randn(2, 3, 4), torch.tensor([4, 5])), "lengths"),
    (lambda: AttentiveStatistics(3)(torch.randn(2, 3, 4), torch.tensor([0, 4])), "lengths"),
    (lambda: AttentiveStatistics(3, hidden=0), "hidden"),
    (lambda: SlicedWassersteinPooling(3, points=0), "points"),
    (lambda: SlicedWassersteinPooling(3)(torch.full((1, 3, 4), math.nan), torch.tensor([4])), "x"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
