"""Who knocks at the desk, with which sequences, against which threshold, and what the desk said last."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
import torch

from qpwl_core.common.friendly import friendly_names
from qpwl_core.desk.calibration import DEFAULT_FMR
from ui.desk.enrolling import choose_data
from ui.desk.scene import Scene, calibration_for, keep_among
from ui.desk.signing import knocking_by_signing, takes_signatures
from ui.desk.verdict import show_ladder, show_reasons, show_truth, show_verdict
from ui.shell.frame import KEPT
from ui.shell.people import name_of
from ui.shell.text import plain

RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
WHO = {"known": "Enrolled", "stranger": "Stranger", "trying": "This one is trying", "data": "Data or file",
       "sign": "Signs here"}
PRESETS = {"An owner": ("known", "who"), "A stranger": ("stranger", "who"), "A false claim": ("stranger", "claim"),
           "A forger": ("trying", "claim")}
FORGER = "somebody who imitates "
QUESTIONS = {"who": "Who is it?", "claim": "Is it …?"}


@dataclass(frozen=True, eq=False)
class Visitor:
    """Someone at the desk."""

    presented: torch.Tensor         # (n, *shape)
    truth: str | None               # who they are, where that is known
    known_as: str | None            # the name they are enrolled under
    claims: str | None = None       # the name of whom they imitate


def show_knocking(scene: Scene) -> None:
    """On top the buttons with the answer under them, then the choices beside the ladder, the reasons below.

    The buttons stand above the choices that they act on, so that the verdict appears where the person looks.
    """
    st.subheader("Knock", anchor=False)
    buttons, answer = st.container(horizontal=True, gap="small"), st.container()
    left, right = st.columns([1, 1.2], gap="medium")
    with left:
        n = choose_n()
        visitor = choose_visitor(scene, n)
        claimed = choose_question(scene, None if visitor is None else visitor.claims)
        if visitor is None:
            st.session_state.pop("desk_try", None)
            return
        threshold = choose_threshold(scene, len(visitor.presented), claimed is not None)
    settings = visitor.presented.numpy().tobytes(), threshold, claimed, scene.enrolled.names
    with buttons:
        pressed = st.button("Present", type="primary", icon=":material/door_front:", key="desk-present")
        if scene.gallery:
            for label, (who, question) in PRESETS.items():
                if who == "trying" and not scene.imitated:
                    continue
                st.button(label, key=f"desk-try-{who}-{question}", on_click=_try, args=(who, question))
    with answer:
        if st.session_state.pop("desk_try", False) or pressed:
            _present(scene, visitor, threshold, claimed, settings)
        decision, of, made_with = st.session_state.get("desk_decision", (None, None, None))
        if decision is None or decision.model != scene.desk.space.model:
            _explain()
            return
        show_verdict(decision)
        if made_with != settings:
            st.caption(":material/update: This was the last decision. Press **Present** for what is chosen now.")
        if of.truth is not None:
            show_truth(decision, called(of.truth), of.known_as)
        if decision.copies:
            st.warning(f"{decision.copies} of the presented sequences are enrolled themselves: no fair match.",
                       icon=":material/content_copy:")
    with right:
        colours = dict.fromkeys(decision.names, "#999999") | scene.colours     # some may have left since
        show_ladder(decision, colours, "desk-ladder")
    show_reasons(decision, scene.desk.space, colours, "desk-why")


def choose_n() -> int:
    return st.slider("Sequences presented, n", 1, 5, 5, key="desk-n", **KEPT)


def choose_visitor(scene: Scene, n: int) -> Visitor | None:
    """Someone enrolled with sequences that are not, a stranger, or a person of a data set or file."""
    left_out = set() if scene.gallery else {"known", "stranger", "trying"}
    left_out |= set() if scene.imitated else {"trying"}           # nobody tries to be one of those enrolled
    left_out |= set() if takes_signatures(scene) else {"sign"}
    options = {who: words for who, words in WHO.items() if who not in left_out}
    keep_among("desk-who", list(options))
    who = st.selectbox("Who knocks", list(options), format_func=options.get, key="desk-who", **KEPT)   # five fit no row
    if who == "data":
        chosen = choose_data(scene.entry, "desk-guest")
        if chosen is None:
            return None
        person, sequences, truth = chosen[0], chosen[1], None
    elif who == "trying":
        return _forger(scene, n)
    elif who == "sign":
        presented = knocking_by_signing(scene, n)
        return None if presented is None else Visitor(presented, None, None)
    else:
        pool = sorted(scene.known) if who == "known" else [x for x in scene.gallery if x not in scene.known]
        if not pool:
            st.info("Nobody of the gallery is enrolled: enrol one, or let a stranger knock." if who == "known" else
                    "Everyone of the gallery is enrolled: remove someone to have a stranger.", icon=":material/group:")
            return None
        keep_among(f"desk-{who}", pool)
        person = st.selectbox("Person", pool, key=f"desk-{who}", **KEPT, format_func=lambda x: (
            name_of(x) if scene.known.get(x) in (None, x, friendly_names([x])[x]) else
            f"{name_of(x)}, enrolled as {scene.known[x]}"))
        sequences, truth = scene.gallery[person], person
    draw = st.number_input("Draw of sequences", 1, 999, 1, key="desk-draw", **KEPT, help="Another number, other ones.")
    presented, fair = sequences.to_present(scene.enrolled, n, draw)
    if not len(presented):
        st.info("All sequences of this person are enrolled: there is none left to knock with.", icon=":material/info:")
        return None
    if not fair:
        st.caption("Of every recording of this person a part is enrolled, so what knocks was cut from the same "
                   "recordings: an easier match than on another day.")
    if len(presented) < n:
        st.caption(f"Only {len(presented)} sequences are left to knock with.")
    return Visitor(presented, truth, scene.known.get(truth))


def _forger(scene: Scene, n: int) -> Visitor:
    """Somebody who has practised the signature of an enrolled person, and claims to be them."""
    pool = sorted(scene.imitated)
    keep_among("desk-trying", pool)
    person = st.selectbox("Imitates", pool, key="desk-trying", **KEPT, format_func=name_of)
    draw = st.number_input("Draw of sequences", 1, 999, 1, key="desk-draw", **KEPT, help="Another number, other ones.")
    presented, _ = scene.forgers[person].to_present(scene.enrolled, n, draw)
    st.caption("They saw it being written, and practised. What they bring is forged.")
    return Visitor(presented, forger_of(person), None, scene.known[person])


def forger_of(person: str) -> str:
    """What to call somebody who imitates a person."""
    return f"{FORGER}{name_of(person)}"


def called(visitor: str) -> str:
    """What to call a visitor: by name and id, or as somebody who imitates a person."""
    return visitor if visitor.startswith(FORGER) else name_of(visitor)


def choose_question(scene: Scene, claims: str | None = None) -> str | None:
    """Identification (None), or the name that is claimed: by somebody who imitates a person, that one's."""
    question = st.segmented_control("Question", list(QUESTIONS), format_func=QUESTIONS.get, default="who",
                                    required=True, key="desk-question", **KEPT)
    if question == "who":
        return None
    if claims is not None:
        st.caption(f"They claim to be **{plain(claims)}**.")
        return claims
    keep_among("desk-claimed", scene.enrolled.names)
    return st.selectbox("They claim to be", list(scene.enrolled.names), key="desk-claimed", **KEPT)


def choose_threshold(scene: Scene, n: int, claim: bool) -> float:
    """For a rate of strangers let in, set on calibration people, or by hand."""
    usual, how = calibration_for(scene, DEFAULT_FMR, n, claim), "hand"
    if usual is not None:
        how = st.segmented_control("Threshold", ["rate", "hand"], default="rate", required=True, key="desk-how",
                                   format_func={"rate": "For a rate", "hand": "By hand"}.get, **KEPT)
    if how == "hand":
        if usual is None:
            st.caption("This model has no calibration people to set a rate on: look at the ladder and choose.")
        return st.number_input("Largest distance let in", value=float(f"{usual.threshold:.4g}") if usual else 1.0,
                               format="%.4f", key="desk-threshold", **KEPT)
    rate = st.select_slider("Strangers let in", RATES, DEFAULT_FMR, key="desk-fmr", format_func="{:.0%}".format, **KEPT)
    found = calibration_for(scene, rate, n, claim)
    owners = "" if found.refused is None else (f" It would send away {found.refused:.0%} of their owners "
                                               f"({found.owners} trials).")
    st.caption(plain(f"{found.note}{owners}"))
    if found.doubtful:
        st.warning(plain(found.promise), icon=":material/warning:")
    else:
        st.caption(plain(found.promise))
    return found.threshold


def _try(who: str, question: str) -> None:
    """Callback of a preset: fill the form, and present at once."""
    st.session_state.update({"desk-who": who, "desk-question": question, "desk_try": True})


def _present(scene: Scene, visitor: Visitor, threshold: float, claimed: str | None, settings: tuple) -> None:
    try:
        st.session_state.pop("desk_said", None)
        truth = visitor.known_as or (visitor.truth and f"{called(visitor.truth)}, not enrolled")
        decision = scene.desk.decide(visitor.presented, scene.desk.space.model, threshold, claimed, truth)
        st.session_state["desk_decision"] = decision, visitor, settings
    except ValueError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _explain() -> None:
    st.info("Someone stands at the desk. Press **Present** to see whether they get in.", icon=":material/door_front:")
    st.latex(r"d_j(n) = \frac1n \sum_{i=1}^{n} \; \min_{s \,\in\, \text{enrolled of } j} \; d(s_i, s)")
    st.caption("Of each presented sequence the distance to person j's nearest enrolled one, and of those the mean. The "
               "nearest person gets in, unless even that distance is above the threshold.")
