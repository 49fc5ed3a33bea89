"""From samples to quantile functions: Q̃, the quantile layer with its levels, and views of Q̄.

An embedding of one filter is the values of Q̃ at M + 2 levels 0 = r_0 < r_1 < … < r_{M+1} = 1. Q̄ is the
piecewise-linear function through them (Equation 2 of the paper; r_i = σ(α_i) there).
"""

import math

import torch
from torch import Tensor, nn

from qpwl_core.common.checks import check_finite, check_float, check_lengths, check_levels, check_whole
from qpwl_core.common.watch import has_values, sent
from qpwl_core.transport.kernels import call, kernels, usable


def empirical_quantiles(x: Tensor, lengths: Tensor | None, levels: Tensor) -> Tensor:
    """Q̃ of the paper, exactly: the n-th smallest of N samples stands at (n−1)/N, linear between, flat after (N−1)/N.

    x (B, K, T) holds B sequences of K filters, of which the first ``lengths`` (B,) samples count (all where it is
    None); levels (L,) lie in [0, 1]. Returns (B, K, L). Gradients reach x (through the samples on either side of a
    level, ties in order of appearance) and levels.

    >>> x = torch.tensor([[[3.0, 1.0, 2.0, 99.0]]])  # three samples and padding
    >>> empirical_quantiles(x, torch.tensor([3]), torch.tensor([0.0, 1 / 6, 1 / 3, 1.0]))
    tensor([[[1.0000, 1.5000, 2.0000, 3.0000]]])
    """
    check_levels("levels", levels)
    return _quantiles(x, _checked(x, lengths), levels)


def _checked(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Check samples and lengths; whether all samples are finite shows when they are sorted."""
    check_float("x", x, dims=3)
    if x.shape[2] == 0:
        raise ValueError("x must hold at least one sample per sequence, got T = 0")
    if lengths is None:
        return torch.full((x.shape[0],), x.shape[2])
    return check_lengths(lengths, x.shape[0], x.shape[2])


def _quantiles(x: Tensor, lengths: Tensor, levels: Tensor) -> Tensor:
    working = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    lengths = sent(lengths, x.device)
    position = _precise(sent(levels, x.device)) * lengths[:, None]  # (B, L): r·N, in float64 so that it stays exact
    x, given = x.to(working), x.dtype
    compiled = x.shape[2] < 2**30 and usable(x)                     # buckets are numbered in 32 bits
    return (_CompiledInterpolation if compiled else _Interpolation).apply(x, position, lengths).to(given)


def _precise(x: Tensor) -> Tensor:
    """In float64, which Apple's GPUs alone do not have."""
    return x.float() if x.device.type == "mps" else x.double()


class _Interpolation(torch.autograd.Function):
    """Between the samples on either side of each position. x (B, K, T), position (B, L), lengths (B,) -> (B, K, L)"""

    @staticmethod
    def forward(ctx, x: Tensor, position: Tensor, lengths: Tensor) -> Tensor:
        last = lengths[:, None] - 1
        below = torch.minimum(position.long(), last).clamp_(min=0)             # rank of the sample at or below
        above = torch.minimum(below + 1, last)                                 # both ranks end at N − 1
        padding = torch.arange(x.shape[2], device=x.device) >= lengths[:, None, None]
        check_finite("x", x.masked_fill(padding, 0))
        values, order = x.masked_fill(padding, math.inf).sort(stable=True)
        ranks = torch.cat([below, above], 1)[:, None].expand(-1, x.shape[1], -1)        # (B, K, 2L)
        low, high = values.gather(2, ranks).chunk(2, -1)
        fraction = (position - below)[:, None].to(x.dtype)                     # (B, 1, L)
        ctx.shape, ctx.precise = x.shape, position.dtype
        ctx.save_for_backward(order.gather(2, ranks), fraction, high - low)
        return torch.lerp(low, high, fraction)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        places, fraction, rise = ctx.saved_tensors
        by_high = outer * fraction
        by_x = torch.zeros(ctx.shape, dtype=outer.dtype, device=outer.device)
        by_x.scatter_add_(2, places, torch.cat([outer - by_high, by_high], -1))
        by_position = (outer * rise).sum(1).to(ctx.precise) if ctx.needs_input_grad[1] else None
        return by_x, by_position, None


class _CompiledInterpolation(torch.autograd.Function):
    """The same by the compiled kernel, which looks for the samples next to a level and sorts no others.

    Sorting all would cost as much as several convolutions; this costs a few hundredths of a training step.
    """

    @staticmethod
    def forward(ctx, x: Tensor, position: Tensor, lengths: Tensor) -> Tensor:
        (b, k, t), x, position = x.shape, x.contiguous(), position.contiguous()
        out, rise = (x.new_empty(b, k, position.shape[1]) for _ in range(2))
        places = torch.empty(b, k, 2 * position.shape[1], dtype=torch.int32)
        bad = call(kernels().qpwl_quantiles, (x, lengths, position, out, rise, places), torch.get_num_threads(),
                   b, k, t, position.shape[1])
        if bad:
            raise ValueError(f"x must be finite, got NaN or infinite samples in {bad} of {b * k} filters of sequences")
        ctx.shape = x.shape
        ctx.save_for_backward(lengths, position, rise, places)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        lengths, position, rise, places = ctx.saved_tensors
        by_x, by_position = outer.new_empty(ctx.shape), torch.empty_like(position)
        tensors = outer.contiguous(), lengths, position, rise, places, by_x, by_position
        call(kernels().qpwl_quantiles_backward, tensors, torch.get_num_threads(), *ctx.shape,
             position.shape[1])
        return by_x, by_position, None


class QuantileLayer(nn.Module):
    """Aggregates a sequence to its quantile functions: (B, K, T), (B,) -> (B, K, M+2).

    The M inner levels start evenly spaced and, with ``learn_levels``, are learned. They stay ordered by construction:
    the M + 1 gaps between levels are a softmax, each at least ``smallest_gap`` of an even gap.

    >>> QuantileLayer(points=3).levels.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, points: int = 16, learn_levels: bool = True, smallest_gap: float = 0.05):
        super().__init__()
        check_whole("points", points)
        if not 0 < smallest_gap < 1:
            raise ValueError(f"smallest_gap must lie between 0 and 1, got {smallest_gap}")
        self.points, self.smallest_gap = points, smallest_gap
        self.gaps = nn.Parameter(torch.zeros(points + 1), requires_grad=learn_levels)  # before the softmax

    @property
    def levels(self) -> Tensor:
        """The M + 2 levels r, 0 = first < … < last = 1. (M+2,)"""
        floor = self.smallest_gap / (self.points + 1)
        widths = floor + (1 - self.smallest_gap) * _precise(self.gaps).softmax(0)  # so that even is even
        inner = widths[:-1].cumsum(0)
        return torch.cat([inner.new_zeros(1), inner, inner.new_ones(1)]).to(self.gaps.dtype)

    @property
    def alphas(self) -> Tensor:
        """The paper's α_1 … α_M, for which σ(α_i) is a level. (M,)"""
        return self.levels[1:-1].logit()

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        return _quantiles(x, _checked(x, lengths), self.levels)

    def extra_repr(self) -> str:
        return f"points={self.points}, learn_levels={self.gaps.requires_grad}"


def interpolate_quantiles(values: Tensor, levels: Tensor, r: Tensor) -> Tensor:
    """Q̄ at any r: the piecewise-linear function through ``values`` at ``levels``. (..., L), (L,), (S,) -> (..., S)

    >>> interpolate_quantiles(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0.25, 0.75]))
    tensor([0.5000, 3.0000])
    """
    check_float("values", values)
    check_finite("values", values)
    check_levels("levels", levels, count=values.shape[-1])
    check_float("r", r, dims=1)
    if len(r) and has_values(r):
        low, high = levels[0].item(), levels[-1].item()
        if not (low <= r.min() and r.max() <= high):
            raise ValueError(f"r must lie between the first and the last level, {low:g} and {high:g}, "
                             f"got {r.min().item():g} to {r.max().item():g}")
    if len(levels) == 1:
        return values.expand(*values.shape[:-1], len(r))
    right = torch.searchsorted(levels.detach().contiguous(), r.detach().contiguous()).clamp(1, len(levels) - 1)
    left = right - 1
    fraction = ((r - levels[left]) / (levels[right] - levels[left])).to(values.dtype)
    return torch.lerp(values[..., left], values[..., right], fraction)


def density(values: Tensor, levels: Tensor) -> tuple[Tensor, Tensor]:
    """The density of which Q̄ is the quantile function: a histogram whose bins are the knots' values.

    Between knots i and i+1 lies mass r_{i+1} − r_i, spread evenly over [Q̄(r_i), Q̄(r_{i+1})]. Returns the masses
    (L−1,) and the heights (..., L−1); where Q̄ is flat the mass is an atom, and the height infinite.

    >>> density(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.0, 0.5, 1.0]))
    (tensor([0.5000, 0.5000]), tensor([0.5000, 0.1250]))
    """
    check_float("values", values)
    check_finite("values", values)
    check_levels("levels", levels, count=values.shape[-1])
    rise = values.diff(dim=-1)
    if has_values(rise) and bool((rise < 0).any()):
        raise ValueError("values must not decrease along the levels, as quantiles never do")
    mass = levels.diff().to(values.dtype)
    return mass, mass / rise
