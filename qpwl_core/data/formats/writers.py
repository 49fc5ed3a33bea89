"""Recordings into .npz and .csv files, whole or not at all; equal recordings give equal bytes."""

import io
import json
import zipfile

import numpy as np

from qpwl_core.common.files import whole_file
from qpwl_core.common.sheets import row_of
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError

VALUE = np.dtype("<f4")   # a value, in memory and in the files we write
KEYS = ("subject", "sequence", "stimulus", "imitates")   # columns of a long table that are no channels


def write_npz(recordings, path, compressed=True):
    """Write the file; equal recordings give equal bytes, since no time and no folder goes in."""
    with whole_file(path) as file:
        put_npz(recordings, file, compressed)


def put_npz(recordings, file, compressed=True):
    """The same into an open binary file, such as one in memory."""
    arrays = {"lengths": recordings.lengths, "subjects": recordings.subjects, "channels": np.array(recordings.channels),
              "rate": np.array(recordings.rate)}
    if recordings.stimuli is not None:
        arrays["stimuli"] = recordings.stimuli
    if recordings.imitates is not None:
        arrays["imitates"] = recordings.imitates
    if recordings.info:
        arrays["info"] = np.array(json.dumps(recordings.info, sort_keys=True))
    shape = (int(recordings.lengths.sum()), len(recordings.channels))
    with zipfile.ZipFile(file, "w") as archive:
        _write(archive, "values", shape, VALUE, recordings.sequences, compressed)
        for name, array in arrays.items():
            array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
            _write(archive, name, array.shape, array.dtype, [array], compressed)


def _write(archive, name, shape, dtype, parts, compressed):
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same on every system
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(entry, "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts:
            stream.write(np.ascontiguousarray(part, dtype).data.cast("B") if part.size else b"")


def write_csv(recordings, path):
    """Write the long table; nine digits give every float32 back exactly."""
    clash = [name for name in recordings.channels if name.lower() in KEYS]
    if clash:
        raise RecordingsError(f"{shown(path.name)}: a table cannot have a channel that is called {shown(clash[0])}")
    with whole_file(path) as file:
        put_csv(recordings, file)


def put_csv(recordings, file):
    """The same into an open binary file, such as one in memory."""
    named = {"subject": recordings.subjects, "sequence": range(1, len(recordings) + 1), "stimulus": recordings.stimuli,
             "imitates": recordings.imitates}
    keys = {key: names for key, names in named.items() if names is not None}
    row = ",%.9g" * len(recordings.channels) + "\n"
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    text.write(f"# rate: {recordings.rate!r}\n")
    if recordings.info:
        text.write(f"# info: {_in_one_cell(recordings.info)}\n")
    text.write(row_of([*keys, *recordings.channels]) + "\n")
    for values, *cells in zip(recordings.sequences, *keys.values(), strict=True):
        start = row_of(cells)
        text.writelines(start + row % tuple(sample) for sample in values.tolist())
    text.detach()


def _in_one_cell(info):
    """Text as JSON of which a spreadsheet makes no further cells: commas inside the text are written as codes."""
    said = ("{}: {}".format(*(json.dumps(x).replace(",", "\\u002c").replace(";", "\\u003b") for x in pair))
            for pair in sorted(info.items()))
    return "{" + ", ".join(said) + "}"
