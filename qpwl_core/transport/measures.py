"""The names of our distances, and W_p of a few pairs in NumPy: what a first page needs before PyTorch is there."""

from __future__ import annotations

import numpy as np

from qpwl_core.common.plain_checks import check_order

MEASURES = ("wasserstein", "cosine", "euclidean")     # of quantile functions
DISTANCES = (*MEASURES, "dtw")                        # what a method may compare its embeddings by


def wasserstein_of_few(a: np.ndarray, b: np.ndarray, levels: np.ndarray, p: float = 1.0) -> np.ndarray:
    """W_p as `distances.wasserstein(..., per_filter=True)` has it. (..., K, L), (..., K, L), (L,) -> (..., K)

    Over a segment of width w whose ends differ by d0 and d1, B the larger |d| and v the other over it, |linear|^p has
    the integral w·B^p·g: with q = p + 1, g = (1 + v^q) / (q (1 + v)) where the signs differ, (1 − v^q) / (q (1 − v))
    where not, which is 1 at v = 1. All in double precision.

    >>> wasserstein_of_few(np.array([[0.0, 1.0]]), np.array([[3.0, 4.0]]), np.array([0.0, 1.0]))
    array([3.])
    """
    q = check_order(p) + 1
    d = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    size = np.abs(d)
    scale = size.max(axis=-1, keepdims=True)                     # so that no power leaves the range of a float
    d0, d1 = size[..., :-1], size[..., 1:]
    larger = np.maximum(d0, d1)
    v = np.minimum(d0, d1) / np.where(larger == 0, 1, larger)
    far = np.minimum(v, 0.5)                                     # 1 − v^q loses digits where v is near 1
    near = np.where((v > 0.5) & (v < 1), 1 - v, 0.5)
    same = np.where(v <= 0.5, (1 - far ** q) / (q * (1 - far)), -np.expm1(q * np.log1p(-near)) / (q * near))
    same = np.where(v == 1, 1.0, same)
    g = np.where(d[..., :-1] * d[..., 1:] < 0, (1 + v ** q) / (q * (1 + v)), same)
    means = (larger / np.where(scale == 0, 1, scale)) ** p * g
    return scale[..., 0] * (means @ np.diff(np.asarray(levels, np.float64))) ** (1 / p)
