"""The desk before an audience: one visitor at a time, large; whoever watches may guess before the desk says it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from qpwl_core.desk.database import Desk
from qpwl_core.desk.decisions import Decision, Enrolled, decide
from ui.desk import figures
from ui.desk.scene import Scene, Sequences, enrolled_people
from ui.desk.verdict import show_functions, show_ladder, show_truth, show_verdict
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS

STRANGER = "a stranger"
LETTERS = "ABCDEFGH"          # the nearest so many people stand for a guess


def audience(scene: Scene, n: int, threshold: float) -> None:
    """One visitor: known or not by the toss of a coin, presented with n sequences."""
    desk = scene.desk
    left, middle, right = st.columns([1, 1, 2], vertical_alignment="bottom", gap="medium")
    visitor = left.number_input("Visitor", 1, 9999, 1, key="desk-visitor", **KEPT)
    guessing = middle.toggle("Guess first", True, key="desk-guess", **KEPT,
                             help="Show the distances without names, threshold and verdict, and ask the audience.")
    right.button("Next visitor", icon=":material/skip_next:", on_click=_next, key="desk-next", type="primary")
    drawn = drawn_visitor(scene.gallery, scene.enrolled, n, visitor)
    if drawn is None:
        st.info("There must be someone to come: enrol people of the gallery, and leave others unenrolled.",
                icon=":material/group_add:")
        return
    person, known_as, presented = drawn
    decision = decide(scene.enrolled, presented, desk.space.model, threshold)
    revealed = st.session_state.setdefault("desk_revealed", {})
    key = desk.path.name, visitor, n
    if guessing and key not in revealed:
        _ask(desk, decision, known_as, key)
    else:
        if key not in revealed:
            desk.record(decision)
            revealed[key] = None, decision.person == known_as
        _reveal(desk, decision, scene.colours, person, known_as, revealed[key][0])
    _score(revealed)


def drawn_visitor(gallery: dict[str, Sequences], enrolled: Enrolled, n: int, visitor: int):
    """Who comes: an enrolled person or a stranger, evenly. -> person, the name they are enrolled under, embeddings"""
    random = np.random.default_rng([visitor, 7])
    known = enrolled_people(gallery, enrolled)
    pools = [pool for pool in (sorted(known), sorted(set(gallery) - set(known))) if pool]
    if not known:
        return None
    person = random.choice(pools[random.integers(len(pools))])
    presented, _ = gallery[person].to_present(enrolled, n, visitor)
    return (person, known.get(person), presented) if len(presented) else None


def _ask(desk: Desk, decision: Decision, known_as: str | None, key) -> None:
    """Everything but names, threshold and verdict."""
    letters = list(LETTERS[:len(decision.names)])
    # letters in the order of names, so that A is not always the nearest
    nearest = sorted(decision.names[:len(letters)])
    letter_of = dict(zip(nearest, letters, strict=True))
    masked = [letter_of[name] for name in decision.names[:len(letters)]]
    colours = {letter: COLOURS[i % len(COLOURS)] for i, letter in enumerate(letters)}
    st.markdown("# Who is it?")
    left, right = st.columns(2, gap="large")
    with left:
        chart(figures.ladder(masked, decision.distances[:len(letters)], colours, large=True), "desk-masked",
              f"Distances to {len(letters)} people without their names")
    with right:
        compared = [letter_of[name] for name in decision.compared]
        show_functions(decision, desk.space, compared, colours, "desk-hint", True)
    guess = st.segmented_control("Your guess", [*letters, STRANGER], key=f"desk-guessed-{key[1]}-{key[2]}")
    if st.button("Reveal", type="primary", icon=":material/visibility:", disabled=guess is None, key="desk-reveal"):
        desk.record(decision)                # the decision is made now, and the guess counts
        right = guess == (letter_of.get(known_as) if known_as else STRANGER)
        st.session_state["desk_revealed"][key] = right, decision.person == known_as
        st.rerun()


def _reveal(desk, decision, colours, person, known_as, guessed_right) -> None:
    show_verdict(decision, large=True)
    show_truth(decision, person, known_as)
    if guessed_right is not None:
        st.markdown(f"### The audience was {'right' if guessed_right else 'wrong'}.")
    left, right = st.columns(2, gap="large")
    with left:
        show_ladder(decision, colours, "desk-audience-ladder", large=True)
    with right:
        show_functions(decision, desk.space, list(decision.compared), colours, "desk-audience-functions", True)


def _score(revealed: dict) -> None:
    guesses = [guess for guess, _ in revealed.values() if guess is not None]
    left, right, _ = st.columns([1, 1, 2])
    left.metric("Audience", f"{sum(guesses)} of {len(guesses)}", border=True)
    right.metric("Desk", f"{sum(right for _, right in revealed.values())} of {len(revealed)}", border=True)


def _next() -> None:
    st.session_state["desk-visitor"] = st.session_state.get("desk-visitor", 1) + 1
