"""Text files in UTF-8: a long table of many sequences, or the bare channels of one.

Long: columns ``subject``, ``sequence`` and optionally ``stimulus`` and ``imitates`` (empty where nobody), and one
column per channel; the rows of one subject and sequence belong together wherever they stand. Bare: one column per
channel; the file's name says whose it is. Lines that begin with ``#`` may stand on top: ``# rate: 250`` gives the rate
in Hz, ``# info: {...}``, as JSON, the rest.
Tables of phyphox and Sensor Logger are known by their header (`phones.py`).
Columns are separated by commas, or by semicolons or tabs, as spreadsheets write them where numbers have decimal commas.
"""

import csv
import io
import json
from array import array
from operator import itemgetter

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.bounds import CSV_LINE as LINE
from qpwl_core.common.sheets import text_of
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, new_values, reading
from qpwl_core.data.formats.phones import is_phone_table, phone_recordings
from qpwl_core.data.formats.writers import KEYS, VALUE
from qpwl_core.data.recordings import BLOCK, Recordings, check_different, checked_rate


def read_csv(source) -> Recordings:
    """Recordings from a .csv file."""
    text = None
    try:
        with reading("a .csv file"):
            lines = _count_lines(source.file)
            text = io.TextIOWrapper(source.file, encoding="utf-8-sig", newline="")
            return _read(text, lines, source)
    except RecordingsError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise RecordingsError("must be text in UTF-8, and is not (save it again as UTF-8)") from error.__cause__
        raise
    finally:
        if text is not None:
            text.detach()  # else it would close the caller's file


def _count_lines(file):
    """At least the number of lines, whatever ends them."""
    count = 1
    while data := file.read(BLOCK):
        count += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    file.seek(0)
    return count


def _lines(text):
    while line := text.readline(LINE):
        if len(line) == LINE:
            raise RecordingsError(f"has a line of more than {LINE:,} characters")
        yield line


def _read(text, most_lines, source):
    lines, above, line_number = _lines(text), {}, 0
    for line in lines:
        line_number += 1
        if not line.startswith("#"):
            break
        key, _, value = line[1:].partition(":")
        above[key.strip().lower()] = value.strip()
    else:
        raise RecordingsError("has no table in it")
    delimiter = max(",;\t", key=line.count)                                  # a comma where there is none of them
    header = [text_of(cell.strip()) for cell in next(csv.reader([line], delimiter=delimiter))]
    if is_phone_table(header):
        return phone_recordings(lines, header, delimiter, source, source.name)
    rate, info = _facts(above, source.rate)
    keys, where = _columns(header)
    channels = [header[i] for i in where]
    most_rows = min(most_lines, source.max_bytes // (VALUE.itemsize * len(channels)) + 1)
    values = new_values(most_rows, len(channels), source.lazy)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    number = float if delimiter == "," else _with_comma                      # 0,5 where columns are not split by it
    runs: list[list] = []                                                    # [keys, start, stop]
    try:
        done = _fill(values, rows, header, keys, where, runs, source.max_bytes, number)
    except (RecordingsError, csv.Error) as error:
        raise RecordingsError(f"line {line_number + rows.line_num}: {error}") from error.__cause__
    if not done:
        raise RecordingsError("has a header and no rows")
    if keys:
        sequences, named = _grouped(runs, values, [header[i].lower() for i in keys])
        return Recordings(sequences, named["subject"], channels, rate, named.get("stimulus"), info,
                          named.get("imitates"))
    stimuli = None if source.stimulus is None else [source.stimulus]
    return Recordings([values[:done]], [source.subject], channels, rate, stimuli, info)


def _facts(above, rate):
    """Rate and info from the lines on top."""
    try:
        rate = checked_rate(float(above["rate"])) if "rate" in above else rate
        info = json.loads(above.get("info", "{}"))
    except RecordingsError:
        raise
    except ValueError:
        raise RecordingsError("lines on top must be like '# rate: 250' or '# info: {\"name\": \"walks\"}'") from None
    if rate is None:
        raise RecordingsError("does not say its rate: begin it with a line '# rate: 250', or pass rate=250")
    return rate, info


def _columns(header):
    """Where subject, sequence[, stimulus][, imitates] stand (nowhere in a bare table), and where the channels."""
    names = [cell.lower() if cell.lower() in KEYS else cell for cell in header]
    check_different(names, "column names")
    keys = [names.index(key) for key in KEYS if key in names]
    missing = [key for key in KEYS[:2] if key not in names]
    if keys and missing:
        raise RecordingsError(f"must have the columns subject and sequence, and {' and '.join(missing)} is missing")
    where = [i for i, name in enumerate(names) if name not in KEYS]
    if not where:
        raise RecordingsError(f"must have a column for each channel, and the header is {shown(','.join(header))}")
    if not keys and all(_is_number(name) for name in header):
        raise RecordingsError("the first line must name the columns, and holds numbers")
    return keys, where


def _fill(values, rows, header, keys, where, runs, max_bytes, number):
    """Put the numbers into ``values``, and runs of rows with equal keys, [keys, start, stop], into ``runs``."""
    keys_of = itemgetter(*keys) if keys else lambda cells: None
    numbers_of = itemgetter(*where) if len(where) > 1 else lambda cells: (cells[where[0]],)
    pending, done = array("d"), 0
    for cells in rows:
        if not cells:
            continue
        if len(cells) != len(header):
            raise RecordingsError(f"there are {len(cells)} columns, and {len(header)} in the header")
        if not runs or runs[-1][0] != keys_of(cells):
            runs.append([keys_of(cells), done, done])
            if len(runs) > bounds.SEQUENCES:
                raise RecordingsError(f"more than {bounds.SEQUENCES:,} sequences, or rows that are not in order")
        try:
            pending.extend(map(number, numbers_of(cells)))
        except ValueError:
            i = next(i for i in where if not _is_number(cells[i], number))
            raise RecordingsError(f"column {shown(header[i])} must hold numbers, not {shown(cells[i])}") from None
        done += 1
        runs[-1][2] = done
        if len(pending) >= BLOCK:
            pending = _flush(pending, values, done, max_bytes)
    _flush(pending, values, done, max_bytes)
    return done


def _flush(pending, values, done, max_bytes):
    check_size(done * values.shape[1] * VALUE.itemsize, max_bytes)
    block = np.array(pending).reshape(-1, values.shape[1])
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        values[done - len(block):done] = block
    return array("d")


def _with_comma(cell):
    """A number in a table whose columns are separated by something else than commas."""
    return float(cell.replace(",", "."))


def _is_number(cell, number=float):
    try:
        number(cell)
    except ValueError:
        return False
    return True


def _grouped(runs, values, names):
    """Sequences from the runs, those of one subject and sequence joined, and {key: one cell per sequence}."""
    parts: dict[tuple[str, str], list[np.ndarray]] = {}
    cells_of: dict[tuple[str, str], list[str]] = {}
    for keys, start, stop in runs:
        cells = [text_of(key.strip()) for key in keys]
        which = cells[0], cells[1]
        parts.setdefault(which, []).append(values[start:stop])
        for name, before, now in zip(names, cells_of.setdefault(which, cells), cells, strict=True):
            if before != now:
                raise RecordingsError(f"sequence {shown(cells[1])} of subject {shown(cells[0])} must have one {name}, "
                                      f"not {shown(before)} and {shown(now)}")
    sequences = [part[0] if len(part) == 1 else np.concatenate(part) for part in parts.values()]
    return sequences, {name: [cells[i] for cells in cells_of.values()] for i, name in enumerate(names)}
