"""SUSIG: signatures on two tablets, with forgeries by people who watched the signing and practised."""

from __future__ import annotations

import re

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import evenly

CHANNELS = ("x", "y", "pressure", "down")
HEADER = re.compile(r"\s*X, ?Y, ?TStamp, ?Pres\., ?EndPts\s*\n\s*DataSize: ?(\d+)\s*\n", re.IGNORECASE)


def read(dataset, folder):
    """A file has two header lines (the columns, and how many rows), then x, y, time in ms, pressure and end of stroke.

    Samples come every 10 ms while the pen touches and not at all while it is up, so times are uneven: they are brought
    to an even 100 Hz, straight lines between them. The pen is up from the last sample of a stroke until the next
    sample. Pauses stay as long as they are (the recipe cuts them); a step of the clock above a minute counts as a
    minute. y is as recorded: it grows downwards on the LCD tablet of the visual part, upwards on that of the blind
    part, and ``info["y"]`` says which. Forgers have no names: the one of 001 is ``forger-of-001``.
    """
    def sequence(member):
        text = member.text()
        header = HEADER.match(text)
        if header is None:
            raise RecordingsError(f"{shown(member.name)} does not begin with the two header lines of SUSIG")
        rows = table(text[header.end():], member.name, columns=5)
        if len(rows) != int(header[1]):
            raise RecordingsError(f"{shown(member.name)} must have {int(header[1])} rows by its header, and has "
                                  f"{len(rows)}")
        try:
            values = evenly(rows[:, 2] / 1000, rows[:, [0, 1, 3]], rows[:, 4] > 0, dataset.rate)
        except RecordingsError as error:
            raise RecordingsError(f"{shown(member.name)} {error}") from None
        return member.match["subject"], member.match["kind"], values.astype("float32")

    found = list(dataset.in_order(folder, sequence).values())
    signed = [(who, "session1" if kind == "g" else f"session{kind}", x, "") for who, kind, x in found if kind != "f"]
    forged = [(f"forger-of-{who}", "forgery", x, who) for who, kind, x in found if kind == "f"]
    return dataset.recordings([each[:3] for each in signed + forged], [each[3] for each in signed + forged])


def _declare(name, title, subjects, kinds, other, example, y):
    return Dataset(
        name=name, domain="signature", title=title, rate=100.0, channels=CHANNELS, subjects=subjects,
        licence="for academic purposes, with the citation",
        citation="Kholmatov, Yanikoglu: SUSIG: an on-line signature database, associated protocols and benchmark "
                 "results. Pattern Analysis and Applications 12, 2009",
        url="https://biometrics.sabanciuniv.edu/susig.html", size="30 MB", example=example,
        pattern=rf"(?P<subject>\d+)_(?P<kind>{kinds}|f)_(?P<number>\d+)\.sig", exclude=rf"(?i){other}.?sub.?corpus",
        reader=read, info=(("y", y), ("units", "tablet units; down is 0 while the pen is up")))


VISUAL = _declare("susig-visual", "signatures on an LCD tablet, two sessions, 10 forgeries of each person", 94, "[12]",
                  "blind", "VisualSubCorpus/GENUINE/SESSION1/001_1_1.sig and FORGERY/001_f_1.sig", "down")
BLIND = _declare("susig-blind", "signatures on a tablet without a display, one session, 10 forgeries of each person",
                 100, "g", "visual", "BlindSubCorpus/GENUINE/001_g_1.sig and FORGERY/001_f_1.sig", "up")
