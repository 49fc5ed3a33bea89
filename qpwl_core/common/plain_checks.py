"""Checks of plain numbers, for whoever has no use for PyTorch; `checks.py` has them too, and those of tensors."""

from __future__ import annotations

import math
import sys

from qpwl_core.common.text import quoted


def check_order(p: float) -> float:
    """The order p of a Wasserstein distance: a finite real number, at least 1."""
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ValueError(f"p must be a real number of at least 1, got {type(p).__name__} {quoted(p)}")
    if not 1 <= p < math.inf or p > sys.float_info.max:
        raise ValueError(f"p must be a finite number of at least 1, got {quoted(p)}")
    return float(p)


def check_whole(name: str, value: int, least: int = 1) -> None:
    """A whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {quoted(value)}")
