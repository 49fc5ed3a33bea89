"""CUDA tensors without CUDA: they have shapes and a device, and no values (PyTorch's FakeTensorMode).

They show what would stop a real card: tensors of two devices in one operation, and any look at a value. Forward passes
alone, without gradients: PyTorch's build for CPUs aborts where those are of a card.
"""

from contextlib import contextmanager

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode


class _NoDriver(TorchFunctionMode):
    """What asks a driver where a tensor is of CUDA, by operations that do not: x[…], ~x, batch norm."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is Tensor.__getitem__:
            return _part(*args)
        if function is Tensor.__setitem__:
            x, key, value = args
            _part(x, key).add_(value)                # there is nothing to copy; shapes and devices must fit
            return None
        if function is Tensor.__invert__:
            return torch.logical_not(*args)
        if function is F.batch_norm:
            x, mean, variance = args
            return torch.ops.aten.native_batch_norm(x, kwargs["weight"], kwargs["bias"], mean, variance, False,
                                                    kwargs["momentum"], kwargs["eps"])[0]
        return function(*args, **(kwargs or {}))


def _part(x: Tensor, key) -> Tensor:
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(k is Ellipsis for k in keys):
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        named = sum(k is not None for k in keys) - 1
        keys[at:at + 1] = [slice(None)] * (x.ndim - named)
    dim, indices = 0, []
    for k in keys:
        if k is None:
            x, dim = x.unsqueeze(dim), dim + 1
        elif isinstance(k, slice):
            start, stop, step = k.indices(x.shape[dim])
            x, dim = torch.ops.aten.slice.Tensor(x, dim, start, stop, step), dim + 1
        elif isinstance(k, Tensor):
            indices, dim = indices + [None] * (dim - len(indices)) + [k], dim + 1
        elif isinstance(k, list):
            x, dim = x.index_select(dim, torch.tensor(k, device=x.device)), dim + 1
        else:
            x = x.select(dim, k)
    return torch.ops.aten.index.Tensor(x, indices) if indices else x


@contextmanager
def fake_cuda():
    """Inside, ``device="cuda:0"`` works."""
    with torch.no_grad(), FakeTensorMode(), _NoDriver():
        yield torch.device("cuda:0")


def moved(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """A module with its parameters and buffers on a device without values."""
    for part in module.modules():
        for held in (part._parameters, part._buffers):
            for name, x in held.items():
                if x is not None:
                    empty = torch.empty(x.shape, dtype=x.dtype, device=device)
                    held[name] = torch.nn.Parameter(empty, False) if held is part._parameters else empty
    return module
