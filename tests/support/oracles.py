"""Slow, obvious renderings of the paper to check the fast ones against."""

import itertools

import numpy as np
from scipy.integrate import quad


def quantile(samples, r):
    """Q̃ sample by sample, from its definition: x_(n) at (n−1)/N, linear between, flat on the last stretch."""
    ordered = sorted(float(x) for x in samples)
    n = len(ordered)
    ordered.append(ordered[-1])
    for i in range(n):
        if i / n <= r < (i + 1) / n:
            return ordered[i] + (r * n - i) * (ordered[i + 1] - ordered[i])
    return ordered[-1]


def segment(d0, d1, p):
    """Mean of |linear|^p between d0 and d1, by adaptive quadrature on either side of its zero."""
    top = max(abs(d0), abs(d1))
    if top == 0:
        return 0.0, top
    d0, d1 = d0 / top, d1 / top
    cuts = [0.0, 1.0] if d0 * d1 >= 0 else [0.0, d0 / (d0 - d1), 1.0]
    parts = [quad(lambda t: abs(d0 + (d1 - d0) * t) ** p, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]
             for low, high in itertools.pairwise(cuts) if high > low]
    return sum(parts), top


def wasserstein(a, b, levels, p):
    """d_p of two embeddings (K, L), as a sum over filters of integrals over [0, 1]."""
    a, b, levels = (np.asarray(x, dtype=np.float64) for x in (a, b, levels))
    total = 0.0
    for qa, qb in zip(a, b, strict=True):
        d = qa - qb
        parts = [segment(d[i], d[i + 1], p) for i in range(len(d) - 1)]
        scale = max(top for _, top in parts)
        if scale == 0:
            continue
        powers = [w * mean * (top / scale) ** p for w, (mean, top) in zip(np.diff(levels), parts, strict=True)]
        total += scale * sum(powers) ** (1 / p)
    return total
