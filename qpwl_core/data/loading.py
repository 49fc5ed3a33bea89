"""Recordings from a file or a folder, whatever its format; any failure is one sentence."""

from __future__ import annotations

from pathlib import Path

from qpwl_core.common.bounds import VALUES_BYTES_FILE as MAX_BYTES
from qpwl_core.common.text import shown
from qpwl_core.data.recordings import Recordings, RecordingsError, checked_rate


def load_recordings(path, *, name=None, rate=None, lazy=None, max_bytes=MAX_BYTES) -> Recordings:
    """Recordings from a file (.npz, .csv, .edf, .bdf, .fif) or a folder of such files; any failure is one sentence.

    ``path``: a path, or an open binary file (an upload) with the ``name`` it goes by: only messages, the extension and,
    for a file of one sequence, the subject come from a name, never a path. ``rate``: Hz of a .csv that does not say.
    ``lazy``: whether values stay on disk, mapped into memory (by default where they are large beside the memory that is
    free). ``max_bytes``: bound on the values as float32, for files one does not trust.
    """
    from qpwl_core.data.formats.folder import read_folder
    from qpwl_core.data.formats.readers import read_file, read_upload

    given = hasattr(path, "read")
    if given and not name:
        raise RecordingsError("an open file needs a name, such as name='walk.npz'")
    label = name if given else Path(path).name or str(path)
    try:
        rate = None if rate is None else checked_rate(rate)
        if given:
            recordings = read_upload(path, name, rate, lazy, max_bytes)
        elif Path(path).is_dir():
            recordings = read_folder(path, rate, lazy, max_bytes)
        else:
            recordings = read_file(path, rate, lazy, max_bytes)
        if rate not in (None, recordings.rate):
            raise RecordingsError(f"says {recordings.rate:g} Hz, and rate={rate:g} was given")
    except RecordingsError as error:
        raise RecordingsError(f"{shown(label)}: {error}") from error.__cause__
    except OSError as error:
        raise RecordingsError(f"{shown(label)}: cannot be read ({error.strerror or error})") from error
    return recordings
