"""What was drawn in this session, what a model sees in it, and the line between its owner and others.

Drawings live in the session alone: nothing here writes a file. They are embedded once per model, as dense quantile
functions, so that p and M can change without the network.
"""

from __future__ import annotations

import io
import secrets
from dataclasses import dataclass, field, replace

import numpy as np
import streamlit as st

from qpwl_core.common.bounds import DRAWINGS as MOST_DRAWINGS
from qpwl_core.common.child import in_child
from qpwl_core.common.text import counted
from qpwl_core.data.capture import Capture, recordings_of
from qpwl_core.data.formats.writers import put_csv, put_npz
from qpwl_core.data.recordings import Recordings
from qpwl_core.desk.claims import Rule
from qpwl_core.desk.space import gallery_embeddings
from qpwl_core.models.gallery import Gallery, build_gallery
from ui.library import elsewhere
from ui.library.models import Entry, distinct_titles, entries, gallery_at, gallery_of, model_of, open_desk, worked
from ui.shell.frame import KEPT

LEAST_SECONDS, LEAST_PATH = 0.35, 60.0       # of a signature; pixels of ink


@dataclass(frozen=True, eq=False)
class Drawing:
    """Something drawn on a pad."""

    capture: Capture
    who: str = "you"               # who drew it
    imitates: bool = False         # whether it was meant to pass for a signature of "you"
    practice: bool = False         # and does not count
    task: str = ""                 # what was drawn, where it is no signature
    token: str = field(default_factory=lambda: secrets.token_hex(6))


@dataclass
class Book:
    """All that one session drew, and where it left traces."""

    yours: list[Drawing] = field(default_factory=list)
    tries: list[Drawing] = field(default_factory=list)
    movements: list[Drawing] = field(default_factory=list)               # of a data set of one's own
    at_desk: dict[str, list[Drawing]] = field(default_factory=dict)      # pads of the desk, by key
    enrolled: list[tuple[Entry, str]] = field(default_factory=list)      # the model whose desk, and the name there
    seen: dict[tuple[str, str], Gallery] = field(default_factory=dict)   # (weights, token) -> one sequence

    def forget(self) -> None:
        """Empty it; whoever holds the book holds nothing any more."""
        for part in (self.yours, self.tries, self.movements, self.at_desk, self.enrolled, self.seen):
            part.clear()

    def add(self, where: list[Drawing], drawing: Drawing) -> str | None:
        """Keep a drawing, or say in a sentence why not."""
        if sum(map(len, (self.yours, self.tries, self.movements, *self.at_desk.values()))) >= MOST_DRAWINGS:
            return f"This session keeps {MOST_DRAWINGS} drawings and is full: forget some first."
        where.append(drawing)
        return None


def book() -> Book:
    """The drawings of this session."""
    return st.session_state.setdefault("drawings", Book())


def signature_models() -> dict[str, Entry]:
    """Models that can judge a signature: of that domain, with calibration people beside them."""
    return {entry.id: entry for entry in entries()
            if entry.card["config"]["domain"] == "signature" and entry.has_gallery
            and (gallery_of(entry).parts == "calibration").any()}


def choose_signature_model(place=None) -> Entry | None:
    """The model chosen in the sidebar, or at ``place``; None, and what to do, where there is none."""
    at_hand = signature_models()
    if not at_hand:
        st.info("No model for signatures is at hand. Train one on the page Train, with data of the domain signature.",
                icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
        return None
    if st.session_state.get("sign_model") not in (None, *at_hand):
        del st.session_state["sign_model"]
    labels = distinct_titles(at_hand.values())
    first = next((i for i, entry in enumerate(at_hand.values()) if entry.method == "qp-wl"), 0)
    chosen = (place or st.sidebar).selectbox("Model", list(at_hand), first, format_func=labels.__getitem__,
                                             key="sign_model", **KEPT,
                                             help="Change it, and everything drawn here is embedded again.")
    return at_hand[chosen]


def too_little(capture: Capture) -> str | None:
    """Why something drawn is no signature, in a sentence; None where it may be one."""
    if capture.seconds < LEAST_SECONDS or capture.path < LEAST_PATH:
        return ("That looks like a dot or a dash: please sign with your whole name, as you would on paper.")
    return None


def take_signature(entry: Entry, where: list[Drawing], drawing: Drawing) -> str | None:
    """Keep a signature that a model can judge, or say in a sentence what is wrong with it."""
    if wrong := too_little(drawing.capture):
        return wrong
    try:
        seen_by(entry, [drawing])
    except ValueError as error:
        return f"The model cannot take this: {error}."
    return book().add(where, drawing)


def enrol_signed(entry: Entry, name: str, drawings: list[Drawing]) -> str:
    """Enrol signatures at the desk of a model: embeddings alone; what was done, in a sentence. A ValueError says what
    is wrong. The session remembers it, so that Forget me finds it."""
    desk = open_desk(entry)
    person = desk.enrol(name, gallery_embeddings(seen_by(entry, drawings)), desk.space.model, "signed in the browser")
    book().enrolled.append((entry, person.name))
    return f"{person.name} is enrolled with {counted(person.sequences, 'signature', 'signatures')}."


def forget_enrolments() -> list[str]:
    """Remove everyone whom this session enrolled by signing; what that was, one phrase each."""
    gone = []
    for entry, name in book().enrolled:
        try:
            lines = open_desk(entry).forget(name)
        except ValueError:                     # somebody removed them at the desk, or the desk is gone
            continue
        gone.append(f"the enrolment of {name}" + (f" and the name in {counted(lines, 'line', 'lines')} of the log"
                                                  if lines else ""))
    return gone


def seen_by(entry: Entry, drawings: list[Drawing]) -> Gallery:
    """What a model sees in drawings, each embedded once per session: quantile functions of n sequences, n >= 1."""
    kept, checksum = book().seen, entry.card["sha256"]
    for drawing in drawings:
        if (checksum, drawing.token) not in kept:
            recordings = recordings_of([drawing.capture], ["you"])
            kept[checksum, drawing.token] = (         # what ships is known to be quick, what somebody brought is not
                build_gallery(model_of(entry), recordings) if entry.kind == "ships" else
                in_child(elsewhere.built, str(entry.folder), recordings))
    parts = [kept[checksum, drawing.token] for drawing in drawings]
    return join(*parts)


def join(*galleries: Gallery) -> Gallery:
    """Sequences of one model end to end; who they are of is left behind."""
    first = galleries[0]
    joined = {name: None if getattr(first, name) is None else np.concatenate([getattr(x, name) for x in galleries])
              for name in ("values", "vectors", "subjects", "parts")}
    return replace(first, **joined, sources=np.arange(len(joined["subjects"])), stimuli=None, imitates=None)


def rule_for(entry: Entry, enrolled: int, n: int, own: bool, points: int | None, p: float) -> Rule:
    """The rule of a model's calibration people, with as many enrolled as they have, at most."""
    return _rule(str(entry.folder), entry.card["sha256"], max(1, enrolled), n, own, points, p)


@st.cache_data(max_entries=256, show_spinner=False)
def _rule(folder: str, checksum: str, enrolled: int, n: int, own: bool, points: int | None, p: float) -> Rule:
    part = gallery_at(folder, checksum).part("calibration", forgeries=True)
    return worked(part, elsewhere.rule, part, enrolled, n, own, points, p)


def as_recordings(drawings: list[Drawing], name: str = "you", domain: str = "signature") -> Recordings:
    """Drawings to take away: whose they are, and whom they imitate."""
    subjects = [drawing.who if drawing.imitates else name for drawing in drawings]
    forged = [name if drawing.imitates else "" for drawing in drawings]
    return recordings_of([drawing.capture for drawing in drawings], subjects, domain, forged if any(forged) else None,
                         ["forgery" if drawing.imitates else "session1" for drawing in drawings])


def as_file(recordings: Recordings, ending: str) -> bytes:
    """Recordings as the bytes of an .npz or .csv file, made in memory."""
    file = io.BytesIO()
    {"npz": put_npz, "csv": put_csv}[ending](recordings, file)
    return file.getvalue()
