"""The compiled kernels: built once on this machine, cached, loaded when first used.

`kernels()` returns the loaded library, or None where there is no working C++ compiler: it then says so once, and its
callers fall back to PyTorch. The library is plain C++ without PyTorch's headers, so a build takes about two
seconds. ``QPWL_COMPILE=0`` switches it off; ``QPWL_CACHE`` moves the cache folder.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qpwl_core.common.paths import cache_folder
from qpwl_core.common.watch import has_values

SOURCE = Path(__file__).with_name("kernels.cpp")
FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-shared", "-fPIC"]

_lock = threading.Lock()
_loaded: list[Any] = []  # empty until the first call, then the one answer


def kernels() -> Any:
    """The compiled library, a ctypes.CDLL that only knows at run time what it holds; None where it cannot be built."""
    if not _loaded:
        with _lock:
            if not _loaded:
                _loaded.append(_load())
    return _loaded[0]


def usable(x: Tensor) -> bool:
    """Whether the kernels are there and take this tensor: float32, on the CPU, with values."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and has_values(x) and kernels() is not None


def _load() -> Any:
    if os.environ.get("QPWL_COMPILE") == "0":
        return None
    try:
        library: Any = ctypes.CDLL(str(_build()))
        for name in ("forward", "backward", "scan", "prelu", "prelu_backward", "quantiles_backward", "layer",
                     "layer_backward", "activated", "sums"):
            getattr(library, f"qpwl_{name}").restype = None
        library.qpwl_lanes.restype = library.qpwl_quantiles.restype = ctypes.c_int64
        library.lanes = library.qpwl_lanes()  # references to a tile: as many as this processor's vectors hold
        return library
    except (OSError, AttributeError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        warnings.warn(f"QP-WL runs without compiled kernels, which is slower: {reason.strip().splitlines()[0]}",
                      RuntimeWarning, stacklevel=3)
        return None


def _build() -> Path:
    """The library's path; compiles it unless the cache holds one for this source, compiler and processor."""
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    if compiler is None:
        raise OSError("no C++ compiler found (install g++ or clang++, or set CXX)")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    sources = [SOURCE, *sorted(SOURCE.parent.glob("*.h"))]
    built_from = [*(source.read_text(encoding="utf-8") for source in sources), version, *FLAGS, _processor()]
    key = hashlib.sha256("\n".join(built_from).encode()).hexdigest()[:16]
    folder = _private_folder()
    library = folder / f"kernels-{key}.so"
    if not library.exists():
        # Vectors as wide as this processor's, on all cores; a compiler that lacks either builds without.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / "kernels.so"
            for more in (["-march=native", "-fopenmp"], ["-march=native"], ["-fopenmp"], []):
                done = subprocess.run([compiler, *FLAGS, *more, str(SOURCE), "-o", str(made)],
                                      capture_output=True, text=True, check=False, timeout=120)
                if done.returncode == 0:
                    break
            done.check_returncode()
            os.replace(made, library)  # two processes may build at once; either file is whole
    return library


def _processor() -> str:
    """What the build depends on: a home folder may be shared by machines with different processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return "\n".join(sorted({line for line in lines if line.startswith(("flags", "model name", "Features"))}))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


def _private_folder() -> Path:
    """A folder that only this user can write to, since what lies there is loaded as code."""
    folder = cache_folder() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if hasattr(os, "getuid") and (folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022):
            raise OSError(f"{folder} can be written by others")
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="qpwl-kernels-"))


def call(function, tensors: tuple[Tensor, ...], *numbers):
    """Call a kernel: addresses of contiguous CPU tensors (kept alive meanwhile), then doubles and 64-bit integers."""
    assert all(x.is_contiguous() and x.device.type == "cpu" for x in tensors), "kernels take contiguous CPU tensors"
    values = [ctypes.c_double(n) if isinstance(n, float) else ctypes.c_int64(n) for n in numbers]
    return function(*(ctypes.c_void_p(x.data_ptr()) for x in tensors), *values)
