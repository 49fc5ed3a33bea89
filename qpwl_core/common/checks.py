"""Checks at the boundary: one sentence that names the argument, what came and what is wanted.

Public functions call these once, on entry; what runs inside loops does not check again. Shapes and types are checked at
once; values too, unless they are an accelerator's in training (`watch.py`).
"""

import math

import torch
from torch import Tensor

from qpwl_core.common.plain_checks import check_order, check_whole
from qpwl_core.common.watch import extremes, has_values, watch_of

__all__ = ["check_finite", "check_float", "check_lengths", "check_levels", "check_order", "check_pair", "check_square",
           "check_whole"]


def check_float(name: str, x: Tensor, dims: int | None = None) -> None:
    """A float tensor, with ``dims`` dimensions where that is given."""
    if not isinstance(x, Tensor):
        raise ValueError(f"{name} must be a torch tensor, got {type(x).__name__}")
    if x.dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        raise ValueError(f"{name} must be a float tensor, got {x.dtype}")
    if dims is not None and x.ndim != dims:
        raise ValueError(f"{name} must have {dims} dimensions, got shape {tuple(x.shape)}")


def check_finite(name: str, x: Tensor) -> None:
    """No NaN and no infinity; a sum tells in one cheap pass that all is well."""
    x = x.detach()
    if not has_values(x):
        return
    if watch := watch_of(x):
        watch.keep((~torch.isfinite(x)).sum(), lambda bad: f"{name} must be finite, got {bad} NaN or infinite values")
    elif not math.isfinite(x.sum()) and not torch.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {int((~torch.isfinite(x)).sum())} NaN or infinite values")


def check_levels(name: str, levels: Tensor, count: int | None = None) -> None:
    """Levels r in [0, 1], strictly increasing; ``count`` of them where that is given."""
    check_float(name, levels, dims=1)
    if count is not None and len(levels) != count:
        raise ValueError(f"{name} must hold one level per knot, got {len(levels)} levels for {count} knots")
    values = levels.detach()
    if len(values) == 0:
        raise ValueError(f"{name} must hold at least one level, got none")
    if not has_values(values):
        return
    inside, rising = ((values >= 0) & (values <= 1)).all(), (values.diff() > 0).all()      # NaN is neither
    if watch := watch_of(values):
        watch.keep(~(inside & rising), lambda _, values: _wrong_levels(name, values), values.clone())
    elif not bool(inside & rising):
        raise ValueError(_wrong_levels(name, values))


def _wrong_levels(name: str, values: Tensor) -> str:
    if not bool(((values >= 0) & (values <= 1)).all()):
        return f"{name} must lie in [0, 1], got {values.min().item():g} to {values.max().item():g}"
    return f"{name} must be strictly increasing, got {_short(values)}"


def check_lengths(lengths: Tensor, batch: int, longest: int) -> Tensor:
    """Per-sequence lengths, one per row of the batch, from 1 to the padded length; returned as int64."""
    lengths = torch.as_tensor(lengths)
    if lengths.shape != (batch,):
        raise ValueError(f"lengths must have shape ({batch},), one per sequence, got {tuple(lengths.shape)}")
    if lengths.dtype.is_floating_point or lengths.dtype.is_complex or lengths.dtype == torch.bool:
        raise ValueError(f"lengths must be whole numbers, got {lengths.dtype}")
    if batch and (found := extremes(lengths)):
        if wrong := _wrong_lengths(*found, longest):
            raise ValueError(wrong)
    elif batch and has_values(lengths) and (watch := watch_of(lengths)):
        watch.keep(((lengths < 1) | (lengths > longest)).any(),
                   lambda _, low, high: _wrong_lengths(int(low), int(high), longest), lengths.min(), lengths.max())
    return lengths.long()


def _wrong_lengths(low: int, high: int, longest: int) -> str:
    if low < 1:
        return f"lengths must be at least 1 (no empty sequence), got {low}"
    return f"lengths must not exceed T = {longest}, got {high}" if high > longest else ""


def check_pair(a: Tensor, b: Tensor) -> None:
    """Two embeddings that can be compared: one dtype, one device."""
    if a.dtype != b.dtype:
        raise ValueError(f"a and b must have one dtype, got {a.dtype} and {b.dtype}")
    if a.device != b.device:
        raise ValueError(f"a and b must be on one device, got {a.device} and {b.device}")


def check_square(name: str, matrix: Tensor) -> None:
    """An (N, N) matrix of a batch of N >= 2 pairs."""
    check_float(name, matrix, dims=2)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ValueError(f"{name} must be an (N, N) matrix with N of at least 2, got shape {tuple(matrix.shape)}")
    check_finite(name, matrix)


def _short(values: Tensor) -> str:
    shown = ", ".join(f"{v:g}" for v in values[:8].tolist())
    return f"[{shown}{', …' if len(values) > 8 else ''}]"
