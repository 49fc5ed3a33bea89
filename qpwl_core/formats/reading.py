"""Which reader takes which file."""

from pathlib import Path, PurePath

from qpwl_core.formats.npz import read_npz
from qpwl_core.recordings import Recordings, RecordingsError, shown


def _npz(file, name, rate, lazy, max_bytes):
    return read_npz(file, lazy=lazy, max_bytes=max_bytes)


READERS = {".npz": _npz}


def read_path(path, **options) -> Recordings:
    """Recordings from a file or a folder on disk."""
    path = Path(path)
    if not path.is_file():
        raise RecordingsError("there is no such file or folder")
    with open(path, "rb") as file:
        return read_open(file, path.name, **options)


def read_open(file, name, *, rate=None, lazy=None, max_bytes) -> Recordings:
    """Recordings from an open binary file that can seek; its name only says the format."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in READERS:
        raise RecordingsError(f"must end in {', '.join(READERS)}, not {shown(suffix)}")
    if not file.seek(0, 2):
        raise RecordingsError("is empty")
    file.seek(0)
    return READERS[suffix](file, name, rate, lazy, max_bytes)
