"""The compiled kernels: built once on this machine, cached, loaded when first used; and the threads that run them.

`kernels()` returns the loaded library, or None where there is no working C++ compiler: it then says so once, and its
callers fall back to PyTorch. The library is plain C++ without PyTorch's headers, so a build takes about two
seconds. ``QPWL_COMPILE=0`` switches it off; ``QPWL_CACHE`` moves the cache folder.
"""

import ctypes
import hashlib
import itertools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

SOURCE = Path(__file__).with_name("kernels.cpp")
FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-shared", "-fPIC"]
SYMBOLS = ("qpwl_forward", "qpwl_backward", "qpwl_locate")

_lock = threading.Lock()
_loaded: list[ctypes.CDLL | None] = []  # empty until the first call, then the one answer


def cache_folder() -> Path:
    """Where this user's caches live: QPWL_CACHE, else the platform's usual place."""
    if named := os.environ.get("QPWL_CACHE"):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "qpwl-lab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qpwl-lab"


def kernels() -> ctypes.CDLL | None:
    """The compiled library, or None where it cannot be built."""
    if not _loaded:
        with _lock:
            if not _loaded:
                _loaded.append(_load())
    return _loaded[0]


def _load() -> ctypes.CDLL | None:
    if os.environ.get("QPWL_COMPILE") == "0":
        return None
    try:
        library = ctypes.CDLL(str(_build()))
        for name in SYMBOLS:
            getattr(library, name).restype = None
        library.lanes = library.qpwl_lanes()  # references to a tile: as many as this processor's vectors hold
        return library
    except (OSError, AttributeError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        warnings.warn(f"QP-WL runs without compiled kernels, which is slower: {reason.strip().splitlines()[0]}",
                      RuntimeWarning, stacklevel=3)
        return None


def _build() -> Path:
    """The library's path; compiles it unless the cache holds one for this source, compiler and processor."""
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        raise OSError("no C++ compiler found (install g++ or clang++, or set CXX)")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    key = hashlib.sha256("\n".join([SOURCE.read_text(), version, *FLAGS, _processor()]).encode()).hexdigest()[:16]
    folder = _private_folder()
    library = folder / f"kernels-{key}.so"
    if not library.exists():
        # -march=native: vectors as wide as this processor's; a compiler that does not know it builds without.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / "kernels.so"
            for native in (["-march=native"], []):
                done = subprocess.run([compiler, *FLAGS, *native, str(SOURCE), "-o", str(made)],
                                      capture_output=True, text=True, check=False, timeout=120)
                if done.returncode == 0:
                    break
            done.check_returncode()
            os.replace(made, library)  # two processes may build at once; either file is whole
    return library


def _processor() -> str:
    """What the build depends on: a home folder may be shared by machines with different processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
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


# Threads. ctypes and NumPy let go of Python's lock while they compute, so plain threads use all cores; there is
# no second OpenMP runtime to fight PyTorch's for them.

_pool: ThreadPoolExecutor | None = None


def in_threads(work: Callable[[int, int], None], count: int, smallest: int = 1) -> None:
    """Call ``work(first, last)`` on consecutive parts of range(count), on as many threads as PyTorch uses."""
    global _pool
    parts = max(1, min(torch.get_num_threads(), count // max(smallest, 1)))
    bounds = [count * i // parts for i in range(parts + 1)]
    if parts == 1:
        return work(0, count)
    if _pool is None:
        with _lock:
            _pool = _pool or ThreadPoolExecutor(max(32, os.cpu_count() or 1), thread_name_prefix="qpwl")
    others = [_pool.submit(work, *part) for part in itertools.pairwise(bounds[1:])]
    try:
        work(0, bounds[1])
    finally:
        for other in others:
            other.result()


def _after_fork() -> None:
    global _pool
    _pool = None  # the child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def pointer(x: Tensor) -> ctypes.c_void_p:
    """The address of a contiguous CPU tensor's values."""
    assert x.is_contiguous(), "the kernels take contiguous tensors"
    return ctypes.c_void_p(x.data_ptr())


def integers(*values: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(value) for value in values]
