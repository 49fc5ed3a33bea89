"""HAPT: thirty people walk and climb stairs with a phone at the waist, 50 Hz."""

from __future__ import annotations

import re

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table
from qpwl_core.data.errors import RecordingsError

LABELS = "labels.txt"
ACTIVITIES = {1: "walking", 2: "upstairs", 3: "downstairs"}  # the six others are postures and changes between them


def read(dataset, folder):
    """RawData holds acceleration and rotation of each experiment; labels.txt says what was done from where to where.

    A sequence is one stretch of walking or stairs. labels.txt counts samples from 1 and includes the last one. The
    stimulus is activity@session, a person's experiments numbered from 1.
    """
    files = dataset.in_order(folder, lambda file: table(file.text(), file.name, 5 if file.base == LABELS else 3))
    if LABELS not in files:
        raise RecordingsError(f"{shown(folder)} holds no {LABELS} of HAPT, which says where the walking is")
    labels = files.pop(LABELS).astype(int)
    sessions: dict[str, int] = {}
    sequences = []
    for base in files:
        match = re.fullmatch(dataset.pattern, base)
        assert match is not None, "files are found by this pattern"
        sensor, experiment, user = match.group("sensor", "experiment", "subject")
        if sensor != "acc":
            continue
        gyro = base.replace("acc", "gyro")
        if gyro not in files:
            raise RecordingsError(f"{shown(base)} has no {gyro} beside it")
        parts = [files[base], files[gyro]]
        if len(parts[0]) != len(parts[1]):
            raise RecordingsError(f"{shown(base)} and {gyro} must have the same number of rows")
        values = np.hstack(parts).astype("float32")
        session = sessions[user] = sessions.get(user, 0) + 1
        for _, _, activity, start, end in labels[(labels[:, 0] == int(experiment)) & (labels[:, 1] == int(user))]:
            if activity in ACTIVITIES:
                if not 1 <= start <= end <= len(values):
                    raise RecordingsError(f"{LABELS} names samples {start} to {end} of {base}, "
                                          f"which has {len(values)}")
                sequences.append((user, f"{ACTIVITIES[activity]}@session{session}", values[start - 1:end]))
    if not sequences:
        raise RecordingsError(f"{shown(folder)} holds no stretch of walking that labels.txt names")
    return dataset.recordings(sorted(sequences, key=lambda sequence: sequence[0]))


CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
HAPT = Dataset(
    name="hapt", domain="gait", title="walking, up and down stairs, phone at the waist",
    rate=50.0, channels=CHANNELS, subjects=30, licence="CC BY 4.0",
    citation="Reyes-Ortiz, Oneto, Samà, Parra, Anguita: Transition-aware human activity recognition using smartphones. "
             "Neurocomputing 171, 2016; UCI Machine Learning Repository, 2015",
    url="https://archive.ics.uci.edu/dataset/341/smartphone+based+recognition+of+human+activities+and+postural+transitions",
    size="80 MB", example="RawData/acc_exp01_user01.txt, gyro_exp01_user01.txt and labels.txt",
    pattern=r"(?P<sensor>acc|gyro)_exp(?P<experiment>\d+)_user(?P<subject>\d+)\.txt|labels\.txt",
    downloads=("https://archive.ics.uci.edu/static/public/341/"
               "smartphone+based+recognition+of+human+activities+and+postural+transitions.zip",),
    reader=read, info=(("units", "acceleration in g, rotation in rad/s"),))
