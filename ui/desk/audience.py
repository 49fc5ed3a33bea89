"""The desk before an audience: one visitor at a time, large; whoever watches may guess before the desk says it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from qpwl_core.desk.database import Desk
from qpwl_core.desk.decisions import Decision, Enrolled, decide
from ui.desk import figures
from ui.desk.knocking import called, forger_of
from ui.desk.scene import Scene, Sequences, enrolled_people
from ui.desk.signing import signing_live, takes_signatures
from ui.desk.verdict import show_functions, show_ladder, show_truth, show_verdict
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS
from ui.shell.presenter import balanced, presenting, score, visitor_and_seed

STRANGER = "a stranger"
LETTERS = "ABCDEFGH"          # the nearest so many people stand for a guess


def audience(scene: Scene, n: int, threshold: float) -> None:
    """One visitor: known or not, evenly over every four, presented with n sequences."""
    desk = scene.desk
    if takes_signatures(scene) and st.toggle("Someone of you signs", key="desk-live", width="content", **KEPT):
        signing_live(scene, n, threshold)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        visitor, seed = visitor_and_seed("desk")
        guessing = st.toggle("Guess first", True, key="desk-guess", width="content", **KEPT,
                             help="Show the distances without names, threshold and verdict, and ask the audience.")
    drawn = drawn_visitor(scene.gallery, scene.enrolled, n, visitor, seed, scene.forgers)
    if drawn is None:
        st.info("There must be someone to come: enrol people of the gallery, and leave others unenrolled.",
                icon=":material/group_add:")
        return
    person, known_as, presented = drawn
    decision = decide(scene.enrolled, presented, desk.space.model, threshold)
    revealed = st.session_state.setdefault("desk_revealed", {})
    key, truth = (desk.where, visitor, n, seed), known_as or f"{called(person)}, not enrolled"
    if guessing and key not in revealed:
        _ask(desk, decision, known_as, truth, key, revealed)
    else:
        if key not in revealed:
            desk.record(decision, truth)
            revealed[key] = None, decision.person == known_as
        _reveal(desk, decision, scene.colours, person, known_as, revealed)


def drawn_visitor(gallery: dict[str, Sequences], enrolled: Enrolled, n: int, visitor: int, seed: int = 1,
                  forgers: dict[str, Sequences] | None = None):
    """Who comes: of every four visitors two enrolled people and two strangers, in an order that follows from the seed,
    nobody twice before all of their kind have been. Where somebody imitates those enrolled, every other stranger is one
    who tries. -> person, the name they are enrolled under, embeddings"""
    known = enrolled_people(gallery, enrolled)
    if not known:
        return None
    strangers = sorted(set(gallery) - set(known))
    is_known, before = balanced(visitor, seed) if strangers else (True, visitor - 1)
    imitated = sorted(set(known) & set(forgers or {}))
    if not is_known and imitated and before % 2:
        assert forgers is not None, "there are some"
        person = str(np.random.default_rng([seed, visitor, 13]).choice(imitated))
        return forger_of(person), None, forgers[person].to_present(enrolled, n, visitor)[0]
    pool = sorted(known) if is_known else strangers
    turn, which = divmod(before, len(pool))
    person = str(np.random.default_rng([seed, turn, 11 + is_known]).permutation(pool)[which])
    presented, _ = gallery[person].to_present(enrolled, n, visitor)
    return (person, known.get(person), presented) if len(presented) else None


def headline() -> str:
    """As large as there is room for: beside a sidebar and below a title, everything still stands on one screen."""
    return "#" if presenting() else "##"


def _ask(desk: Desk, decision: Decision, known_as: str | None, truth: str, key, revealed: dict) -> None:
    """Everything but names, threshold and verdict; the guess and its button stand above the pictures."""
    letters = list(LETTERS[:len(decision.names)])
    # letters in the order of names, so that A is not always the nearest
    nearest = sorted(decision.names[:len(letters)])
    letter_of = dict(zip(nearest, letters, strict=True))
    masked = [letter_of[name] for name in decision.names[:len(letters)]]
    colours = {letter: COLOURS[i % len(COLOURS)] for i, letter in enumerate(letters)}
    st.markdown(f"{headline()} Who is it?")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for i, answer in enumerate((*letters, STRANGER), 1):
            if st.button(answer, key=f"desk-guess-{i}", shortcut=str(i)):
                st.session_state["desk_guessed"] = key, answer
        of, guess = st.session_state.get("desk_guessed", (None, None))
        guess = guess if of == key else None
        reveal = st.button("Reveal", type="primary", icon=":material/visibility:", disabled=guess is None,
                           key="desk-reveal", shortcut="Enter")
        score([guess for guess, _ in revealed.values() if guess is not None], [right for _, right in revealed.values()],
              "Desk")
        st.markdown(f"Your guess: **{guess}**." if guess else "What does the audience say?", width="content")
    if reveal:
        named = next((name for name, letter in letter_of.items() if letter == guess), guess)
        desk.record(decision, truth, named)  # the decision is made now, and the guess counts
        right = guess == (letter_of.get(known_as) if known_as else STRANGER)
        revealed[key] = right, decision.person == known_as
        st.rerun()
    left, right = st.columns(2, gap="medium")
    with left:
        chart(figures.ladder(masked, decision.distances[:len(letters)], colours, large=True), "desk-masked",
              f"Distances to {len(letters)} people without their names")
    with right:
        compared = [letter_of[name] for name in decision.compared]
        show_functions(decision, desk.space, compared, colours, "desk-hint", True)


def _reveal(desk, decision, colours, person, known_as, revealed) -> None:
    guessed_right = list(revealed.values())[-1][0]
    show_verdict(decision, headline())
    show_truth(decision, called(person), known_as)
    with st.container(horizontal=True, vertical_alignment="center"):
        if guessed_right is not None:
            st.markdown(f"**The audience was {'right' if guessed_right else 'wrong'}.**", width="content")
        score([guess for guess, _ in revealed.values() if guess is not None], [right for _, right in revealed.values()],
              "Desk")
    left, right = st.columns(2, gap="medium")
    with left:
        show_ladder(decision, colours, "desk-audience-ladder", large=True)
    with right:
        show_functions(decision, desk.space, list(decision.compared), colours, "desk-audience-functions", True)
