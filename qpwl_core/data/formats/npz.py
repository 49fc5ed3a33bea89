"""The project's format: a zip of plain arrays, read without trusting it and without unpickling.

Members ``values`` (sum T, D), ``lengths`` (n,), ``subjects`` (n,), ``channels`` (D,), ``rate``, and optionally
``stimuli`` (n,) and ``info`` (a JSON object of texts). Nothing is extracted by name, and no size is believed before it
is compared with the bytes that are there.
"""

import json
import os
import sys
import zipfile

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.bounds import DEFLATED as DEFLATE_LIMIT
from qpwl_core.common.bounds import EXPANSION as USUAL_EXPANSION
from qpwl_core.common.bounds import EXPANSION_FREE as SMALL
from qpwl_core.common.text import shown, size
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, is_large, map_values, new_values, reading, split_values
from qpwl_core.data.formats.writers import VALUE
from qpwl_core.data.recordings import BLOCK, Recordings

REQUIRED = ("values", "lengths", "subjects", "channels", "rate")
OPTIONAL = ("stimuli", "info", "imitates")


def read_npz(source) -> Recordings:
    """Recordings from an .npz file."""
    with reading("an .npz file"), zipfile.ZipFile(source.file) as archive:
        members = _members(archive, source)
        lengths, subjects, channels, rate = (_small(archive, members[name]) for name in REQUIRED[1:])
        stimuli, info, imitates = (_small(archive, members[name]) if name in members else None for name in OPTIONAL)
        values = _values(archive, members["values"], source)
        return Recordings(_split(values, lengths), subjects, channels, rate[()],
                          stimuli, {} if info is None else _info(info), imitates)


def _members(archive, source):
    """The zip's members by array name, each with a size that can be true."""
    total = source.file.seek(0, os.SEEK_END)
    members = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name not in REQUIRED + OPTIONAL or not entry.filename.endswith(".npy"):
            raise RecordingsError(f"must hold only the arrays {', '.join(REQUIRED + OPTIONAL)}, "
                                  f"and holds {shown(entry.filename)}")
        if name in members:
            raise RecordingsError(f"holds the array {name} twice")
        if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RecordingsError(f"the array {name} must be stored or deflated and not encrypted")
        most = entry.compress_size * (DEFLATE_LIMIT if entry.compress_type == zipfile.ZIP_DEFLATED else 1)
        if entry.compress_size > total or entry.file_size > most:
            raise RecordingsError(f"the array {name} claims {size(entry.file_size)}, more than the file can hold")
        if entry.file_size > max(SMALL, USUAL_EXPANSION * entry.compress_size):
            raise RecordingsError(f"the array {name} would expand {entry.file_size // entry.compress_size} times "
                                  f"to {size(entry.file_size)}: a zip bomb")
        members[name] = entry
    missing = [name for name in REQUIRED if name not in members]
    if missing:
        raise RecordingsError(f"must hold the arrays {', '.join(REQUIRED)}, and {', '.join(missing)} is missing")
    check_size(sum(entry.file_size for entry in members.values()), source.max_bytes)
    return members


def _header(stream, entry):
    """Shape, order and type of an array, checked against the bytes the member has."""
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise RecordingsError(f"{entry.filename} must be in version 1.0 of the .npy format, not {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise RecordingsError(f"{entry.filename} holds pickled objects, which are never read")
    count = 1
    for length in shape:
        count *= length
    there = entry.file_size - stream.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != there:
        raise RecordingsError(f"{entry.filename} claims an array {shape} of {dtype}, "
                              f"{size(count * dtype.itemsize)}, and has {size(there)}")
    return shape, fortran, dtype


def _small(archive, entry):
    """A whole array other than the values, read when its header has shown that it can be one."""
    with archive.open(entry) as stream:
        shape, fortran, dtype = _header(stream, entry)
        name = entry.filename.removesuffix(".npy")
        most = bounds.CHANNELS if name == "channels" else bounds.SEQUENCES
        if len(shape) > 1 or (shape and shape[0] > most):
            raise RecordingsError(f"{name} must be a list of at most {most:,}, and is an array {shape}")
        heaviest = bounds.INFO_BYTES if name == "info" else bounds.NAME_BYTES
        if entry.file_size > heaviest:
            raise RecordingsError(f"{name} takes {size(entry.file_size)}, and may take at most {size(heaviest)}")
        data = stream.read()
    if dtype.kind == "U":  # numpy would make text of any number, and text that cannot be breaks Python
        codes = np.frombuffer(data, np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise RecordingsError(f"{entry.filename} holds numbers that are no characters")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _values(archive, entry, source):
    """The values (sum T, D) float32: filled block by block, or mapped where they lie."""
    with archive.open(entry) as stream:
        shape, fortran, dtype = _header(stream, entry)
        start = stream.tell()
        if len(shape) != 2 or 0 in shape:
            raise RecordingsError(f"values must be an array (samples, channels) with at least one of each, not {shape}")
        if dtype.kind not in "iuf":
            raise RecordingsError(f"values must hold real numbers, not {dtype}")
        check_size(shape[0] * shape[1] * VALUE.itemsize, source.max_bytes)
        as_is = dtype == VALUE and not fortran and entry.compress_type == zipfile.ZIP_STORED and source.path
        offset = _offset(source.file, entry) + start if as_is else 0
        mapped = as_is and offset % VALUE.itemsize == 0 and is_large(shape[0] * shape[1] * VALUE.itemsize, source.lazy)
        rows, columns = shape[::-1] if fortran else shape
        values = None if mapped else new_values(rows, columns, source.lazy)
        flat = None if values is None else values.reshape(-1)
        done = 0
        while data := stream.read(BLOCK * dtype.itemsize):  # mapped or not: reading to the end checks the sum
            if flat is not None:
                with np.errstate(over="ignore"):
                    flat[done:done + len(data) // dtype.itemsize] = np.frombuffer(data, dtype)
            done += len(data) // dtype.itemsize
    if done != rows * columns:
        raise RecordingsError("the array values is cut short")
    if values is None:
        return map_values(source.file, offset, rows, columns)
    return values.T if fortran else values


def _offset(file, entry):
    """Where a stored member's bytes begin: after its local header of 30 bytes, its name and its extra field."""
    place = file.tell()
    file.seek(entry.header_offset)
    header = file.read(30)
    file.seek(place)
    return entry.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def _split(values, lengths):
    """The sequences, if the lengths fit the values."""
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise RecordingsError(f"lengths must be an array (n,) of integers, not {lengths.shape} of {lengths.dtype}")
    if not 1 <= len(lengths) <= bounds.SEQUENCES:
        raise RecordingsError(f"there must be 1 to {bounds.SEQUENCES:,} sequences, and there are {len(lengths):,}")
    lengths = lengths.tolist()  # Python's integers: no sum of them overflows
    if min(lengths) < 1:
        raise RecordingsError(f"each of the lengths must be at least 1, and one is {min(lengths)}")
    if sum(lengths) != len(values):
        raise RecordingsError(f"lengths add up to {sum(lengths)} samples, and values have {len(values)}")
    return split_values(values, lengths)


def _info(array):
    if array.ndim != 0 or array.dtype.kind != "U":
        raise RecordingsError(f"info must be one JSON text, not an array {array.shape} of {array.dtype}")
    return json.loads(str(array))
