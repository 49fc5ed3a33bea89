"""What the file of a gallery may claim: its sizes before anything is read, all else before it is used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.files import FileError
from qpwl_core.common.plain_checks import check_order
from qpwl_core.common.text import quoted
from qpwl_core.models.methods import METHODS
from qpwl_core.models.storeys import pyramid_of

PARTS = ("test", "calibration")


def check_shapes(shapes: dict[str, tuple[int, ...]]) -> None:
    """What a file may claim, before any of it is read."""
    values = shapes.get("values", ())
    if len(values) == 3 and values[0] > bounds.GALLERY_SEQUENCES:
        raise FileError(f"claims {values[0]:,} sequences, and a gallery has at most {bounds.GALLERY_SEQUENCES:,}: all "
                        "of them are compared with all")
    n, filters, levels = values if len(values) == 3 else (0, 0, 0)
    for what, number, most in (("sequences² · filters", n**2 * filters, bounds.GALLERY_PARTS),
                               ("sequences² · filters · levels", n**2 * filters * levels, bounds.GALLERY_WORK)):
        if number > most:
            raise FileError(f"claims {' × '.join(map(str, values))} values, and {what} may be at most {most:,}: all "
                            "sequences are compared with all, filter by filter")
    for name, shape in shapes.items():
        if math.prod(shape) > bounds.GALLERY_VALUES:
            raise FileError(f"claims {math.prod(shape):,} numbers in {name}, and a gallery has at most "
                            f"{bounds.GALLERY_VALUES:,}")


def check_gallery(gallery: Any) -> None:
    """What a file could have wrong."""
    check_order(gallery.p)
    known = gallery.model_levels
    if known is not None and (known.ndim != 1 or len(known) < 3 or known[0] != 0 or known[-1] != 1
                              or not (np.diff(known) > 0).all()):
        raise ValueError("the model's levels (own) must rise from 0 to 1, three or more")
    n, levels = len(gallery.values), gallery.levels
    if gallery.values.ndim != 3 or n == 0 or not np.isfinite(gallery.values).all():
        raise ValueError("values must be finite quantile functions (n, K, L)")
    if levels.shape != gallery.values.shape[2:] or levels[0] != 0 or levels[-1] != 1 or (np.diff(levels) <= 0).any():
        raise ValueError("levels must rise from 0 to 1, one for each value of a quantile function")
    for name in ("subjects", "stimuli", "sources", "parts", "imitates"):
        x = getattr(gallery, name)
        if x is not None and x.shape != (n,):
            raise ValueError(f"{name} must hold one entry per sequence, {n} of them")
    if not set(gallery.parts.tolist()) <= set(PARTS):
        raise ValueError(f"parts must be {' or '.join(PARTS)}")
    for part in PARTS:
        people = len(np.unique(gallery.subjects[(gallery.parts == part) & ~gallery.is_forgery]))
        if people > bounds.GALLERY_PEOPLE:
            raise ValueError(f"it claims {people:,} {part} people, and may have at most {bounds.GALLERY_PEOPLE}: each "
                             "is compared with every pair of others")
    if gallery.values.shape[1] % sum(pyramid_of(gallery.pyramid)):
        raise ValueError(f"values must have as many filters for each piece of the pyramid {gallery.pyramid}")
    if gallery.method not in METHODS:
        raise ValueError(f"there is no method {quoted(gallery.method)}")
    if (gallery.model_levels is None) != (not METHODS[gallery.method].aggregation.startswith("quantile")):
        raise ValueError("the model's levels (own) must be there for a method with quantiles, and for no other")
    if gallery.model_levels is None and (gallery.vectors is None or gallery.vectors.ndim != 2
                                         or len(gallery.vectors) != n or not np.isfinite(gallery.vectors).all()):
        raise ValueError("vectors must be finite, one per sequence")
