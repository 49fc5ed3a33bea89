"""For teaching: what Wasserstein is compared with, and what it means. Jensen–Shannon, and the transport plan."""

import math

import torch
from torch import Tensor

from qpwl_core.common.checks import check_finite, check_float, check_levels, check_order, check_pair


def jensen_shannon(a: Tensor, b: Tensor, levels: Tensor, per_filter: bool = False) -> Tensor:
    """Jensen–Shannon divergence of the distributions behind two quantile functions, in nats, summed over filters.

    (..., K, L), (..., K, L), (L,) -> (...), or (..., K) per filter, each between 0 and log 2. Exact: the densities
    are constant between knots, and flat stretches of a quantile function are atoms of probability.

    >>> a, levels = torch.tensor([[0.0, 1.0]]), torch.tensor([0.0, 1.0])
    >>> jensen_shannon(a, a + 5, levels), jensen_shannon(a, a + 9, levels)  # log 2, however far
    (tensor(0.6931), tensor(0.6931))
    """
    for name, x in (("a", a), ("b", b)):
        check_float(name, x)
        if x.ndim < 2:
            raise ValueError(f"{name} must have at least 2 dimensions, got shape {tuple(x.shape)}")
        check_finite(name, x)
        check_levels("levels", levels, count=x.shape[-1])
    check_pair(a, b)
    if len(levels) < 2 or (levels[0], levels[-1]) != (0, 1):
        raise ValueError(f"levels must run from 0 to 1, got {levels[0]:g} to {levels[-1]:g}")
    device, dtype = a.device, a.dtype
    a, b = torch.broadcast_tensors(a.cpu(), b.cpu())  # small, and not every GPU has float64
    levels = levels.to("cpu", torch.float64)
    edges = torch.cat([a, b], -1).double().sort(-1).values                   # (..., 2L)
    total = torch.zeros((), dtype=torch.float64)
    parts = [_masses(x.double(), levels, edges) for x in (a, b)]
    for mine, other in (parts, parts[::-1]):
        for mass, facing in zip(mine, other, strict=True):
            ratio = torch.where(mass > 0, 2 * mass / (mass + facing).clamp(min=torch.finfo(torch.float64).tiny), 1.0)
            total = total + (mass * ratio.log()).sum(-1) / 2
    total = total.clamp(0, math.log(2)).to(device, dtype)
    return total if per_filter else total.sum(-1)


def _masses(values: Tensor, levels: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """Probability between consecutive edges (..., E−1), and on the edges (..., E) where it is an atom."""
    upto, before = _distribution(values, levels, edges, right=True), _distribution(values, levels, edges, right=False)
    again = torch.zeros_like(edges, dtype=torch.bool)
    again[..., 1:] = edges[..., 1:] == edges[..., :-1]                        # an edge that stands twice counts once
    between = (before[..., 1:] - upto[..., :-1]).clamp(min=0).masked_fill(again[..., 1:], 0)
    return between, (upto - before).clamp(min=0).masked_fill(again, 0)


def _distribution(values: Tensor, levels: Tensor, x: Tensor, right: bool) -> Tensor:
    """F(x) of the distribution with quantile function (values at levels), or its limit from the left."""
    values, x = values.contiguous(), x.contiguous()
    place = torch.searchsorted(values.detach(), x.detach(), right=right)     # knots <= x, or < x
    low, high = (place - 1).clamp(min=0), place.clamp(max=values.shape[-1] - 1)
    left, rise = values.gather(-1, low), values.gather(-1, high) - values.gather(-1, low)
    inside = (x - left) / torch.where(rise == 0, 1.0, rise)
    inside = torch.where(rise == 0, 0.0, inside.clamp(0, 1))
    level = levels[low] + inside * (levels[high] - levels[low])
    return torch.where(place == 0, 0.0, torch.where(place == values.shape[-1], 1.0, level))


def transport_plan(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The optimal transport plan between two samples on a line: i, j, mass, meaning "mass goes from x[i] to y[j]".

    x (N,) and y (M,) weigh 1/N and 1/M per sample. On a line the plan that never crosses is optimal for every
    p ≥ 1 at once: walk both samples in order and hand over what fits. At most N + M − 1 rows; masses add up to 1.

    >>> transport_plan(torch.tensor([2.0, 0.0]), torch.tensor([5.0, 9.0]))
    (tensor([1, 0]), tensor([0, 1]), tensor([0.5000, 0.5000], dtype=torch.float64))
    """
    for name, samples in (("x", x), ("y", y)):
        check_float(name, samples, dims=1)
        check_finite(name, samples)
        if len(samples) == 0:
            raise ValueError(f"{name} must hold at least one sample, got none")
    n, m = len(x), len(y)
    # In whole units of 1/(n·m): sample i of x owns [i·m, (i+1)·m), sample j of y owns [j·n, (j+1)·n).
    cuts = torch.cat([torch.arange(n + 1) * m, torch.arange(m + 1) * n]).unique()
    start = cuts[:-1]
    i, j = x.argsort(stable=True).cpu()[start // m], y.argsort(stable=True).cpu()[start // n]
    return i, j, cuts.diff().double() / (n * m)


def transport_cost(x: Tensor, y: Tensor, plan: tuple[Tensor, Tensor, Tensor], p: float = 1.0) -> float:
    """What a plan costs: (Σ mass · |x_i − y_j|^p)^(1/p). Of the optimal plan it is W_p between the two samples.

    >>> x, y = torch.tensor([2.0, 0.0]), torch.tensor([5.0, 9.0])
    >>> transport_cost(x, y, transport_plan(x, y))
    6.0
    """
    p = check_order(p)
    i, j, mass = plan
    distance = (x.double()[i] - y.double()[j]).abs()
    largest = distance.max().item() or 1.0                                # so that powers neither overflow nor vanish
    return largest * (mass * (distance / largest) ** p).sum().item() ** (1 / p)
