"""A folder of files of one sequence each, or of several.

Files that lie in the folder itself are named ``<subject>_<stimulus>.<ext>``, ``<subject>-<trial>.<ext>`` or
``<subject>.<ext>`` (``filenames.py`` has the rule); files in the folder of a subject belong to that subject, and their
name is the stimulus. Files that name their subjects inside (.npz, long .csv, epochs with metadata) keep them. All must
have the same channels and rate. Files of other kinds, and hidden ones, are passed over.
"""

import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.bounds import FOLDER_FILES as MAX_FILES
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, is_large, scratch_file, split_values
from qpwl_core.data.formats.filenames import stem_of, subject_and_stimulus
from qpwl_core.data.formats.readers import READERS, read_file
from qpwl_core.data.formats.writers import VALUE
from qpwl_core.data.joining import check_alike
from qpwl_core.data.recordings import BLOCK, Recordings

GROWTH = 4   # values as float32 are seldom larger than so many times their file


def read_folder(folder, rate, lazy, max_bytes) -> Recordings:
    """All sequences of all files, in the order of the files' names."""
    folder = Path(folder)
    files = _files(folder)
    large = is_large(GROWTH * sum(file.stat().st_size for file, _ in files), lazy)
    first: Recordings | None = None
    info: dict[str, str] = {}
    subjects: list[str] = []
    stimuli: list[str] = []
    imitates: list[str] = []
    sequences, lengths, samples = [], [], 0
    # Large: one file for all values. One map per file would take more open files than a system allows.
    with scratch_file() if large else nullcontext() as store:
        for file, whose in files:
            label = shown(file.relative_to(folder))
            try:
                part = read_file(file, rate, None if large else lazy, max_bytes, whose)
                first = first or part
                check_alike(part, first, shown(files[0][0].name))
            except RecordingsError as error:
                raise RecordingsError(f"{label}: {error}") from error.__cause__
            lengths += part.lengths.tolist()
            samples += int(part.lengths.sum())
            check_size(samples * len(first.channels) * VALUE.itemsize, max_bytes)
            if len(lengths) > bounds.SEQUENCES:
                raise RecordingsError(f"holds more than {bounds.SEQUENCES:,} sequences")
            subjects += part.subjects.tolist()
            stimuli += [] if part.stimuli is None else part.stimuli.tolist()
            imitates += [""] * len(part) if part.imitates is None else part.imitates.tolist()
            info = dict(part.info.items() & info.items()) if part is not first else part.info  # what all agree on
            if store is not None:
                _append(store, part.sequences)
            else:
                sequences += part.sequences
        assert first is not None, "there is at least one file"
        if store is not None:
            store.flush()
            values = np.memmap(store, VALUE, "r+", shape=(samples, len(first.channels)))
            sequences = split_values(values, lengths)
    return Recordings(sequences, subjects, first.channels, first.rate, stimuli or None, info, imitates)


def _files(folder):
    """The files to read, [(path, (subject, stimulus))]."""
    found: list[tuple[Path, tuple[str, str | None]]] = []
    for entry in _entries(folder):
        if entry.is_dir():
            found += [(file, (entry.name, stem_of(file.name))) for file in _entries(entry) if _is_wanted(file)]
        elif _is_wanted(entry):
            found.append((entry, subject_and_stimulus(entry.name)))
        if len(found) > MAX_FILES:
            raise RecordingsError(f"holds more than {MAX_FILES:,} files to read")
    if not found:
        raise RecordingsError(f"holds no file that ends in {', '.join(READERS)}")
    return found


def _entries(folder):
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError as error:
        raise RecordingsError(f"the folder {shown(folder.name)} cannot be listed ({error.strerror})") from error


def _is_wanted(path):
    if path.suffix.lower() in READERS and path.is_file():
        return True
    if path.is_dir() or (path.suffix.lower() in READERS and path.is_symlink()):
        raise RecordingsError(f"{shown(path.name)} is a folder in a folder in a folder, or a link that leads nowhere")
    return False


def _append(store, sequences):
    for values in sequences:
        step = max(1, BLOCK // values.shape[1])
        for start in range(0, len(values), step):
            store.write(np.ascontiguousarray(values[start:start + step], VALUE).data)
