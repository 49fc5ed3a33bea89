"""UCI EEG Database: people look at pictures, 64 channels, trials of one second at 256 Hz (the EEG of the paper)."""

from __future__ import annotations

import io
import re
import zlib

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import MEMBER_BYTES, as_text
from qpwl_core.data.errors import RecordingsError

ELECTRODES = """FP1 FP2 F7 F8 AF1 AF2 FZ F4 F3 FC6 FC5 FC2 FC1 T8 T7 CZ C3 C4 CP5 CP6 CP1 CP2 P3 P4 PZ P8 P7 PO2 PO1 O2
O1 X AF7 AF8 F5 F6 FT7 FT8 FPZ FC4 FC3 C6 C5 F2 F1 TP8 TP7 AFZ CP3 CP4 P5 P6 C1 C2 PO7 PO8 FCZ POZ OZ P2 P1 CPZ nd Y"""
CHANNELS = tuple(ELECTRODES.split())


def read(dataset, folder):
    """A file is a trial: four header lines, then ``# FP1 chan 0`` and rows ``trial channel sample µV`` per channel.

    All 64 channels are kept, as in the paper; X and Y (eye) and nd (reference) can be left out with the recipe's
    ``channels``. The stimulus is the condition; a trial that the experimenters marked ``err`` is kept under its own
    condition, say ``S2 match err``. Some official files are empty: they are skipped, and ``info`` counts them.
    """
    def sequence(member):
        text = _unpacked(member)
        return (member.match["subject"], *_trial(text, member.name)) if re.search(r"(?m)^[^#\s]", text) else None

    trials = dataset.in_order(folder, sequence).values()
    sequences = [trial for trial in trials if trial is not None]
    empty = len(trials) - len(sequences)
    if not sequences:
        raise RecordingsError(f"{shown(folder)} holds {empty} files of {dataset.name}, and all of them are empty")
    return dataset.recordings(sequences, empty_files=str(empty))


def _unpacked(member) -> str:
    data = member.read_bytes()
    if not member.base.endswith(".gz") or not data:
        return as_text(data, member.name)
    unpack = zlib.decompressobj(wbits=31)
    try:
        text = unpack.decompress(data, MEMBER_BYTES)
    except zlib.error:
        raise RecordingsError(f"{shown(member.name)} is not a gzip file, or is damaged") from None
    if not unpack.eof:
        reason = "unpacks to more than any trial holds" if len(text) == MEMBER_BYTES else "is cut off"
        raise RecordingsError(f"{shown(member.name)} {reason}")
    return as_text(text, member.name)


def _trial(text, name):
    """Condition and values (T, 64) of one trial."""
    import pandas as pd

    condition = re.search(r"(?m)^# *(S[12] \w+)(?: *,? *(err))?[ ,]*trial +\d+", text)
    if condition is None:
        raise RecordingsError(f"{shown(name)} has no header line such as '# S1 obj , trial 0'")
    wrong = f"{shown(name)} must have rows 'trial channel sample µV', the {len(CHANNELS)} channels one after another"
    try:
        rows = pd.read_csv(io.StringIO(text), sep=" ", comment="#", header=None, index_col=False, keep_default_na=False,
                           names=("trial", "channel", "sample", "value"), dtype={"sample": int, "value": float})
    except ValueError:  # pandas' own ParserError is one, too
        raise RecordingsError(wrong) from None
    length = len(rows) // len(CHANNELS)
    order = rows["channel"].tolist()[::length] if length else []
    even = (len(rows) == length * len(CHANNELS) and set(order) == set(CHANNELS)
            and (rows["channel"].to_numpy() == np.repeat(order, length)).all()
            and (rows["sample"].to_numpy() == np.tile(np.arange(length), len(CHANNELS))).all())
    values = rows["value"].to_numpy()
    if not even or not np.isfinite(values).all():
        raise RecordingsError(wrong)
    values = values.reshape(len(CHANNELS), length)[[order.index(channel) for channel in CHANNELS]]
    return " ".join(filter(None, condition.groups())), values.T.astype("float32")


def _declare(name, title, subjects, size, archives, **more):
    return Dataset(
        name=name, domain="eeg", title=title, rate=256.0, channels=CHANNELS, subjects=subjects,
        licence="no restrictions; acknowledge Henri Begleiter",
        citation="Begleiter: EEG Database. Neurodynamics Laboratory, State University of New York Health Center, "
                 "Brooklyn, 1995; UCI Machine Learning Repository",
        url="https://archive.ics.uci.edu/dataset/121/eeg+database", size=size,
        example="co2a0000364.rd.000.gz", pattern=r"(?P<subject>co\d[ac]\d{7})\.rd\.(?P<trial>\d{3})(\.gz)?",
        downloads=tuple(f"https://archive.ics.uci.edu/ml/machine-learning-databases/eeg-mld/{x}" for x in archives),
        reader=read, info=(("units", "µV"), ("group", "4th letter of the subject: a alcoholic, c control")), **more)


UCI_EEG_SMALL = _declare(
    "uci-eeg-small", "picture viewing, 64 channels, 60 trials of 20 people (SMNI_CMI_TRAIN and _TEST: the same people)",
    20, "80 MB", ("SMNI_CMI_TRAIN.tar.gz", "SMNI_CMI_TEST.tar.gz"))
UCI_EEG_FULL = _declare(
    "uci-eeg-full", "picture viewing, 64 channels, up to 120 trials of 122 people", 122, "700 MB", ("eeg_full.tar",),
    train_subjects=61, test_subjects=60)
