"""Aggregations: from K filters over time to one embedding, whatever the length. forward(y (B, K, T), lengths (B,))

The quantile layer of `quantiles.py` keeps each filter's whole distribution; these keep less of it, or other views.
Padded frames never count, and gradients stay finite, also for sequences of one frame and for constant filters.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qpwl_core.common.checks import check_float, check_lengths, check_whole
from qpwl_core.common.watch import sent
from qpwl_core.models.networks import padded_frames
from qpwl_core.models.pyramid import QuantilePyramid
from qpwl_core.transport.quantiles import QuantileLayer, empirical_quantiles

FRAMES = 128             # of a sequence that is compared as it is
FLOOR = 1e-6             # added to variances: the root of nought has no finite slope


class MaxPooling(nn.Module):
    """The largest value of each filter. (B, K, T), (B,) -> (B, K)"""

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        padding, _ = _checked(y, lengths)
        return (y if padding is None else y.masked_fill(padding, -math.inf)).amax(2)


class MeanPooling(nn.Module):
    """The mean of each filter. (B, K, T), (B,) -> (B, K)"""

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        return _mean(y, *_even(y, lengths))[..., 0]


class MeanStdPooling(nn.Module):
    """Mean and standard deviation of each filter. (B, K, T), (B,) -> (B, 2K)"""

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        return torch.cat(_moments(y, *_even(y, lengths)), 1)


class AttentiveStatistics(nn.Module):
    """Mean and deviation in which frames count by learned attention (Okabe et al. 2018). (B, K, T), (B,) -> (B, 2K)

    Frame t weighs softmax_t(v · tanh(W y_t + b)), over the real frames of its sequence.
    """

    def __init__(self, filters: int, hidden: int = 64):
        super().__init__()
        check_whole("filters", filters)
        check_whole("hidden", hidden)
        self.hidden = nn.Conv1d(filters, hidden, 1)
        self.score = nn.Conv1d(hidden, 1, 1, bias=False)                     # a softmax would not see a bias

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        padding, _ = _checked(y, lengths)
        if padding is not None:
            y = y.masked_fill(padding, 0)
        score = self.score(torch.tanh(self.hidden(y)))                       # (B, 1, T)
        weights = (score if padding is None else score.masked_fill(padding, -math.inf)).softmax(2)
        return torch.cat(_moments(y, weights, padding), 1)


class SlicedWassersteinPooling(nn.Module):
    """Optimal transport to learned reference points, slice by slice (PSWE, Naderializadeh et al. 2021).

    (B, K, T), (B,) -> (B, slices·points). A slice is a learned direction of unit length in the space of the K filters;
    along it the frames have a quantile function. Each of the ``points`` learned references of a slice is moved by the
    Monge map to the quantile of its rank, and the embedding is by how much. The n-th of M references takes
    Q̃((n−1)/M), so that M frames go to M references one to one.
    """

    def __init__(self, filters: int, slices: int = 32, points: int = 16):
        super().__init__()
        for name, value in (("filters", filters), ("slices", slices), ("points", points)):
            check_whole(name, value)
        self.directions = nn.Parameter(torch.randn(slices, filters))
        self.references = nn.Parameter(torch.linspace(-1, 1, points).repeat(slices, 1))

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        _, lengths = _checked(y, lengths)
        sliced = F.normalize(self.directions, dim=1) @ y                     # (B, slices, T)
        points = self.references.shape[1]
        levels = torch.arange(points, dtype=torch.double) / points            # looked at where it is, on the CPU
        quantiles = empirical_quantiles(sliced, lengths, levels)             # (B, slices, points), increasing
        rank = self.references.detach().argsort(stable=True).argsort()       # (slices, points)
        target = quantiles.gather(2, rank.expand_as(quantiles))
        return (target - self.references).flatten(1)


def _checked(y: Tensor, lengths: Tensor) -> tuple[Tensor | None, Tensor]:
    """The padding of filters (B, 1, T), None where nothing is padded, and the lengths."""
    check_float("y", y, dims=3)
    if y.shape[2] == 0:
        raise ValueError("y must hold at least one frame per sequence, got T = 0")
    lengths = check_lengths(lengths, y.shape[0], y.shape[2])
    return padded_frames(y, lengths), lengths


def _even(y: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
    """Weights by which each real frame counts alike, (B, 1, 1), and the padding."""
    padding, lengths = _checked(y, lengths)
    return 1 / sent(lengths, y.device).to(y.dtype)[:, None, None], padding


def _mean(y: Tensor, weights: Tensor, padding: Tensor | None) -> Tensor:
    """Weighted mean over real frames. (B, K, T), (B, 1, T) or (B, 1, 1) -> (B, K, 1)"""
    return (weights * (y if padding is None else y.masked_fill(padding, 0))).sum(2, keepdim=True)


def _moments(y: Tensor, weights: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weighted mean and standard deviation over real frames. (B, K), (B, K)"""
    mean = _mean(y, weights, padding)
    variance = _mean((y - mean).square(), weights, padding)
    return mean[..., 0], (variance + FLOOR)[..., 0].sqrt()


class Frames(nn.Module):
    """No aggregation: the sequence itself, brought to one number of frames along straight lines. -> (B, K, FRAMES)"""

    def __init__(self):
        super().__init__()
        self.frames = nn.Parameter(torch.tensor(float(FRAMES)), requires_grad=False)      # so that a file says it

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        _, lengths = _checked(y, lengths)
        even = torch.linspace(0, 1, FRAMES, dtype=torch.double, device=lengths.device)
        place = even * (lengths[:, None] - 1)                                                 # (B, FRAMES)
        below = place.long()
        above = torch.minimum(below + 1, lengths[:, None] - 1)
        low, high = (y.gather(2, sent(index, y.device)[:, None].expand(-1, y.shape[1], -1)) for index in (below, above))
        return torch.lerp(low, high, sent((place - below).to(y.dtype), y.device)[:, None])


# Name -> module, given the number of filters K, of quantile points M, and the storeys of a pyramid.
AGGREGATIONS: dict[str, Callable[..., nn.Module]] = {
    "quantile": lambda filters, points, storeys=(1, 2, 4): QuantileLayer(points),
    "quantile-fixed": lambda filters, points, storeys=(1, 2, 4): QuantileLayer(points, learn_levels=False),
    "quantile-pyramid": lambda filters, points, storeys=(1, 2, 4): QuantilePyramid(points, storeys),
    "max": lambda filters, points, storeys=(1, 2, 4): MaxPooling(),
    "mean": lambda filters, points, storeys=(1, 2, 4): MeanPooling(),
    "mean-std": lambda filters, points, storeys=(1, 2, 4): MeanStdPooling(),
    "attentive": lambda filters, points, storeys=(1, 2, 4): AttentiveStatistics(filters),
    "sliced-wasserstein": lambda filters, points, storeys=(1, 2, 4): SlicedWassersteinPooling(filters, filters, points),
    "frames": lambda filters, points, storeys=(1, 2, 4): Frames(),
}
