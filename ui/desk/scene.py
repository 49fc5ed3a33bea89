"""What the enrolment desk works with: the database of a model, the sequences of people, and the threshold."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import streamlit as st
import torch

from qpwl_core.common.bounds import DESK_RECORDINGS as MOST_RECORDINGS
from qpwl_core.common.bounds import EMBEDDED_BYTES_SESSION
from qpwl_core.common.child import in_child
from qpwl_core.data.errors import RecordingsError
from qpwl_core.desk.calibration import Calibration
from qpwl_core.desk.database import Desk, Person
from qpwl_core.desk.decisions import Enrolled
from qpwl_core.desk.space import gallery_embeddings
from ui.library import elsewhere
from ui.library.data import OWN, recordings_for
from ui.library.models import Entry, distances_of, gallery_of, open_desk, worked
from ui.shell.palette import COLOURS, colours_of
from ui.visitors.kept import kept


@dataclass(frozen=True, eq=False)
class Sequences:
    """The embeddings of one person at hand: (n, *shape), and the recording that each was cut from (n,)."""

    values: torch.Tensor
    sources: np.ndarray

    def to_enrol(self, count: int) -> torch.Tensor:
        """The first ones, recording by recording, so that whole recordings are left to present."""
        return self.values[np.argsort(self.sources, kind="stable")[:count].copy()]

    def to_present(self, enrolled: Enrolled, n: int, draw: int) -> tuple[torch.Tensor, bool]:
        """n of them that are not enrolled, by chance; of recordings of which nothing is enrolled, where there are any.

        Returns them, and whether that was so. With none left at all, they are empty.
        """
        known = np.array([name is not None for name in enrolled.owners_of(self.values.numpy())])
        fresh = ~known & ~np.isin(self.sources, self.sources[known])
        fair = bool(fresh.any())
        left = np.flatnonzero(fresh if fair else ~known)
        chosen = np.random.default_rng(draw).permutation(left)[:n]
        return self.values[chosen], fair


@dataclass(frozen=True, eq=False)
class Scene:
    """What the page is about, read once per run: the model, its database, and everyone at hand."""

    entry: Entry
    desk: Desk
    gallery: dict[str, Sequences]       # test people of the model's gallery
    enrolled: Enrolled
    people: list[Person]
    known: dict[str, str]               # of the gallery those enrolled, and the name they have there
    colours: dict[str, str]
    forgers: dict[str, Sequences] = field(default_factory=dict)      # of those enrolled, what imitates them

    @property
    def imitated(self) -> dict[str, str]:
        """Of those enrolled whom somebody imitates, and the name they have there."""
        return {person: name for person, name in self.known.items() if person in self.forgers}


def set_scene(entry: Entry) -> Scene:
    """Open the desk of a model; a FileError says what is wrong with its file."""
    desk, gallery = open_desk(entry), of_gallery(entry)
    enrolled = desk.enrolled()
    return Scene(entry, desk, gallery, enrolled, desk.people(), enrolled_people(gallery, enrolled),
                 colours_at(gallery, enrolled), forgers_of(entry))


def of_gallery(entry: Entry) -> dict[str, Sequences]:
    """The test people of a model's gallery, by name; none where there is no gallery."""
    return _of_gallery(str(entry.folder), entry.card["sha256"], gallery_of(entry)) if entry.has_gallery else {}


@kept
def _of_gallery(folder: str, checksum: str, _gallery) -> dict[str, Sequences]:
    test = _gallery.part("test")
    values = gallery_embeddings(test)
    return {name: Sequences(values[test.subjects == name], test.sources[test.subjects == name]) for name in test.people}


def forgers_of(entry: Entry) -> dict[str, Sequences]:
    """Forgeries of the test people of a model's gallery, by whom they imitate."""
    return _forgers(str(entry.folder), entry.card["sha256"], gallery_of(entry)) if entry.has_gallery else {}


@kept
def _forgers(folder: str, checksum: str, _gallery) -> dict[str, Sequences]:
    test = _gallery.part("test", forgeries=True)
    forged = test.select(test.is_forgery)
    if not len(forged):
        return {}
    values = gallery_embeddings(forged)
    return {name: Sequences(values[forged.imitates == name], forged.sources[forged.imitates == name])
            for name in np.unique(forged.imitates).tolist()}


def of_data(entry: Entry, data: str, subject: str) -> Sequences:
    """A person of a data set or an upload, seen by the model; kept, as embedding takes a while."""
    known = st.session_state.setdefault("desk_embedded", {}) if data.startswith(OWN) else _embedded()
    key = entry.card["sha256"], data, subject, id(recordings_for(data))
    if key not in known:
        recordings = recordings_for(data).select(subjects=subject)
        recordings = recordings.select(index=np.arange(min(len(recordings), MOST_RECORDINGS)))
        try:
            with st.spinner("Embedding …"):
                values, sources = in_child(elsewhere.embedded, str(entry.folder), recordings)
        except ValueError as error:
            raise RecordingsError(f"this model cannot take these recordings: {error}") from None
        while len(known) >= 32 or sum(each.values.nbytes for each in known.values()) > EMBEDDED_BYTES_SESSION:
            known.pop(next(iter(known)))
        known[key] = Sequences(values, sources)
    return known[key]


@st.cache_resource
def _embedded() -> dict:
    """What was embedded of registered data sets, for all sessions, the last 32."""
    return {}


def keep_among(key: str, options) -> None:
    """Where the kept choice of a widget is no longer on offer, take the first that is, and let the browser know."""
    if key in st.session_state and st.session_state[key] not in options:
        st.session_state[key] = options[0]


def enrolled_people(gallery: dict[str, Sequences], enrolled: Enrolled) -> dict[str, str]:
    """Which people of the gallery are enrolled, person to the name they are enrolled under."""
    names = {person: [name for name in enrolled.owners_of(of.values.numpy()) if name] for person, of in gallery.items()}
    return {person: found[0] for person, found in names.items() if found}


def colours_at(gallery: dict[str, Sequences], enrolled: Enrolled) -> dict[str, str]:
    """A colour for everyone: whoever comes from the gallery keeps the one they have on all pages, under any name."""
    colours = colours_of(list(gallery))
    come_from = {name: person for person, name in enrolled_people(gallery, enrolled).items()}
    return colours | {name: colours.get(come_from.get(name, name), COLOURS[i % len(COLOURS)])
                      for i, name in enumerate(enrolled.names)}


def calibration_for(scene: Scene, fmr: float, n: int, claim: bool) -> Calibration | None:
    """The threshold for a false match rate with those who are enrolled now, or None without calibration people."""
    entry, people = scene.entry, scene.people
    if not entry.has_gallery or not (gallery_of(entry).parts == "calibration").any():
        return None
    sequences = int(np.median([person.sequences for person in people])) if people else 1
    return _calibrated(str(entry.folder), entry.card["sha256"], fmr, n, 1 if claim else max(1, len(people)), sequences,
                       gallery_of(entry))


@st.cache_data(max_entries=256, show_spinner=False)
def _calibrated(folder: str, checksum: str, fmr: float, n: int, enrolled: int, sequences: int, _gallery):
    part = _gallery.part("calibration")
    return worked(part, elsewhere.calibrated, distances_of(folder, checksum, "calibration", None, None, None),
                  part.subjects, part.sources, fmr, n, enrolled, sequences)
