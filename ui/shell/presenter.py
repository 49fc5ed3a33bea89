"""The presenter mode of the pages of *Use*: no sidebar, large type, one decision per screen, keys.

Who comes when follows from a seed that is in the link: balanced, different every time, and the same again with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.text import plain

YES, NO = "It is them", "It is not"
KEYS = "Keys: 1, 2, … guess, Enter reveals, → is next."


def presenting() -> bool:
    """Whether the page is shown to an audience: known before its widget is there, also from a link."""
    return bool(st.session_state.get("present", st.query_params.get("present") == "true"))


def presenter_switch() -> bool:
    """The switch itself, on top of a page, where it is found again without the sidebar."""
    return st.toggle("Presenter", key="present", width="content", **KEPT,
                     help=f"For an audience: large type, no sidebar, one decision per screen. {KEYS}")


def visitor_and_seed(name: str) -> tuple[int, int]:
    """The visitor's number and the seed of the order, with the button for the next one."""
    seed_key, visitor_key = f"{name}-seed", f"{name}-visitor"
    if seed_key not in st.session_state and seed_key not in st.query_params:
        st.session_state[seed_key] = secrets.randbelow(9999) + 1          # another order every time

    def following() -> None:
        st.session_state[visitor_key] = st.session_state.get(visitor_key, 1) + 1

    st.button("Next visitor", icon=":material/skip_next:", on_click=following, key=f"{name}-next", type="primary",
              shortcut="ArrowRight")
    visitor = st.number_input("Visitor", 1, 9999, 1, key=visitor_key, width=130, **KEPT)
    seed = st.number_input("Order", 1, 9999, 1, key=seed_key, width=130, **KEPT,
                           help="Who comes when follows from this number, which is in the link: the same number, the "
                                "same visitors. Of every four, two are of the one kind and two of the other.")
    return visitor, seed


def balanced(visitor: int, seed: int) -> tuple[bool, int]:
    """Of every four visitors two are of the one kind, in an order that follows from the seed; and how many of that
    kind came before.

    >>> sorted(balanced(visitor, 5)[0] for visitor in (1, 2, 3, 4))
    [False, False, True, True]
    """
    block, place = divmod(visitor - 1, 4)
    kinds = np.random.default_rng([seed, block, 7]).permutation([True, True, False, False])
    return bool(kinds[place]), 2 * block + int((kinds[:place] == kinds[place]).sum())


def score(audience: list[bool], machine: list[bool], name: str) -> None:
    """How often both were right, small enough to stand beside the buttons."""
    st.badge(f"Audience {sum(audience)} of {len(audience)}", icon=":material/groups:", color="blue")
    st.badge(f"{name} {sum(machine)} of {len(machine)}", icon=":material/how_to_reg:", color="blue")


@dataclass(frozen=True)
class Question:
    """What is asked of the audience: answers to choose from, the right one, and what the threshold says."""

    asked: str
    answers: list[str]
    right: str
    decided: str
    truth: str


def put_question(key: str, about: tuple, judge: str, ask: Callable) -> None:
    """One screen: the question, the buttons, the picture; after Reveal the answer in its place.

    ``ask(visitor, seed)`` gives a `Question` and its picture, a function of whether the answer is shown; ``about`` is
    what else the answer depends on; ``judge`` is who is right or wrong beside the audience.
    """
    revealed = st.session_state.setdefault(key, {})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        visitor, seed = visitor_and_seed("present")
        score([given == right for given, right, _ in revealed.values() if given],
              [decided == right for _, right, decided in revealed.values()], judge)
    question, figure = ask(visitor, seed)
    place = (*about, visitor, seed)
    heading, buttons = st.container(), st.container(horizontal=True, gap="small")
    with buttons:
        for i, answer in enumerate(question.answers, 1):
            if st.button(answer, key=f"{key}-answer-{i}", shortcut=str(i), disabled=place in revealed):
                st.session_state[f"{key}-guess"] = place, answer
        guess = st.session_state.get(f"{key}-guess", (None, None))
        guess = guess[1] if guess[0] == place else None
        # A callback runs before the page is drawn again: the score above knows of it, too.
        st.button("Reveal", key=f"{key}-reveal", type="primary", icon=":material/visibility:", shortcut="Enter",
                  on_click=revealed.update, args=({place: (guess, question.right, question.decided)},))
        if place not in revealed:
            st.markdown(f"Your guess: **{plain(guess)}**." if guess else "What does the audience say?", width="content")
    with heading:
        if place in revealed:
            given = revealed[place][0]
            st.markdown(f"# :{'green' if question.decided == question.right else 'red'}[{plain(question.decided)}]")
            said = "" if given is None else f" The audience was {'right' if given == question.right else 'wrong'}."
            st.markdown(f"**{question.truth}**{said}")
        else:
            st.markdown(f"# {question.asked}")
    chart(figure(place in revealed), f"{key}-picture", question.asked)
