""".edf, .bdf and .fif files: mne reads them, after a look at whether they are whole.

mne itself reads what is left of a file that was cut short, so the sizes that the headers claim are compared first with
the bytes that are there.
"""

import os
import shutil
import struct
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, reading
from qpwl_core.data.formats.writers import VALUE
from qpwl_core.data.recordings import Recordings, check_different

VOLTS = ("uV", "µV", "μV", "mV", "V")
FIF_REFERENCES = (116, 117, 118)   # tags that name another file, where a long recording goes on


def read_edf(source) -> Recordings:
    """One sequence from an open EDF or BDF file; the file's name says whose."""
    with reading("an .edf or .bdf file"), _quiet():
        units = _check_edf(source.file, source.max_bytes)
        import mne

        from qpwl_core.data.mne_bridge import from_raw

        with _path_of(source) as path:
            read = mne.io.read_raw_bdf if source.suffix == ".bdf" else mne.io.read_raw_edf
            raw = read(path, stim_channel="auto", verbose="ERROR")
            # mne takes every channel but triggers for EEG in volts; those in other units are none.
            other = [name for name, kind in zip(raw.ch_names, raw.get_channel_types(), strict=True)
                     if kind == "eeg" and units[name] not in VOLTS]
            raw.set_channel_types(dict.fromkeys(other, "misc"), verbose="ERROR")
            return from_raw(raw, source.subject, source.stimulus, lazy=source.lazy, max_bytes=source.max_bytes)


def _check_edf(file, max_bytes):
    """Units of the signals by name, from a header that agrees with the file's size."""
    header = file.read(256)
    width = 3 if header[:8] == b"\xffBIOSEMI" else 2
    if len(header) < 256 or (width == 2 and header[:8].strip() != b"0"):
        raise RecordingsError("is not an .edf or .bdf file, or is cut short")
    if header[192:197] in (b"EDF+D", b"BDF+D"):
        raise RecordingsError("has gaps in time (EDF+D), which are not read")
    length, records, signals = (int(header[a:b]) for a, b in ((184, 192), (236, 244), (252, 256)))
    if signals < 1 or records < 1 or length != 256 * (signals + 1):
        raise RecordingsError(f"claims {signals} signals, {records} blocks and a header of {length} bytes")
    fields = file.read(256 * signals).decode("latin-1")
    labels = [fields[16 * i:16 * i + 16].strip() for i in range(signals)]
    units = [fields[96 * signals + 8 * i:][:8].strip() for i in range(signals)]
    samples = [int(fields[216 * signals + 8 * i:][:8]) for i in range(signals)]
    claimed, there = length + width * records * sum(samples), file.seek(0, os.SEEK_END)
    if min(samples) < 1 or claimed != there:
        raise RecordingsError(f"must have {claimed} bytes by its header, and has {there}: cut short or damaged")
    kept = [i for i, label in enumerate(labels) if not label.endswith("Annotations")]
    if len({samples[i] for i in kept}) != 1:  # mne would resample the slower ones
        raise RecordingsError("must have channels of one rate: pick them with mne, and use from_raw")
    check_different([labels[i] for i in kept], "channel names")
    check_size(records * samples[kept[0]] * len(kept) * VALUE.itemsize, max_bytes)
    return {labels[i]: units[i] for i in kept}


def read_fif(source) -> Recordings:
    """One sequence from a raw .fif file, or one per epoch; the file's name says whose, or the epochs' metadata."""
    with reading("a .fif file"), _quiet():
        directory = _check_fif(source.file)
        import mne

        from qpwl_core.data.mne_bridge import from_raw

        with _path_of(source, directory) as path:
            try:
                raw = mne.io.read_raw_fif(path, verbose="ERROR")
            except ValueError as error:
                if "No raw data" not in str(error):
                    raise
                return _read_epochs(path, source)
            _check_claim(raw.n_times * len(raw.ch_names), source.file)
            return from_raw(raw, source.subject, source.stimulus, lazy=source.lazy, max_bytes=source.max_bytes)


def _read_epochs(path, source):
    import mne

    from qpwl_core.data.mne_bridge import from_epochs

    epochs = mne.read_epochs(path, preload=False, verbose="ERROR")
    try:
        _check_claim(len(epochs) * len(epochs.times) * len(epochs.ch_names), source.file)
        named = epochs.metadata is not None and "subject" in epochs.metadata
        return from_epochs(epochs, None if named else source.subject, lazy=source.lazy, max_bytes=source.max_bytes)
    finally:
        for part in getattr(epochs, "_raw", None) or ():
            part.fid.close()  # mne leaves that to the garbage collector


def _check_fif(file):
    """Walk the tags (kind, type, size, next, data) from the first to the last; where the directory's place is noted."""
    end, position, directory = file.seek(0, os.SEEK_END), 0, None
    while True:
        file.seek(position)
        tag = file.read(16)
        if len(tag) < 16:
            raise RecordingsError("is not a .fif file, or is cut short")
        kind, _, size, following = struct.unpack(">iIii", tag)
        if (position == 0) != (kind == 100) or size < 0 or position + 16 + size > end:
            raise RecordingsError("is not a .fif file, or is cut short or damaged")
        if kind in FIF_REFERENCES:
            raise RecordingsError("is one of several files of one recording: save it as one file")
        if kind == 101 and directory is None:
            directory = position + 16
        if following == -1:
            return directory
        after = position + 16 + size if following == 0 else following
        if after <= position:
            raise RecordingsError("is a damaged .fif file: its tags run in a circle")
        position = after


def _check_claim(values, file):
    """A value takes at least two bytes in a .fif file; gaps that are claimed but not there could be endless."""
    if 2 * values > file.seek(0, os.SEEK_END):
        raise RecordingsError(f"claims {values} values, more than the file can hold")


@contextmanager
def _quiet():
    """Without mne's warnings about file names, dates and the like; what matters is checked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _path_of(source, fif_directory=None):
    """A path that mne can read: the file's own, or for an upload that of a copy under a name of ours."""
    if source.path is not None:
        yield str(source.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload_raw{source.suffix}"
        with open(path, "wb") as copy:
            source.file.seek(0)
            shutil.copyfileobj(source.file, copy)
            if fif_directory is not None:  # a directory could list tags that the walk did not see; -1: there is none
                copy.seek(fif_directory)
                copy.write(b"\xff" * 4)
        yield str(path)
