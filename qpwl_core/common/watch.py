"""What can be known of a tensor's values without waiting: an accelerator that the host asks in every step stands still.

On a CPU, values are looked at where they are. On an accelerator, inside ``with Watch():``, a check is computed there
and kept, and `Watch.ask` reads all that was kept at once. Tensors without values (meta, fake, or while `torch.compile`
traces) are never asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch._guards import active_fake_mode
from torch._subclasses.fake_tensor import FakeTensor

_watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


class Late(ValueError):
    """What a check found some steps ago; ``step`` is the one in which it happened."""

    def __init__(self, sentence: str, step: int):
        super().__init__(sentence)
        self.step = step


class Watch:
    """Keeps checks of values until they are asked for; ``everywhere`` also those of CPU tensors, which tests want."""

    def __init__(self, everywhere: bool = False):
        self.everywhere, self.step = everywhere, 0                   # step: of what is checked now
        self._kept: list[tuple[Tensor, int, Callable[..., str], tuple[Any, ...]]] = []
        self._outer: Watch | None = None

    def __enter__(self) -> Watch:
        self._outer = _watching.get()
        _watching.set(self)
        return self

    def __exit__(self, *_) -> None:
        _watching.set(self._outer)

    def keep(self, bad: Tensor, sentence: Callable[..., str], *evidence) -> None:
        """``bad`` (): not nought where something is wrong; ``sentence(bad, *evidence)`` then says what."""
        self._kept.append((bad.detach().long(), self.step, sentence, evidence))

    def ask(self) -> None:
        """Wait, once, for all checks kept so far; the first that found something is raised as `Late`."""
        kept, self._kept = self._kept, []
        if not kept:
            return
        found = torch.stack([bad for bad, *_ in kept]).tolist()
        for bad, (_, step, sentence, evidence) in zip(found, kept, strict=True):
            if bad:
                raise Late(sentence(bad, *evidence), step)


def watch_of(x: Tensor) -> Watch | None:
    """Who keeps checks of this tensor's values for later; None where they are looked at now."""
    watch = _watching.get()
    return watch if watch is not None and (watch.everywhere or x.device.type != "cpu") else None


def has_values(x: Tensor) -> bool:
    """Whether there is anything to look at: not in shapes without values, and not while `torch.compile` traces."""
    return not (x.is_meta or isinstance(x, FakeTensor) or torch.compiler.is_compiling() or active_fake_mode())


def extremes(x: Tensor) -> tuple[int, int] | None:
    """Least and largest of whole numbers; None where that cannot be known without waiting for an accelerator."""
    if not has_values(x) or (x.device.type != "cpu" and watch_of(x)):
        return None
    values = x.detach().cpu().numpy()                                # of a CPU tensor: its own memory, no copy
    return int(values.min()), int(values.max())


def sent(x: Tensor, device: torch.device) -> Tensor:
    """A tensor on this device. To CUDA by way of pinned memory: a plain copy waits for what the card does now."""
    if x.device.type == "cpu" and device.type == "cuda" and has_values(x):
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)
