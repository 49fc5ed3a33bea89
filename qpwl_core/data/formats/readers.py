"""Which reader takes which file."""

from pathlib import Path, PurePath

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import Source
from qpwl_core.data.formats.eeg_files import read_edf, read_fif
from qpwl_core.data.formats.filenames import subject_and_stimulus
from qpwl_core.data.formats.long_csv import read_csv
from qpwl_core.data.formats.npz import read_npz
from qpwl_core.data.formats.phones import read_zip
from qpwl_core.data.recordings import Recordings

READERS = {".npz": read_npz, ".csv": read_csv, ".edf": read_edf, ".bdf": read_edf, ".fif": read_fif,
           ".zip": read_zip}


def read_file(path, rate, lazy, max_bytes, whose=None) -> Recordings:
    """Recordings from a file on disk; ``whose``: (subject, stimulus), else as the file's name says."""
    path = Path(path)
    if not path.is_file():
        raise RecordingsError("there is no such file or folder")
    suffix = _suffix(path.name)
    subject, stimulus = whose or subject_and_stimulus(path.name)
    with open(path, "rb") as file:
        return _read(Source(file, suffix, path, subject, stimulus, rate, lazy, max_bytes, path.stem))


def read_upload(file, name, rate, lazy, max_bytes) -> Recordings:
    """Recordings from an open binary file that can seek; no path is ever made of its name."""
    return _read(Source(file, _suffix(name), None, *subject_and_stimulus(name), rate, lazy, max_bytes,
                        PurePath(name).stem))


def _suffix(name):
    suffix = PurePath(name).suffix.lower()
    if suffix not in READERS:
        raise RecordingsError(f"must be a folder or end in {', '.join(READERS)}, not in {shown(suffix)}")
    return suffix


def _read(source):
    if not source.file.seek(0, 2):
        raise RecordingsError("is empty")
    source.file.seek(0)
    return READERS[source.suffix](source)
