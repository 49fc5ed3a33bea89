"""GazeCom: 54 people watch 18 natural videos of 20 s, one gaze at 250 Hz."""

from __future__ import annotations

import re

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table
from qpwl_core.data.errors import RecordingsError

MOVIES = ("beach", "breite_strasse", "bridge_1", "bridge_2", "bumblebee", "doves", "ducks_boat", "ducks_children",
          "golf", "holsten_gate", "koenigstrasse", "puppies", "roundabout", "sea", "st_petri_gate", "st_petri_market",
          "st_petri_mcdonalds", "street")


def read(dataset, folder):
    """A file is two header lines (screen, geometry), then time in µs, x and y in px, confidence.

    Samples are kept one by one: the eye tracker runs at an even 250 Hz, and its times scatter only because they were
    taken when a sample arrived over the network. So rate = 250, and the times are dropped.
    """
    def sequence(member):
        text = member.text()
        if not re.match(r"(#.*\n)*gaze \d+ \d+\s*\ngeometry .*\n", text):
            raise RecordingsError(f"{shown(member.name)} does not begin with the lines gaze and geometry of GazeCom")
        rows = table(re.sub(r"(?m)^(gaze|geometry) .*$", "", text), member.name, columns=4)
        if (rows[1:, 0] < rows[:-1, 0]).any():
            raise RecordingsError(f"{shown(member.name)} has times that run backwards")
        return member.match["subject"], member.match["stimulus"], rows[:, 1:].astype("float32")

    return dataset.recordings(dataset.in_order(folder, sequence).values())


GAZECOM = Dataset(
    name="gazecom", domain="eye", title="free viewing of 18 natural videos, gaze of one eye",
    rate=250.0, channels=("x_px", "y_px", "confidence"), subjects=54,
    licence="free to use with the citation",
    citation="Dorr, Martinetz, Gegenfurtner, Barth: Variability of eye movements when viewing dynamic natural scenes. "
             "Journal of Vision 10(10), 2010",
    url="https://www.inb.uni-luebeck.de/fileadmin/files/MITARBEITER/Dorr/EyeMovementDataSet.html", size="100 MB",
    example="AAF_beach.coord", pattern=rf"(?P<subject>[A-Z0-9]+)_(?P<stimulus>{'|'.join(MOVIES)})\.coord",
    exclude=r"(?i)stop.?motion|static",
    downloads=("https://www.inb.uni-luebeck.de/tools-demos/gaze/gaze.zip",), reader=read, stimuli_disjoint=True,
    # px wide, px high, m wide, m high, m away: the eye recipe makes degrees of it
    info=(("screen", "1280 720 0.40 0.225 0.45"), ("units", "px; confidence below 0.5 is a lost sample")))
