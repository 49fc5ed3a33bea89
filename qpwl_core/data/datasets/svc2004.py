"""SVC2004, task 2: signatures of the first international signature verification competition."""

from __future__ import annotations

import re

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table
from qpwl_core.data.datasets.susig import CHANNELS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import evenly


def read(dataset, folder):
    """A file has the number of points, then x, y, time in ms, button, azimuth, altitude and pressure of each.

    Signatures 1 to 10 of a person are of the first session, 11 to 20 of the second, 21 to 40 are forgeries. Nothing is
    recorded while the pen is up, and the first point after that has button 0: the pen is up between the point before
    and that one, which counts as up. Times are uneven, and some points come at the time of the one before (left out);
    all are brought to an even 100 Hz, straight lines between them. y grows upwards. Tilt is left out, for no other
    device has it.
    """
    def sequence(member):
        text = member.text()
        header = re.match(r"\s*(\d+)\s*\n", text)
        if header is None:
            raise RecordingsError(f"{shown(member.name)} does not begin with its number of points")
        rows = table(text[header.end():], member.name, columns=7)
        if len(rows) != int(header[1]):
            raise RecordingsError(f"{shown(member.name)} must have {int(header[1])} points by its first line, and has "
                                  f"{len(rows)}")
        up = rows[:, 3] == 0
        try:
            values = evenly(rows[:, 2] / 1000, rows[:, [0, 1, 6]], up | np.append(up[1:], False), dataset.rate)
        except RecordingsError as error:
            raise RecordingsError(f"{shown(member.name)} {error}") from None
        return f"{int(member.match['subject']):02d}", int(member.match["number"]), values.astype("float32")

    found = list(dataset.in_order(folder, sequence).values())
    signed = [(who, f"session{1 + (number > 10)}", x, "") for who, number, x in found if number <= 20]
    forged = [(f"forger-of-{who}", "forgery", x, who) for who, number, x in found if number > 20]
    return dataset.recordings([each[:3] for each in signed + forged], [each[3] for each in signed + forged])


SVC2004 = Dataset(
    name="svc2004", domain="signature", title="signatures on a tablet, two sessions, 20 forgeries of each person",
    rate=100.0, channels=CHANNELS, subjects=40, licence="for research, with the citation",
    citation="Yeung, Chang, Xiong, George, Kashi, Matsumoto, Rigoll: SVC2004: First international signature "
             "verification competition. International Conference on Biometric Authentication, 2004",
    url="https://cse.hkust.edu.hk/svc2004/download.html", size="3 MB", example="Task2/U1S1.TXT", exclude=r"(?i)task.?1",
    pattern=r"(?i:U(?P<subject>\d+)S(?P<number>[1-9]|[123]\d|40)\.TXT)", reader=read,
    info=(("y", "up"), ("units", "tablet units; down is 0 while the pen is up")))
