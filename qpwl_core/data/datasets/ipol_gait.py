"""IPOL gait: 230 people walk 10 m, turn and walk back, an inertial unit on each foot, 100 Hz."""

from __future__ import annotations

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table
from qpwl_core.data.errors import RecordingsError

COLUMNS = [foot + kind + axis for foot in "LR" for kind in "AR" for axis in "VXYZ"]  # feet; acceleration, rotation
KEPT = tuple(name for name in COLUMNS if not name.endswith("V"))  # V, upwards, is no axis of the sensor


def read(dataset, folder):
    """A file is comma separated with a header; subjects become 001 to 230, the stimulus is the trial (4-1)."""
    def sequence(member):
        header, _, body = member.text().partition("\n")
        if header.strip().split(",") != COLUMNS:
            raise RecordingsError(f"{shown(member.name)} must begin with the columns {','.join(COLUMNS)}")
        rows = table(body, member.name, columns=len(COLUMNS), delimiter=",")
        values = rows[:, [COLUMNS.index(name) for name in KEPT]].astype("float32")
        return f"{int(member.match['subject']):03d}", f"{member.match['subject']}-{member.match['trial']}", values

    return dataset.recordings(dataset.in_order(folder, sequence).values())


IPOL_GAIT = Dataset(
    name="ipol-gait", domain="gait", title="walk 10 m, turn, walk back; inertial units on both feet",
    rate=100.0, channels=KEPT, subjects=230, licence="CC BY-NC-SA 4.0",
    citation="Truong et al.: A data set for the study of human locomotion with inertial measurements units. "
             "Image Processing On Line 9, 2019",
    url="https://github.com/deepcharles/gait-data", size="200 MB", example="4-1.csv",
    pattern=r"(?P<subject>\d{1,3})-(?P<trial>\d{1,2})\.csv", downloads=("http://dev.ipol.im/~truong/GaitData.zip",),
    # People have two to five trials of half a minute: short windows give enough sequences to enrol and to observe.
    reader=read, recipe_options=(("seconds", 5.0), ("keep", 3)),
    info=(("units", "acceleration in g, rotation in °/s; two sensor models, see the JSON files"),))
