import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.models.losses import multi_similarity_loss, n_pair_loss, wasserstein_loss


def by_loops(d, multi_class):
    """Equation 8 with the paper's sampling: anchors s_i, positives s_i⁺, negatives (s_i, s_j⁺)."""
    total, n = 0.0, len(d)
    for i in range(n):
        terms = [math.exp(d[i][i] - d[i][j]) for j in range(n) if j != i]
        total += math.log1p(sum(terms)) if multi_class else sum(map(math.log1p, terms))
    return total


@given(st.integers(2, 9), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_wasserstein_loss_is_the_papers_sum(n, seed, multi_class):
    d = torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.double) * 5
    assert wasserstein_loss(d, multi_class).item() == pytest.approx(by_loops(d.tolist(), multi_class), rel=1e-10)


@given(st.integers(2, 9), st.floats(0.05, 3))
@settings(max_examples=40, deadline=None)
def test_n_pair_loss_is_sohns_mean(n, temperature):
    s = torch.rand(n, n, generator=torch.Generator().manual_seed(n), dtype=torch.double) * 2 - 1
    want = by_loops((-s / temperature).tolist(), True) / n
    assert n_pair_loss(s, temperature).item() == pytest.approx(want, rel=1e-9)


@given(st.integers(2, 9), st.floats(0.5, 10), st.floats(0.5, 60), st.floats(-0.5, 1))
@settings(max_examples=40, deadline=None)
def test_multi_similarity_loss_by_loops(n, alpha, beta, base):
    s = (torch.rand(n, n, generator=torch.Generator().manual_seed(n), dtype=torch.double) * 2 - 1).tolist()
    want = sum(math.log1p(math.exp(-alpha * (s[i][i] - base))) / alpha
               + math.log1p(sum(math.exp(beta * (s[i][j] - base)) for j in range(n) if j != i)) / beta
               for i in range(n)) / n
    assert multi_similarity_loss(torch.tensor(s, dtype=torch.double), alpha, beta, base).item() == pytest.approx(want)


def test_multi_similarity_loss_is_that_of_pytorch_metric_learning():
    """With anchors as queries and positives as references, every anchor has one positive and N − 1 negatives."""
    from pytorch_metric_learning.losses import MultiSimilarityLoss

    anchors, positives = torch.nn.functional.normalize(torch.randn(2, 8, 5, dtype=torch.double), dim=2)
    labels = torch.arange(8)  # cloned below: the same tensor twice would mean the same sequences twice, to that library
    for options in ({}, {"alpha": 5.0, "beta": 20.0, "base": 0.1}):
        want = MultiSimilarityLoss(**options)(anchors, labels, ref_emb=positives, ref_labels=labels.clone())
        torch.testing.assert_close(multi_similarity_loss(anchors @ positives.T, **options), want)


def test_known_answers():
    equal = torch.ones(4, 4)
    assert wasserstein_loss(equal).item() == pytest.approx(12 * math.log(2))
    assert wasserstein_loss(equal, multi_class=True).item() == pytest.approx(4 * math.log(4))
    assert n_pair_loss(equal).item() == pytest.approx(math.log(4))
    best = 2 * torch.eye(16) - 1  # cosines 1 and −1: the floor, which temperature lifts
    assert n_pair_loss(best).item() == pytest.approx(math.log1p(15 * math.exp(-2)), rel=1e-6)
    assert n_pair_loss(best, temperature=0.05).item() < 1e-6
    half = torch.full((4, 4), 0.5)  # all at the threshold
    assert multi_similarity_loss(half).item() == pytest.approx(math.log(2) / 2 + math.log(4) / 50)


def test_both_forms_are_one_for_two_pairs():
    d = torch.rand(2, 2) * 3
    torch.testing.assert_close(wasserstein_loss(d), wasserstein_loss(d, multi_class=True))


@pytest.mark.parametrize("loss", [wasserstein_loss, lambda d: wasserstein_loss(d, True), n_pair_loss,
                                  multi_similarity_loss])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e4, 1e30])
def test_stable_at_any_scale(loss, scale):
    d = (torch.randn(6, 6) * scale).requires_grad_()
    value = loss(d)
    (g,) = torch.autograd.grad(value, d)
    assert torch.isfinite(value)
    assert torch.isfinite(g).all()


@pytest.mark.parametrize("loss", [wasserstein_loss, lambda d: wasserstein_loss(d, True), n_pair_loss,
                                  multi_similarity_loss])
def test_gradients(loss):
    assert torch.autograd.gradcheck(loss, torch.randn(5, 5, dtype=torch.double, requires_grad=True))


@pytest.mark.parametrize("multi_class", [False, True])
def test_a_harder_negative_costs_more(multi_class):
    d = torch.full((3, 3), 4.0).fill_diagonal_(1.0)
    harder = d.clone()
    harder[0, 2] = 2.0
    assert wasserstein_loss(harder, multi_class) > wasserstein_loss(d, multi_class)


@pytest.mark.parametrize(("call", "name"), [
    (lambda: wasserstein_loss(torch.rand(1, 1)), "distances"),
    (lambda: wasserstein_loss(torch.rand(2, 3)), "distances"),
    (lambda: wasserstein_loss(torch.rand(4)), "distances"),
    (lambda: wasserstein_loss(torch.full((2, 2), math.nan)), "distances"),
    (lambda: n_pair_loss(torch.full((2, 2), math.inf)), "similarities"),
    (lambda: n_pair_loss(torch.eye(2).long()), "similarities"),
    (lambda: n_pair_loss(torch.eye(2), temperature=0), "temperature"),
    (lambda: n_pair_loss(torch.eye(2), temperature=math.nan), "temperature"),
    (lambda: multi_similarity_loss(torch.rand(1, 1)), "similarities"),
    (lambda: multi_similarity_loss(torch.eye(2), alpha=0), "alpha"),
    (lambda: multi_similarity_loss(torch.eye(2), beta=math.inf), "beta"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
