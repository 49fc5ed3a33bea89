"""The presenter mode of the pages of *Use*: no sidebar, large type, one decision per screen, keys.

Who comes when follows from a seed that is in the link: balanced, different every time, and the same again with it.
"""

from __future__ import annotations

import secrets

import numpy as np
import streamlit as st

from ui.shell.frame import KEPT

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
