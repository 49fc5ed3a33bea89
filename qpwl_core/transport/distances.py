"""Distances between embeddings: d_p in closed form (Definition 2, Proposition 1), cosine, Euclidean.

Smaller is closer, everywhere. An embedding is (K, L): K filters, each a quantile function by its values at L
levels. d_p is the sum over filters of W_p, not of W_p**p.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from qpwl_core.common.checks import check_finite, check_float, check_levels, check_order, check_pair
from qpwl_core.common.text import quoted
from qpwl_core.common.watch import has_values, sent
from qpwl_core.transport.closed_form import FilterDistance
from qpwl_core.transport.measures import DISTANCES, MEASURES
from qpwl_core.transport.pairwise import PairwiseDistance
from qpwl_core.transport.quantiles import interpolate_quantiles
from qpwl_core.transport.warping import pairwise_dtw


def wasserstein(a: Tensor, b: Tensor, levels: Tensor, p: float = 1.0, *, levels_b: Tensor | None = None,
                per_filter: bool = False) -> Tensor:
    """d_p of embeddings one by one. (..., K, L), (..., K, L), (L,) -> (...), or (..., K) per filter.

    a and b broadcast. Where b was taken at other levels, ``levels_b`` names them, and the two are compared exactly,
    on the union of their levels.

    >>> a = torch.tensor([[0.0, 1.0, 2.0]])  # one filter
    >>> wasserstein(a, a + 3, torch.tensor([0.0, 0.5, 1.0]))
    tensor(3.)
    """
    p = check_order(p)
    a, b, levels = _checked(a, b, levels, levels_b, least=2)
    try:
        difference = a - b
    except RuntimeError:
        raise ValueError(f"a and b must broadcast, got {tuple(a.shape)} and {tuple(b.shape)}") from None
    distance = FilterDistance.apply(difference, levels.diff().to(a.dtype), p)
    return _finite(distance if per_filter else distance.sum(-1))


def pairwise_wasserstein(a: Tensor, b: Tensor, levels: Tensor, p: float = 1.0, per_filter: bool = False, *,
                         levels_b: Tensor | None = None) -> Tensor:
    """d_p of every query with every reference. (Q, K, L), (R, K, L), (L,) -> (Q, R), or (Q, R, K) per filter.

    Memory beyond the result is bounded whatever Q and R. Differentiable in a, b and levels.
    """
    p = check_order(p)
    a, b, levels = _checked(a, b, levels, levels_b, least=3)
    if a.ndim != 3 or b.ndim != 3 or a.shape[1] != b.shape[1]:
        raise ValueError(f"a and b must be (Q, K, L) and (R, K, L), got {tuple(a.shape)} and {tuple(b.shape)}")
    return _finite(PairwiseDistance.apply(a, b, levels.diff().to(a.dtype), p, per_filter))


def _checked(a: Tensor, b: Tensor, levels: Tensor, levels_b: Tensor | None, least: int) -> tuple[Tensor, ...]:
    """Check both embeddings and bring them to common levels, in a working precision."""
    for name, x in (("a", a), ("b", b)):
        check_float(name, x)
        if x.ndim < least:
            raise ValueError(f"{name} must have at least {least} dimensions, got shape {tuple(x.shape)}")
        check_finite(name, x)
    check_pair(a, b)
    check_levels("levels", levels, count=a.shape[-1])
    check_levels("levels_b" if levels_b is not None else "levels", levels if levels_b is None else levels_b,
                 count=b.shape[-1])
    if len(levels) < 2:
        raise ValueError("levels must hold at least two levels, got one")
    if a.dtype in (torch.float16, torch.bfloat16):
        a, b = a.float(), b.float()
    levels = sent(levels, a.device)
    if levels_b is not None:
        levels_b = sent(levels_b, a.device)
        union = torch.cat([levels, levels_b])
        # where nobody may look, a level of both stays twice, with nothing between
        union = union.unique() if has_values(union) else union.sort().values
        if has_values(union) and (levels[0], levels[-1]) != (levels_b[0], levels_b[-1]):
            raise ValueError(f"levels and levels_b must span the same range, got {levels[0]:g} to {levels[-1]:g} "
                             f"and {levels_b[0]:g} to {levels_b[-1]:g}")
        a, b, levels = interpolate_quantiles(a, levels, union), interpolate_quantiles(b, levels_b, union), union
    return a, b, levels


def _finite(distances: Tensor) -> Tensor:
    """Finite values may still be too far apart for their precision: that is said, and no infinity given."""
    check_finite("distances (the values of a and b are too large for their precision)", distances)
    return distances


def _vectors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Flatten (Q, ...) and (R, ...) to two matrices of vectors."""
    for name, x in (("a", a), ("b", b)):
        check_float(name, x)
        if x.ndim < 2:
            raise ValueError(f"{name} must have at least 2 dimensions, got shape {tuple(x.shape)}")
        check_finite(name, x)
    check_pair(a, b)
    if a.shape[1:] != b.shape[1:]:
        raise ValueError(f"a and b must agree but for their first dimension, got {tuple(a.shape)} and {tuple(b.shape)}")
    return a.flatten(1), b.flatten(1)


def pairwise_cosine(a: Tensor, b: Tensor) -> Tensor:
    """Negative cosine similarity of every query with every reference. (Q, ...), (R, ...) -> (Q, R), in [−1, 1].

    A zero vector has no direction; its similarity to everything is taken as 0.
    """
    a, b = _vectors(a, b)
    return -(unit_vectors(a) @ unit_vectors(b).T)


def unit_vectors(x: Tensor) -> Tensor:
    """Vectors of length 1; a zero vector stays zero. (n, E) -> (n, E)"""
    largest = x.detach().abs().amax(1, keepdim=True)
    x = x / torch.where(largest == 0, 1.0, largest)  # so that squares neither overflow nor vanish
    return F.normalize(x, dim=1)


def pairwise_euclidean(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance of the flattened embeddings. (Q, ...), (R, ...) -> (Q, R)"""
    return _finite(torch.cdist(*_vectors(a, b), compute_mode="donot_use_mm_for_euclid_dist"))


def pairwise_by(measure: str, a: Tensor, b: Tensor, levels: Tensor | None = None, p: float = 1.0) -> Tensor:
    """The distance of this name of every query with every reference; ``levels`` and ``p`` are for Wasserstein alone.

    The one way from the name of a distance to its numbers. (Q, …), (R, …) -> (Q, R)
    """
    if measure == "wasserstein":
        return pairwise_wasserstein(a, b, _needed(levels), p)
    functions = {"cosine": pairwise_cosine, "euclidean": pairwise_euclidean, "dtw": pairwise_dtw}
    if measure not in functions:
        raise ValueError(f"measure must be one of {', '.join(DISTANCES)}, not {quoted(measure)}")
    return functions[measure](a, b)


def paired_by(measure: str, a: Tensor, b: Tensor, levels: Tensor | None = None, p: float = 1.0) -> Tensor:
    """The distance of this name of each a to the b of the same place, differentiable. (n, …), (n, …) -> (n,)"""
    if measure == "wasserstein":
        return wasserstein(a, b, _needed(levels), p)
    a, b = _vectors(a, b)
    if measure == "cosine":
        return -(unit_vectors(a) * unit_vectors(b)).sum(1)
    if measure == "euclidean":
        return _finite(torch.linalg.vector_norm(a - b, dim=1))
    raise ValueError(f"measure must be one of {', '.join(MEASURES)}, not {quoted(measure)}")


def _needed(levels: Tensor | None) -> Tensor:
    if levels is None:
        raise ValueError("levels must name where the quantile functions were taken, got None")
    return levels
