"""Chains of small operations as one kernel on an accelerator, by `torch.compile`; where that cannot be, as they are.

On a card every small operation is a pass over memory: the closed form of W_p has about twenty of them, which
`torch.compile` makes one. It wants a compiler for that card (Triton for CUDA): without one, or where it fails, it is
said once and the operations run one by one, to the same numbers. A CPU has kernels of its own (`kernels.py`).
``QPWL_COMPILE=0`` switches both off.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from qpwl_core.common.watch import has_values

DEVICES = ("cuda", "xpu")        # whose kernels torch.compile makes
_made: dict[Any, Any] = {}       # by function and what it was made for; None where that failed


def in_one_kernel(function: Callable) -> Callable:
    """``function(*tensors, **constants)``, without gradients, in one kernel on an accelerator.

    Constants are numbers, and part of the kernel.
    """

    @wraps(function)
    def run(*tensors: Tensor, **constants):
        if not _wanted(tensors[0]):
            return function(*tensors, **constants)
        key = function, tensors[0].device.type, *sorted(constants.items())
        if key in _made and _made[key] is None:
            return function(*tensors, **constants)
        try:
            if key not in _made:
                _made[key] = torch.compile(_with_constants(function, constants), dynamic=True)
            return _made[key](*(x.detach() for x in tensors))
        except torch.OutOfMemoryError:
            raise
        except Exception as error:             # whatever a compiler fails with, the operations themselves still work
            _made[key] = None
            said = " ".join(str(error).split())[:200] or type(error).__name__
            warnings.warn(f"QP-WL runs without torch.compile on {tensors[0].device.type}, which is slower: {said}",
                          RuntimeWarning, stacklevel=2)
            return function(*tensors, **constants)

    return run


def _with_constants(function: Callable, constants: dict) -> Callable:
    """The function of tensors alone. As text: numbers that differ between calls `torch.compile` takes for variables."""
    text = {name: repr(float(value)) for name, value in constants.items()}

    def of_tensors(*tensors: Tensor):
        return function(*tensors, **{name: float(value) for name, value in text.items()})

    return of_tensors


def _wanted(x: Tensor) -> bool:
    return x.device.type in DEVICES and has_values(x) and os.environ.get("QPWL_COMPILE") != "0"
