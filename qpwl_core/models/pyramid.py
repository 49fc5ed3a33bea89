"""Order, beyond the paper: quantile functions of the whole sequence, of its halves, of its quarters.

A quantile function forgets *when*. Those of the first and the second half remember which half; the more pieces, the
more of the order is kept (and the fewer frames speak for each). The distance is the same d_p, summed over all pieces,
each with a weight; W_p is homogeneous, so that a weight on a piece's quantiles is a weight on its distance.
"""

import math

import torch
from torch import Tensor, nn

from qpwl_core.common.watch import extremes, sent
from qpwl_core.transport.quantiles import QuantileLayer, empirical_quantiles


def pieces(y: Tensor, lengths: Tensor, count: int, number: int) -> tuple[Tensor, Tensor]:
    """Piece ``number`` of ``count`` of each sequence, and its frames. (B, K, T), (B,) -> (B, K, T'), (B,)

    Of N frames it has those from ⌊N·j/s⌋ to before ⌊N·(j+1)/s⌋, and one where that is none.
    """
    if count == 1:
        return y, lengths
    start = torch.minimum(lengths * number // count, lengths - 1)
    frames = (lengths * (number + 1) // count - start).clamp(min=1)
    index = start[:, None] + torch.arange(-(-y.shape[2] // count) + 1, device=lengths.device)   # (B, T')
    index = sent(torch.minimum(index, (start + frames - 1)[:, None]), y.device)
    if found := extremes(frames):
        index = index[:, :found[1]]
    return y.gather(2, index[:, None].expand(-1, y.shape[1], -1)), frames


class QuantilePyramid(nn.Module):
    """Quantile functions of all pieces of a pyramid, piece after piece. (B, K, T), (B,) -> (B, P·K, M+2)

    Each of the P pieces has a weight, that of the first one is 1; a storey of s pieces starts with 1/s each, so that
    every storey counts alike. With ``learn_weights`` they are learned. The levels are common to all pieces. A pyramid
    of one piece, the whole, is `QuantileLayer`, bit for bit.
    """

    def __init__(self, points: int = 16, storeys: tuple[int, ...] = (1, 2, 4), learn_weights: bool = True):
        super().__init__()
        self.storeys, self.layer = tuple(storeys), QuantileLayer(points)
        first = [-math.log(count) for count in self.storeys for _ in range(count)]
        self.log_weights = nn.Parameter(torch.tensor(first[1:]) - first[0], requires_grad=learn_weights)

    @property
    def levels(self) -> Tensor:
        """The M + 2 levels of every piece. (M+2,)"""
        return self.layer.levels

    @property
    def weights(self) -> Tensor:
        """Of each piece. (P,)"""
        return torch.cat([self.log_weights.new_ones(1), self.log_weights.exp()])

    def forward(self, y: Tensor, lengths: Tensor) -> Tensor:
        return self._weighted([self.layer(*piece) for piece in self._pieces(y, lengths)])

    def at(self, y: Tensor, lengths: Tensor, levels: Tensor) -> Tensor:
        """The same functions at other levels. (B, K, T), (B,), (L,) -> (B, P·K, L)"""
        return self._weighted([empirical_quantiles(part, frames, levels) for part, frames in self._pieces(y, lengths)])

    def _pieces(self, y: Tensor, lengths: Tensor):
        lengths = torch.as_tensor(lengths)
        return (pieces(y, lengths, count, number) for count in self.storeys for number in range(count))

    def _weighted(self, functions: list[Tensor]) -> Tensor:
        whole, *others = functions
        if not others:
            return whole
        return torch.cat([whole, *(weight * each for weight, each in zip(self.weights[1:], others, strict=True))], 1)
