"""How much memory there is, and a limit on what this process may take, where the system has such limits."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

try:
    import resource
except ImportError:                              # not on Windows
    resource = None                              # type: ignore[assignment]  # a module, where there is one

PLENTY = 2**62
ARENA_MAX = -8                                   # what glibc's mallopt calls it


def limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has now; beyond, Python raises MemoryError.

    What is limited is memory to write to: address space that CUDA or an allocator only reserves does not count.
    """
    if resource is not None and used_memory():
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = used_memory() + more
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard),
                                                      hard))


def reserve_little() -> None:
    """Keep this process from reserving gigabytes of address space that it never uses, for ``ulimit -v`` counts them.

    Where glibc gives every thread an arena of its own, two do; Arrow's pool is the system's. To be called early.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, 2)


def first_to_go() -> None:
    """Where memory ends, the system shall take this process and no server."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")


def unlimited() -> None:
    """Take the limit back."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def used_memory() -> int:
    """Bytes that this process could write to; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0


def machine_memory() -> int:
    """Bytes that this process could have at most: of the machine, its container and its own limit."""
    found = [PLENTY]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with contextlib.suppress(OSError, IndexError):
        group = Path("/proc/self/cgroup").read_text(encoding="utf-8").strip().split("::", 1)[1].lstrip("/")
        for place in (Path("/sys/fs/cgroup") / group, Path("/sys/fs/cgroup")):
            with contextlib.suppress(OSError, ValueError):
                found.append(int((place / "memory.max").read_text(encoding="utf-8")))
    if resource is not None:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [soft] if soft != resource.RLIM_INFINITY else []
    return min(found)
