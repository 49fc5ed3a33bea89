"""What a phone's sensors measured, as phyphox and Sensor Logger export it: acceleration and rotation of one walk.

phyphox writes a table per sensor, ``"Time (s)","Acceleration x (m/s^2)",…``, or one of several sensors; Sensor Logger
one per sensor, ``time,seconds_elapsed,z,y,x``, and the name of the file says which. Both give a .zip of them; one table
alone is read, too. Sensors have clocks of their own and uneven steps: each is averaged over even steps of 20 ms, where
all of them were on, so that walks have the channels, units and rate of HAPT (acceleration in g, rotation in rad/s, 50
Hz) and models of one read the other.
"""

import csv
import io
import re
import zipfile
from array import array
from pathlib import PurePosixPath

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.bounds import PHONE_GAP as WIDEST
from qpwl_core.common.bounds import PHONE_LINE as LINE
from qpwl_core.common.bounds import PHONE_MEMBERS as MEMBERS
from qpwl_core.common.bounds import PHONE_SECONDS as LONGEST
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import Source, check_size, reading
from qpwl_core.data.recordings import Recordings

RATE = 50.0
GRAVITY = 9.80665                      # m/s² in one g
PHYPHOX = re.compile(r"(linear )?(acceleration|gyroscope) ([xyz]) \((m/s\^2|m/s²|rad/s)\)", re.IGNORECASE)
LOGGER = ("seconds_elapsed", "x", "y", "z")
FILES = {"totalacceleration": "total", "accelerometer": "moving", "gravity": "gravity", "gyroscope": "gyro"}


def is_phone_table(header: list[str]) -> bool:
    """Whether the names of columns are those of phyphox or Sensor Logger."""
    names = [name.strip().lower() for name in header]
    return set(LOGGER) <= set(names) or ("time (s)" in names and any(PHYPHOX.fullmatch(name) for name in names))


def phone_recordings(lines, header: list[str], delimiter: str, source: Source, name: str) -> Recordings:
    """Recordings from one table whose header was read already."""
    return _recordings(_sensors(lines, header, delimiter, source.max_bytes, name), source)


def read_zip(source: Source) -> Recordings:
    """Recordings from the .zip that an app exports: all tables of sensors in it belong to one walk."""
    with reading("a .zip file"), zipfile.ZipFile(source.file) as archive:
        members = [member for member in archive.infolist() if member.filename.lower().endswith(".csv")]
        if len(members) > MEMBERS:
            raise RecordingsError(f"holds {len(members)} tables, and an export of a phone at most {MEMBERS}")
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for member in members:
            if member.file_size > 8 * source.max_bytes:
                raise RecordingsError(f"{shown(member.filename)} in it is too large")
            with archive.open(member) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
                line = text.readline(LINE)
                delimiter = max(",;\t", key=line.count)
                header = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
                if is_phone_table(header):
                    name = PurePosixPath(member.filename).stem
                    found |= {kind: each for kind, each in _sensors(text, header, delimiter, source.max_bytes,
                                                                    name).items() if kind not in found}
    if not found:
        raise RecordingsError("holds no table of acceleration or rotation as phyphox or Sensor Logger writes it")
    return _recordings(found, source)


def _sensors(lines, header, delimiter, max_bytes, name) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Sensors of a table: total, moving (without gravity), gravity or gyro -> times (T,) in seconds, values (T, 3)."""
    names = [cell.strip().lower() for cell in header]
    wanted: dict[str, list[int]] = {}
    if set(LOGGER) <= set(names):
        time, kind = names.index("seconds_elapsed"), FILES.get(re.sub(r"[^a-z]", "", name.lower()))
        if kind is None:
            fits = [kind for part, kind in FILES.items() if part in re.sub(r"[^a-z]", "", name.lower())]
            if not fits:
                return {}                         # a magnetometer, an orientation, …
            kind = fits[0]
        wanted[kind] = [names.index(axis) for axis in "xyz"]
    else:
        time = names.index("time (s)")
        for i, cell in enumerate(names):
            if match := PHYPHOX.fullmatch(cell):
                kind = "gyro" if match[2] == "gyroscope" else "moving" if match[1] else "total"
                wanted.setdefault(kind, [-1, -1, -1])["xyz".index(match[3])] = i
    table = _numbers(lines, delimiter, len(header), max_bytes)
    found = {}
    for kind, columns in wanted.items():
        if -1 in columns:
            raise RecordingsError(f"must have x, y and z of a sensor, and {'xyz'[columns.index(-1)]} is missing")
        rows = np.isfinite(table[:, [time, *columns]]).all(axis=1)
        if rows.sum() >= 2:
            found[kind] = table[rows, time], table[rows][:, columns]
    if wanted and not found:
        raise RecordingsError("has a header and no rows")
    return found


def _numbers(lines, delimiter, columns, max_bytes) -> np.ndarray:
    """The rows of a table (T, columns); a cell that is no number is NaN."""
    values, comma = array("d"), delimiter != ","
    for i, cells in enumerate(csv.reader(lines, delimiter=delimiter)):
        if not cells:
            continue
        if len(cells) != columns:
            raise RecordingsError(f"line {i + 2}: there are {len(cells)} columns, and {columns} in the header")
        for cell in cells:
            try:
                values.append(float(cell.replace(",", ".") if comma else cell))
            except ValueError:
                values.append(np.nan)
        if i % 4096 == 0:
            check_size(4 * len(values), max_bytes)
    return np.array(values).reshape(-1, columns)


def _recordings(sensors, source) -> Recordings:
    """One sequence of all sensors at 50 Hz, over the time that all of them were on."""
    if "total" not in sensors and {"moving", "gravity"} <= set(sensors):
        times, moving = sensors["moving"]
        still = [np.interp(times, sensors["gravity"][0], column) for column in sensors["gravity"][1].T]
        sensors["total"] = times, moving + np.column_stack(still)
    acceleration = "total" if "total" in sensors else "moving"
    used = [kind for kind in (acceleration, "gyro") if kind in sensors]
    if not used:
        raise RecordingsError("must hold acceleration or rotation")
    ordered = {kind: _in_order(*sensors[kind]) for kind in used}
    start, end = max(times[0] for times, _ in ordered.values()), min(times[-1] for times, _ in ordered.values())
    if end - start < 2 / RATE:
        raise RecordingsError("its sensors were never on at the same time")
    if end - start > LONGEST:
        raise RecordingsError(f"lasts {end - start:.0f} seconds, more than a day: its clock is broken")
    check_size(int((end - start) * RATE) * 3 * len(used) * 4, source.max_bytes)
    parts = [_averaged(*ordered[kind], start, end) / (1 if kind == "gyro" else GRAVITY) for kind in used]
    channels = [f"{'gyro' if kind == 'gyro' else 'acc'}_{axis}" for kind in used for axis in "xyz"]
    units = "acceleration in g" + (" without gravity" if acceleration == "moving" else "") + ", rotation in rad/s"
    return Recordings([np.column_stack(parts)], [source.subject], channels, RATE,
                      None if source.stimulus is None else [source.stimulus], {"domain": "gait", "units": units})


def _in_order(times, values) -> tuple[np.ndarray, np.ndarray]:
    """Samples by rising time, the first of those at one time; what makes no walk is refused."""
    times, first = np.unique(times, return_index=True)
    if len(times) < 2:
        raise RecordingsError("a sensor has fewer than two samples")
    if wrong := bounds.within("seconds since the start", float(np.abs(times).max()), 0, 1e10):
        raise RecordingsError(wrong)
    if (longest := float(np.diff(times).max())) > WIDEST:
        raise RecordingsError(f"a sensor was silent for {longest:.0f} seconds: record again with the screen on")
    return times, values[first]


def _averaged(times, values, start, end) -> np.ndarray:
    """The mean of the straight line between samples over every even step from ``start`` to ``end``. -> (T, 3)"""
    edges = start + np.arange(int((end - start) * RATE + 1e-6) + 1) / RATE
    every = np.union1d(times, edges)
    columns = []
    for column in values.T:
        line = np.interp(every, times, column)
        area = np.append(0.0, np.cumsum(np.diff(every) * (line[1:] + line[:-1]) / 2))
        columns.append(np.diff(area[np.searchsorted(every, edges)]) / np.diff(edges))
    return np.column_stack(columns)
