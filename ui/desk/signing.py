"""Enrol and knock by signing, where the model is of the signature domain. The desk keeps embeddings, never the line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st
import torch

from qpwl_core.common.text import counted
from qpwl_core.desk.decisions import decide
from qpwl_core.desk.space import gallery_embeddings
from qpwl_core.models.methods import METHODS
from ui.desk import figures
from ui.desk.scene import Scene
from ui.desk.verdict import show_functions, show_ladder, show_verdict
from ui.library.models import Entry
from ui.library.pad import THEIRS, YOURS, pad
from ui.library.signatures import Drawing, book, enrol_signed, seen_by, take_signature
from ui.shell.charts import chart
from ui.shell.palette import COLOURS

NEW, GUEST, LIVE = "desk-pad-new", "desk-pad-guest", "desk-pad-live"
LETTERS = "ABCDEFGH"
PRIVACY = (":material/lock: The line stays in this session; the desk keeps numbers about how you moved, never the line "
           "itself. *Forget me* on the page Sign, or *Remove someone* here, takes them out.")


def takes_signatures(scene: Scene) -> bool:
    """Whether somebody can sign here."""
    config = scene.entry.card["config"]
    return config["domain"] == "signature" and METHODS[config["method"]].distance != "dtw"


def signing_pad(scene: Scene, key: str, hint: str, colour: str, act: bool = False) -> list[Drawing]:
    """A pad of the desk, and what was drawn on it; ``act``: every signature is presented at once."""
    drawings = book().at_desk.setdefault(key, [])

    def take(capture) -> str | None:
        wrong = take_signature(scene.entry, book().at_desk.setdefault(key, []), Drawing(capture))
        if act and wrong is None:
            st.session_state["desk_try"] = True
        return wrong

    pad(key, take, hint=hint, colour=colour)
    return drawings


def enrol_and_clear(entry: Entry, name: str, drawings: list[Drawing]) -> str:
    """Enrol what was signed, and begin anew for the next one; what was done, in a sentence."""
    said = enrol_signed(entry, name, drawings)
    drawings.clear()
    return said


def show_signing(scene: Scene, attempt: Callable[..., None]) -> None:
    """Sign a few times, give a name, enrol; ``attempt`` calls a function and shows what it says."""
    drawings = signing_pad(scene, NEW, "Sign here, some five times", YOURS)
    st.caption(PRIVACY)
    if not drawings and book().yours:
        many = counted(len(book().yours), "signature", "signatures")
        if st.button(f"Take my {many} from the page Sign", icon=":material/draw:", key="desk-take"):
            drawings += book().yours
            st.rerun()
    if not drawings:
        return
    name = st.text_input("Name", key="desk-sign-name", max_chars=80)
    with st.container(horizontal=True):
        if st.button(f"Enrol with {counted(len(drawings), 'signature', 'signatures')}", type="primary",
                     icon=":material/person_add:", key="desk-enrol-signed"):
            attempt(enrol_and_clear, scene.entry, name, drawings)
        if st.button("Start over", icon=":material/undo:", key="desk-over"):
            drawings.clear()
            st.rerun()


def knocking_by_signing(scene: Scene, n: int) -> torch.Tensor | None:
    """The last n signatures of whoever knocks; each is presented as soon as it is done. (n, *shape)"""
    drawings = signing_pad(scene, GUEST, "Knock by signing", THEIRS, act=True)
    if not drawings:
        st.caption("The verdict appears as soon as you press *Done*; with n above 1, of the last n signatures.")
        return None
    if st.button("Someone else", icon=":material/skip_next:", key="desk-guest-next"):
        drawings.clear()
        st.session_state.pop("desk_decision", None)
        st.rerun()
    return gallery_embeddings(seen_by(scene.entry, drawings[-n:]))


def signing_live(scene: Scene, n: int, threshold: float) -> None:
    """Before an audience: somebody signs, all guess who it is, then the desk says it."""
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        drawings = signing_pad(scene, LIVE, "Sign, and let them guess", THEIRS)
        st.caption(PRIVACY)
    if not drawings:
        right.markdown("## Who will sign?")
        return
    presented = gallery_embeddings(seen_by(scene.entry, drawings[-n:]))
    decision = decide(scene.enrolled, presented, scene.desk.space.model, threshold)
    shown = st.session_state.get("desk_live_shown") == drawings[-1].token
    with right:
        if shown:
            show_verdict(decision, "#")
            show_ladder(decision, dict.fromkeys(decision.names, "#999999") | scene.colours, "desk-live-ladder", True)
        else:
            st.markdown("## Who is it?")
            nearest = sorted(decision.names[:len(LETTERS)])
            letter = dict(zip(nearest, LETTERS, strict=False))
            masked = [letter[name] for name in decision.names[:len(LETTERS)]]
            colours = {each: COLOURS[i % len(COLOURS)] for i, each in enumerate(sorted(masked))}
            chart(figures.ladder(masked, np.array(decision.distances[:len(masked)]), colours, large=True),
                  "desk-live-masked", f"Distances to {len(masked)} people without their names")
        with st.container(horizontal=True):
            if not shown and st.button("Reveal", type="primary", icon=":material/visibility:", key="desk-live-reveal",
                                       shortcut="Enter"):
                scene.desk.record(decision)
                st.session_state["desk_live_shown"] = drawings[-1].token
                st.rerun()
            if st.button("Next one", icon=":material/skip_next:", key="desk-live-next"):
                drawings.clear()
                st.rerun()
    if shown:
        show_functions(decision, scene.desk.space, list(decision.compared),
                       dict.fromkeys(decision.names, "#999999") | scene.colours, "desk-live-functions", True)
