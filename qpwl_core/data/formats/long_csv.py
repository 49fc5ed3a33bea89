"""Text files in UTF-8: a long table of many sequences, or the bare channels of one.

Long: columns ``subject``, ``sequence`` and optionally ``stimulus``, and one column a channel; the rows of one subject
and sequence belong together wherever they stand. Bare: one column a channel; the file's name says whose it is. Lines
that begin with ``#`` may stand on top: ``# rate: 250`` gives the rate in Hz, ``# info: {...}``, as JSON, the rest.
"""

import csv
import io
import json
from array import array
from operator import itemgetter

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, new_values, reading
from qpwl_core.data.formats.writers import KEYS, VALUE
from qpwl_core.data.recordings import BLOCK, MAX_SEQUENCES, Recordings, check_different, checked_rate

LINE = 2**20   # longest line, in characters: a file that is one endless line is not read into memory


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
    rate, info = _facts(above, source.rate)
    header = [cell.strip() for cell in next(csv.reader([line]))]
    keys, where = _columns(header)
    channels = [header[i] for i in where]
    most_rows = min(most_lines, source.max_bytes // (VALUE.itemsize * len(channels)) + 1)
    values = new_values(most_rows, len(channels), source.lazy)
    rows = csv.reader(lines, strict=True)
    runs: list[list] = []                                                    # [keys, start, stop]
    try:
        done = _fill(values, rows, header, keys, where, runs, source.max_bytes)
    except (RecordingsError, csv.Error) as error:
        raise RecordingsError(f"line {line_number + rows.line_num}: {error}") from error.__cause__
    if not done:
        raise RecordingsError("has a header and no rows")
    if keys:
        sequences, subjects, stimuli = _grouped(runs, values)
        return Recordings(sequences, subjects, channels, rate, stimuli, info)
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
    """Where subject, sequence[, stimulus] stand (nowhere in a bare table), and where the channels."""
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


def _fill(values, rows, header, keys, where, runs, max_bytes):
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
            if len(runs) > MAX_SEQUENCES:
                raise RecordingsError(f"more than {MAX_SEQUENCES:,} sequences, or rows that are not in order")
        try:
            pending.extend(map(float, numbers_of(cells)))
        except ValueError:
            i = next(i for i in where if not _is_number(cells[i]))
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


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _grouped(runs, values):
    """Sequences, subjects and stimuli from the runs; those of one subject and sequence are joined."""
    parts: dict[tuple[str, str], list[np.ndarray]] = {}
    stimulus_of: dict[tuple[str, str], list[str]] = {}
    for keys, start, stop in runs:
        subject, sequence, *stimulus = (key.strip() for key in keys)
        parts.setdefault((subject, sequence), []).append(values[start:stop])
        if stimulus_of.setdefault((subject, sequence), stimulus) != stimulus:
            raise RecordingsError(f"sequence {shown(sequence)} of subject {shown(subject)} must have one stimulus, not "
                                  f"{shown(stimulus_of[subject, sequence][0])} and {shown(stimulus[0])}")
    sequences = [part[0] if len(part) == 1 else np.concatenate(part) for part in parts.values()]
    stimuli = [stimulus[0] for stimulus in stimulus_of.values() if stimulus]
    return sequences, [subject for subject, _ in parts], stimuli or None
