"""d_p for pytorch-metric-learning, so that every loss and miner of that library works on our embeddings.

An optional extra (``pip install pytorch-metric-learning``):

    levels = layer.levels.detach()
    loss = losses.TripletMarginLoss(margin=1.0, distance=WassersteinDistance(levels, p=1))
    loss(embeddings.flatten(1), labels)          # embeddings (n, K, M+2)
"""

from pytorch_metric_learning.distances import BaseDistance
from torch import Tensor

from qpwl_core.common.checks import check_levels, check_order
from qpwl_core.transport.distances import pairwise_wasserstein, wasserstein


class WassersteinDistance(BaseDistance):
    """d_p over embeddings flattened to (n, K·L), as that library wants them. Smaller is closer."""

    def __init__(self, levels: Tensor, p: float = 1.0, **kwargs):
        check_levels("levels", levels)
        # The library's normalisation and power would turn quantile functions into something else.
        super().__init__(normalize_embeddings=False, p=check_order(p), power=1, is_inverted=False, **kwargs)
        self.register_buffer("levels", levels.detach().clone())

    def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        return pairwise_wasserstein(self._functions(query_emb), self._functions(ref_emb), self.levels, self.p)

    def pairwise_distance(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        return wasserstein(self._functions(query_emb), self._functions(ref_emb), self.levels, self.p)

    def _functions(self, flat: Tensor) -> Tensor:
        if flat.ndim != 2 or flat.shape[1] % len(self.levels):
            raise ValueError(f"embeddings must be (n, K·{len(self.levels)}), flattened, got shape {tuple(flat.shape)}")
        return flat.unflatten(1, (-1, len(self.levels)))
