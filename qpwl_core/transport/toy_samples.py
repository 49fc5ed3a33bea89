"""For teaching: samples to play with, drawn from a mixture or again from a quantile function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.common.checks import check_whole
from qpwl_core.common.text import quoted

SHAPES = ("Gaussian", "uniform")


@dataclass(frozen=True)
class Bump:
    """One part of a mixture; ``spread`` is a standard deviation, or half the width of a uniform one."""

    centre: float
    spread: float
    weight: float
    shape: str = "Gaussian"

    def __post_init__(self):
        if self.shape not in SHAPES:
            raise ValueError(f"shape must be one of {', '.join(SHAPES)}, not {quoted(self.shape)}")
        if not (np.isfinite([self.centre, self.spread, self.weight]).all() and self.spread >= 0 and self.weight >= 0):
            raise ValueError(f"a bump needs a finite centre, spread and weight, the last two not below 0, got {self}")


def draw_mixture(bumps: list[Bump], n: int, seed: int = 0) -> np.ndarray:
    """n samples of a mixture, in the order they were drawn. (n,) float64

    >>> draw_mixture([Bump(centre=2, spread=0, weight=1)], n=3)
    array([2., 2., 2.])
    """
    check_whole("n", n)
    weights = np.array([bump.weight for bump in bumps], dtype=float)
    if not weights.sum() > 0:
        raise ValueError("at least one bump must have a weight above 0")
    random = np.random.default_rng(seed)
    part = random.choice(len(bumps), size=n, p=weights / weights.sum())
    unit = np.array([bump.shape == "uniform" for bump in bumps])[part]
    noise = np.where(unit, random.uniform(-1, 1, n), random.standard_normal(n))
    centre, spread = (np.array([getattr(bump, name) for bump in bumps], dtype=float)[part]
                      for name in ("centre", "spread"))
    return centre + spread * noise


def draw_again(values: np.ndarray, levels: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """n samples of the distribution whose quantile function has these values at these levels. (L,), (L,) -> (n,)

    A level drawn evenly from [0, 1] has as its quantile a sample of the distribution.
    """
    check_whole("n", n)
    return np.interp(np.random.default_rng(seed).random(n), levels, values)
