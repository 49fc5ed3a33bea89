"""From samples to quantile functions: Q̃, the quantile layer with its levels, and views of Q̄.

An embedding of one filter is the values of Q̃ at M + 2 levels 0 = r_0 < r_1 < … < r_{M+1} = 1. Q̄ is the
piecewise-linear function through them (Equation 2 of the paper; r_i = σ(α_i) there).
"""

import ctypes
import math

import numpy as np
import torch
from torch import Tensor, nn

from .checks import check_finite, check_float, check_lengths, check_levels
from .kernels import in_threads, integers, kernels, pointer


def empirical_quantiles(x: Tensor, lengths: Tensor | None, levels: Tensor) -> Tensor:
    """Q̃ of the paper, exactly: the n-th smallest of N samples stands at (n−1)/N, linear between, flat after (N−1)/N.

    x (B, K, T) holds B sequences of K filters, of which the first ``lengths`` (B,) samples count (all where it is
    None); levels (L,) lie in [0, 1]. Returns (B, K, L). Gradients reach x (through the samples on either side of a
    level, ties in order of appearance) and levels.

    >>> x = torch.tensor([[[3.0, 1.0, 2.0, 99.0]]])  # three samples and padding
    >>> empirical_quantiles(x, torch.tensor([3]), torch.tensor([0.0, 1 / 6, 1 / 3, 1.0]))
    tensor([[[1.0000, 1.5000, 2.0000, 3.0000]]])
    """
    check_float("x", x, dims=3)
    check_levels("levels", levels)
    if x.shape[2] == 0:
        raise ValueError("x must hold at least one sample a sequence, got T = 0")
    if lengths is None:
        lengths = torch.full((x.shape[0],), x.shape[2])
    lengths = check_lengths(lengths, x.shape[0], x.shape[2])
    return _quantiles(x, lengths, levels)


def _quantiles(x: Tensor, lengths: Tensor, levels: Tensor) -> Tensor:
    working = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    levels, lengths = levels.to(x.device), lengths.to(x.device)
    count = lengths[:, None].double()                                        # (B, 1)
    position = levels.double() * count                                       # (B, L): in float64, r·N stays exact
    below = position.detach().floor().clamp(max=count - 1).long()            # rank of the sample at or below r
    above = (below + 1).clamp(max=lengths[:, None] - 1)                      # both ranks end at N − 1
    fraction = (position - below)[:, None].to(working)                       # (B, 1, L)
    samples = _OrderStatistics.apply(x.to(working), lengths, torch.cat([below, above], 1))   # (B, K, 2L)
    low, high = samples.chunk(2, -1)
    return torch.lerp(low, high, fraction).to(x.dtype)


class _OrderStatistics(torch.autograd.Function):
    """The samples of given ranks. x (B, K, T), lengths (B,), ranks (B, R) -> (B, K, R)"""

    @staticmethod
    def forward(ctx, x: Tensor, lengths: Tensor, ranks: Tensor) -> Tensor:
        ctx.shape = x.shape
        ranks = ranks[:, None].expand(-1, x.shape[1], -1)                    # (B, K, R)
        wanted = ctx.needs_input_grad[0]
        if x.device.type == "cpu" and (not wanted or (x.dtype == torch.float32 and kernels() is not None)):
            samples, places = _by_numpy(x, lengths, ranks, wanted)
        else:
            samples, places = _by_torch(x, lengths, ranks)
        ctx.save_for_backward(places)
        return samples

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        (places,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=outer.dtype, device=outer.device).scatter_add_(2, places, outer), None, None


def _by_torch(x: Tensor, lengths: Tensor, ranks: Tensor) -> tuple[Tensor, Tensor]:
    padding = torch.arange(x.shape[2], device=x.device) >= lengths[:, None, None]
    check_finite("x", x.masked_fill(padding, 0))
    values, order = x.masked_fill(padding, math.inf).sort(stable=True)
    return values.gather(2, ranks), order.gather(2, ranks)


def _by_numpy(x: Tensor, lengths: Tensor, ranks: Tensor, wanted: bool) -> tuple[Tensor, Tensor | None]:
    """NumPy sorts rows an order of magnitude faster than PyTorch; the few places needed are then looked up."""
    b, k, t = x.shape
    x = x.detach().contiguous()
    rows, ordered = x.view(b * k, t).numpy(), np.empty((b * k, t), x.numpy().dtype)
    ends = lengths.repeat_interleave(k)                                      # (B·K,)
    full = bool((lengths == t).all())

    def sort(first: int, last: int) -> None:
        if full:
            ordered[first:last] = rows[first:last]
            ordered[first:last].sort(axis=1)
            return
        for sequence in range(first // k, -(-last // k)):  # only the samples that count
            low, high, n = max(first, sequence * k), min(last, sequence * k + k), int(lengths[sequence])
            part = ordered[low:high, :n]
            part[:] = rows[low:high, :n]
            part.sort(axis=1)

    in_threads(sort, b * k, smallest=max(1, 8192 // t))
    # NumPy sorts NaN last and infinities outermost: the ends of the rows tell whether all is finite.
    index = np.arange(b * k)
    outermost = ordered[:, 0], ordered[index, ends.numpy() - 1]
    if not all(np.isfinite(end).all() for end in outermost):
        raise ValueError("x must be finite, got NaN or infinite samples")
    samples = torch.from_numpy(ordered).view(b, k, t).gather(2, ranks)
    if not wanted:
        return samples, None
    ranks = ranks.reshape(b * k, -1).contiguous()
    places = torch.empty_like(ranks)

    def locate(first: int, last: int) -> None:
        kernels().qpwl_locate(pointer(x), ctypes.c_void_p(ordered.ctypes.data), *map(pointer, (ends, ranks, places)),
                              *integers(t, ranks.shape[1], first, last))

    in_threads(locate, b * k, smallest=max(1, 8192 // t))
    return samples, places.view(b, k, -1)


class QuantileLayer(nn.Module):
    """Aggregates a sequence to its quantile functions: (B, K, T), (B,) -> (B, K, M+2).

    The M inner levels start evenly spaced and, with ``learn_levels``, are learned. They stay ordered by construction:
    the M + 1 gaps between levels are a softmax, each at least ``smallest_gap`` of an even gap.

    >>> QuantileLayer(points=3).levels.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, points: int = 16, learn_levels: bool = True, smallest_gap: float = 0.05):
        super().__init__()
        if isinstance(points, bool) or not isinstance(points, int) or points < 1:
            raise ValueError(f"points must be a whole number of at least 1, got {points!r}")
        if not 0 < smallest_gap < 1:
            raise ValueError(f"smallest_gap must lie between 0 and 1, got {smallest_gap}")
        self.points, self.smallest_gap = points, smallest_gap
        self.gaps = nn.Parameter(torch.zeros(points + 1), requires_grad=learn_levels)  # before the softmax

    @property
    def levels(self) -> Tensor:
        """The M + 2 levels r, 0 = first < … < last = 1. (M+2,)"""
        floor = self.smallest_gap / (self.points + 1)
        widths = floor + (1 - self.smallest_gap) * self.gaps.double().softmax(0)  # in float64, so that even is even
        inner = widths[:-1].cumsum(0)
        return torch.cat([inner.new_zeros(1), inner, inner.new_ones(1)]).to(self.gaps.dtype)

    @property
    def alphas(self) -> Tensor:
        """The paper's α_1 … α_M, for which σ(α_i) is a level. (M,)"""
        return self.levels[1:-1].logit()

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        return empirical_quantiles(x, lengths, self.levels)

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
    low, high = levels[0].item(), levels[-1].item()
    if len(r) and not (low <= r.min() and r.max() <= high):
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
    if bool((rise < 0).any()):
        raise ValueError("values must not decrease along the levels, as quantiles never do")
    mass = levels.diff().to(values.dtype)
    return mass, mass / rise
