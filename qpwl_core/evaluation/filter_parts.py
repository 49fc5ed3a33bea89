"""What each filter contributes to a distance: the one attribution that every page and every decision uses.

A distance between two embeddings is a sum over filters, so a filter's part is a share of the decision:

    Wasserstein    d_p = Σ_k W_p(k),                     the distance of the two quantile functions of filter k;
    cosine         −cos = Σ_k (½ |â_k − b̂_k|² − 1/K),    â = a / |a|, since |â − b̂|² = 2 − 2 cos;
    Euclidean      |a − b| = Σ_k |a_k − b_k|² / |a − b|.

A negative cosine starts at −1, where two embeddings point the same way: each of K filters starts at −1/K, and adds what
differs in it. (The products −â_k · b̂_k add up to −cos, too, but they call a filter that is loud and equal in both the
most important one.) What a filter adds above its start is never negative: see `excess`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qpwl_core.models.methods import by_filter
from qpwl_core.transport.distances import unit_vectors, wasserstein

__all__ = ["by_filter", "excess", "filter_parts"]


def filter_parts(measure: str, a: Tensor, b: Tensor, levels: Tensor | None = None, p: float = 1.0) -> Tensor:
    """What each filter adds to the distance of a[i] to b[i]; it sums to it. (m, K, v), (m, K, v) -> (m, K)

    ``v`` numbers of each filter: its quantiles at ``levels`` for Wasserstein, whatever is compared for the others
    (`by_filter` brings embeddings into this form). In double precision, but for Wasserstein.

    >>> a, b = torch.tensor([[[3.0], [0.0]]]), torch.tensor([[[0.0], [4.0]]])
    >>> filter_parts("euclidean", a, b), filter_parts("cosine", a, b)          # 5, and −0
    (tensor([[1.8000, 3.2000]], dtype=torch.float64), tensor([[0., 0.]], dtype=torch.float64))
    """
    if measure == "wasserstein":
        if levels is None:
            raise ValueError("levels must name where the quantile functions were taken, got None")
        return wasserstein(a, b, levels, p, per_filter=True)
    return excess(measure, a.double(), b.double()) + _start(measure, a.shape[1])


def excess(measure: str, a: Tensor, b: Tensor, levels: Tensor | None = None, p: float = 1.0) -> Tensor:
    """The same above what two equal embeddings have: never negative, so shares of it are shares. -> (m, K)"""
    if measure == "wasserstein":
        return filter_parts(measure, a, b, levels, p)
    if measure == "cosine":
        a, b = (unit_vectors(x.flatten(1)).view_as(x) for x in (a, b))
        return (a - b).square().sum(2) / 2
    squares = (a - b).square().sum(2)
    distance = squares.sum(1, keepdim=True).sqrt()
    return squares / torch.where(distance > 0, distance, 1.0)


def _start(measure: str, filters: int) -> float:
    return -1 / filters if measure == "cosine" else 0.0
