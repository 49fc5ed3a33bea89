"""Where a network runs, and in which precision."""

from __future__ import annotations

import torch

from qpwl_core.common.text import quoted
from qpwl_core.training import processes

KINDS = ("cpu", "cuda", "mps", "xpu")            # PyTorch has others, of which some hold no values at all


def device_of(name: str) -> torch.device:
    """``auto`` is CUDA, else MPS, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = processes.device_of_process(torch.device(name))
        if device.type not in KINDS:
            raise RuntimeError("nothing can be computed there")
        torch.empty(1, device=device)
        return device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device must be auto, cpu or one this machine has, not {quoted(name)} ({reason})") from None


def reads_at_once(device: torch.device) -> bool:
    """Whether the host looks at values in every step: only a CPU does not stand still meanwhile."""
    return device.type == "cpu"


def precision_of(device: torch.device) -> torch.dtype:
    """What convolutions run in: bfloat16 on a CUDA card that has it, float32 elsewhere.

    Weights, the quantile layer, distances and the loss are float32 everywhere. Measured on a CPU without bfloat16
    units, EEG, N = 32: a step takes 0.1 s in float32 and 1.7 s in bfloat16. `torch.compile` of the network has no place
    in training: it costs 14 s, and after it a step takes the same 0.097 s, four fifths of which are convolutions.
    """
    return torch.bfloat16 if device.type == "cuda" and torch.cuda.is_bf16_supported(False) else torch.float32
