"""LTMM: 71 elderly people wear an inertial unit at the back for three days, 100 Hz (the gait data of the paper)."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.download import download
from qpwl_core.data.errors import RecordingsError

SECONDS = 60                 # length of a window
KEEP = 30                    # windows per person
BLOCK = 10                   # windows read at once: 60,000 samples, a few MB
CHANNELS = ("v-acceleration", "ml-acceleration", "ap-acceleration", "yaw-velocity", "pitch-velocity", "roll-velocity")


def read(dataset, folder):
    """A record is days long; of each person the 30 one-minute windows with the largest standard deviation are kept.

    Values stay in g and °/s. The stimulus is the day, so that windows of one day can stay together.
    """
    sequences = []
    for member in sorted(dataset.members(folder), key=lambda member: member.base):
        for start, values in active_windows(member.loose().with_suffix("")):
            sequences.append((member.match["subject"], f"day-{1 + start // int(86400 * dataset.rate)}", values))
    return dataset.recordings(sequences)


def active_windows(record, seconds=SECONDS, keep=KEEP) -> list[tuple[int, np.ndarray]]:
    """The ``keep`` windows of largest standard deviation in a WFDB record: [(first sample, values (T, D) float32)].

    g and °/s differ in scale, so a window's score is the mean over channels of its standard deviation divided by that
    of the whole record, which is what standardising the record first would give. One pass in blocks collects each
    window's count, mean and squares (combined as by Chan et al., so nothing cancels); then only the chosen windows are
    read again. Memory does not grow with the record. Windows with missing samples are passed over; what is left at the
    end, shorter than a window, too. Windows come back in the order of time.
    """
    header = _header(record)
    window = round(seconds * header.fs)
    count = header.sig_len // window
    if count == 0:
        raise RecordingsError(f"{_name(record)} is {header.sig_len / header.fs:.0f} s long, and a window {seconds} s")
    means = np.empty((count, header.n_sig))
    squares = np.empty((count, header.n_sig))        # sum of squared differences from the window's mean
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        block = _samples(record, first * window, last * window).reshape(last - first, window, -1)
        means[first:last] = block.mean(axis=1)
        squares[first:last] = ((block - means[first:last, None]) ** 2).sum(axis=1)
    whole = np.isfinite(means).all(axis=1)
    if not whole.any():
        raise RecordingsError(f"{_name(record)} has no window of {seconds} s without missing samples")
    overall = (squares[whole].sum(axis=0) + window * ((means[whole] - means[whole].mean(axis=0)) ** 2).sum(axis=0))
    scale = np.sqrt(overall / (window * whole.sum()))
    scores = np.where(whole, np.sqrt(squares / window) @ (1 / np.where(scale > 0, scale, 1)), -np.inf)
    chosen = np.sort(np.argsort(-scores, kind="stable")[:min(keep, int(whole.sum()))])
    return [(int(i) * window, _samples(record, i * window, (i + 1) * window).astype(np.float32)) for i in chosen]


@contextmanager
def quiet_wfdb():
    """The library wfdb, without pandas' remarks on what it calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wfdb

        yield wfdb


def _name(record):
    return shown(Path(record).name)


def _header(record):
    """The header, checked against the channels and the size of the samples' file."""
    try:
        with quiet_wfdb() as wfdb:
            header = wfdb.rdheader(str(record))
        names = tuple(str(name).strip().lower() for name in header.sig_name)
        length = int(header.sig_len)
        data = {Path(record).parent / name for name in header.file_name}
        formats = set(header.fmt)
    except Exception:  # wfdb raises whatever its parser meets
        raise RecordingsError(f"{_name(record)} has no header that WFDB can read ({Path(record).name}.hea)") from None
    if names != CHANNELS:
        raise RecordingsError(f"{_name(record)} must have the channels {', '.join(CHANNELS)}, "
                              f"and has {', '.join(names)}")
    for path in data:
        if not path.is_file():
            raise RecordingsError(f"{_name(record)} has no {shown(path.name)} beside its header")
        size, promised = path.stat().st_size, 2 * length * len(names)
        if len(data) == 1 and formats == {"16"} and size < promised:
            raise RecordingsError(f"{shown(path.name)} is cut off: {size} bytes, and its header promises {promised}")
    return header


def _samples(record, start, end):
    """Physical values (end - start, D) float64; missing ones are NaN."""
    try:
        with quiet_wfdb() as wfdb:
            return wfdb.rdrecord(str(record), sampfrom=int(start), sampto=int(end)).p_signal
    except Exception:  # wfdb raises whatever numpy meets in a damaged file
        raise RecordingsError(f"{_name(record)} is damaged between samples {start} and {end}") from None


def fetch(dataset, folder, progress):
    """The records of RECORDS without LabWalks, each checked against PhysioNet's SHA256SUMS.txt."""
    base = dataset.downloads[0]
    sums = download(base + "SHA256SUMS.txt", folder, progress=False).read_text(encoding="utf-8")
    lines = (line.split(maxsplit=1) for line in sums.splitlines() if line.strip())
    listed = {name: checksum for checksum, name in lines}
    names = download(base + "RECORDS", folder, sha256=listed.get("RECORDS"), progress=False)
    records = names.read_text(encoding="utf-8").split()
    for record in records:
        if re.fullmatch(r"(CO|FL)\d{3}", record):
            for name in (f"{record}.hea", f"{record}.dat"):
                download(base + name, folder, sha256=listed.get(name), progress=progress)


LTMM = Dataset(
    name="ltmm", domain="gait", title="three days of an inertial unit at the back, the 30 most active minutes",
    rate=100.0, channels=CHANNELS, subjects=71, licence="ODC-BY 1.0",
    citation="Weiss et al.: Does the evaluation of gait quality during daily life provide insight into fall risk? "
             "Neurorehabilitation and Neural Repair 27(8), 2013; Goldberger et al.: PhysioBank, PhysioToolkit, and "
             "PhysioNet. Circulation 101(23), 2000",
    url="https://physionet.org/content/ltmm/1.0.0/", size="20 GB", example="CO001.hea and CO001.dat of every person",
    pattern=r"(?P<subject>(CO|FL)\d{3})\.hea", exclude=r"(^|/)LabWalks/",
    downloads=("https://physionet.org/files/ltmm/1.0.0/",), fetcher=fetch, reader=read,
    train_subjects=36, test_subjects=35, info=(("units", "acceleration in g, angular velocity in °/s"),))
