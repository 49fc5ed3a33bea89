"""Whether there may be an accelerator, without loading PyTorch only to ask."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path


def may_have_accelerator() -> bool:
    """False only where PyTorch can find nothing but the CPU: no driver of NVIDIA or AMD, and no Mac."""
    if sys.platform == "darwin" or Path("/dev/kfd").exists():
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
