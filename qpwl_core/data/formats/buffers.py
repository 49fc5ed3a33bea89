"""What the formats share: values too large for memory, and bounds on what a file may claim."""

import mmap
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from qpwl_core.common.paths import cache_folder
from qpwl_core.common.text import size
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.writers import VALUE


@dataclass(frozen=True)
class Source:
    """A file to read and how: what every reader takes."""

    file: BinaryIO           # open, at its beginning, and can seek
    suffix: str              # its format: .npz, .csv, ...
    path: Path | None        # where it is on disk; None for an upload
    subject: str             # whose sequence it is, if it does not say itself
    stimulus: str | None
    rate: float | None       # Hz, for a file that does not say
    lazy: bool | None        # whether values stay on disk; None: where they are large
    max_bytes: int           # bound on the values as float32
    name: str = ""           # of the file, without its ending


def scratch_file() -> BinaryIO:
    """A file in the cache folder without a name: gone when nothing uses it any more, or in a crash."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=cache_folder())


def available_memory() -> int:
    """Bytes that can be used without swapping, as the system and the job's limit say."""
    limits = []
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
        limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8")))  # of a job or a container
    except (OSError, ValueError, KeyError):  # another system, or "max": no limit
        pass
    return min(limits, default=4 * 2**30)


def is_large(nbytes, lazy=None) -> bool:
    """Whether values of this size stay on disk: as ``lazy`` says, else above a quarter of the available memory."""
    return nbytes > available_memory() // 4 if lazy is None else lazy


def new_values(rows, columns, lazy=None) -> np.ndarray:
    """An array (rows, columns) float32 to fill, in memory or, if large, in an unnamed file in the cache folder."""
    nbytes = rows * columns * VALUE.itemsize
    if not is_large(nbytes, lazy):
        return np.empty((rows, columns), VALUE)
    with scratch_file() as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, nbytes)  # a full disk is an error here, a crash when mapped
            file.truncate(nbytes)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise RecordingsError(f"needs {size(nbytes)} of disk in {cache_folder()}, and {reason}") from None
        return np.memmap(file, VALUE, "r+", shape=(rows, columns))


def map_values(file, offset, rows, columns) -> np.ndarray:
    """Values (rows, columns) where they lie in a file; what is written to them stays in memory."""
    if sys.platform != "linux":
        return np.memmap(file, VALUE, "c", offset=offset, shape=(rows, columns))
    # Linux refuses private maps larger than memory unless told that nothing is to be reserved for them.
    no_reserve = 0x4000  # mmap.MAP_NORESERVE, which Python names from 3.13 on
    pages = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE | no_reserve, mmap.PROT_READ | mmap.PROT_WRITE)
    return np.ndarray((rows, columns), VALUE, pages, offset)


def split_values(values, lengths) -> list[np.ndarray]:
    """Views of the sequences that lie end to end in ``values``."""
    ends = np.cumsum(lengths)
    return [values[end - length:end] for end, length in zip(ends, lengths, strict=True)]


def check_size(nbytes, max_bytes):
    """Refuse values beyond the bound, before anything is allocated for them."""
    if nbytes > max_bytes:
        raise RecordingsError(f"holds {size(nbytes)} of values, more than the {size(max_bytes)} that max_bytes allows")


@contextmanager
def reading(kind):
    """Turn whatever a library raises on a damaged file into one sentence."""
    try:
        yield
    except RecordingsError:
        raise
    except MemoryError as error:
        raise RecordingsError("does not fit in memory (lazy=True leaves the values on disk)") from error
    except Exception as error:  # on damaged bytes parsers raise nearly anything: zlib.error, KeyError, ...
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise RecordingsError(f"cannot be read as {kind}, it is cut short, damaged or something else ({reason})"
                              ) from error
