"""For teaching: how well M + 2 knots stand for N samples. The error of Q̄, its bound, and whom gradients reach."""

import torch
from torch import Tensor

from qpwl_core.common.checks import check_float, check_whole
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.quantiles import empirical_quantiles, interpolate_quantiles


def even_levels(points: int) -> Tensor:
    """M = ``points`` levels evenly between 0 and 1, and both ends. (M+2,) float64

    >>> even_levels(3).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_whole("points", points)
    return torch.linspace(0, 1, points + 2, dtype=torch.float64)


def quantile_knots(x: Tensor) -> tuple[Tensor, Tensor]:
    """Q̃ of samples as a line through knots: x (N,) -> values (N+1,), levels (N+1,) in float64.

    >>> quantile_knots(torch.tensor([3.0, 1.0]))
    (tensor([1., 3., 3.], dtype=torch.float64), tensor([0.0000, 0.5000, 1.0000], dtype=torch.float64))
    """
    check_float("x", x, dims=1)
    levels = torch.arange(len(x) + 1, dtype=torch.float64) / max(len(x), 1)
    return quantiles_at(x, levels), levels


def quantiles_at(x: Tensor, levels: Tensor) -> Tensor:
    """Q̃ of one list of samples at some levels, in float64. (N,), (L,) -> (L,)"""
    return empirical_quantiles(x.double()[None, None], None, levels)[0, 0]


def approximation_error(x: Tensor, levels: Tensor) -> tuple[float, float]:
    """∫|Q̃ − Q̄| and max|Q̃ − Q̄| of samples x (N,) whose Q̄ has its knots at ``levels`` (M+2,), exactly.

    >>> approximation_error(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    (0.25, 0.5)
    """
    values, at = quantile_knots(x)
    kept, levels = quantiles_at(x, levels), levels.double()
    area = wasserstein(values[None], kept[None], at, levels_b=levels)      # on the union of both's knots
    return area.item(), (values - interpolate_quantiles(kept, levels, at)).abs().max().item()


def error_bound(values: Tensor, levels: Tensor) -> float:
    """What ∫|Q̃ − Q̄| cannot exceed, whatever lies between the knots: ½ Σ width · rise. (L,), (L,)

    A function that only rises stays inside the box between two knots, and the line is the diagonal of that box.
    With even levels this is (max − min) / (2(M+1)).

    >>> error_bound(torch.tensor([0.0, 1.0, 4.0]), torch.tensor([0.0, 0.5, 1.0]))
    1.0
    """
    return (levels.diff() * values.diff()).sum().item() / 2


def gradient_weights(x: Tensor, levels: Tensor) -> Tensor:
    """How much of a unit gradient on every knot reaches each sample, by autograd. (N,), (L,) -> (N,)

    Each knot hands its gradient to the two order statistics around its level; all others get none.

    >>> gradient_weights(torch.tensor([5.0, 1.0, 2.0, 9.0]), torch.tensor([0.0, 0.375, 1.0]))
    tensor([0.5000, 1.0000, 0.5000, 1.0000], dtype=torch.float64)
    """
    samples = x.detach().double().requires_grad_()
    (weights,) = torch.autograd.grad(quantiles_at(samples, levels.detach()).sum(), samples)
    return torch.where(weights < 1e-6, 0.0, weights)                 # a level that stands on a sample, up to rounding
