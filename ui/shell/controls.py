"""Controls that several pages share, so that a value set on one page holds on the others: p, M and the levels."""

from __future__ import annotations

import streamlit as st

from qpwl_core.models.gallery import Gallery
from ui.shell.frame import KEPT
from ui.shell.people import name_of

WIDE = 230                    # pixels of a control in a row that wraps: one fits a phone, two a projector's column


def choose_p(own: float = 1.0, disabled: bool = False, width="stretch") -> float:
    """The order of the Wasserstein distance: the model's own, and then the next model's, until somebody moves it."""
    own, before = min(max(own, 1.0), 8.0), st.session_state.get("p_own")
    if before not in (None, own) and st.session_state.get("p") == before:
        st.session_state["p"] = own
    st.session_state["p_own"] = own
    return st.slider("Order p", 1.0, 8.0, own, 0.5, key="p", disabled=disabled, width=width, **KEPT,
                     help="p = 1 weighs all differences alike; a larger p looks at the largest. A cosine has none.")


def choose_points(gallery: Gallery, width="stretch") -> int | None:
    """M even levels, or None for the levels that the model learned."""
    learned = gallery.model_levels is not None
    if learned:
        words = {"learned": f"learned, M = {len(gallery.model_levels) - 2}", "even": "even"}
        learned = st.segmented_control(
            "Levels", list(words), format_func=words.get, key="levels", default="learned", required=True, width=width,
            **KEPT,
            help="Where each quantile function is sampled: where the model learned to look, or at M evenly spaced "
                 "levels of your choice. Nothing is trained again.") == "learned"
    points = st.slider("Sampling points M", 1, 64, 16, key="M", disabled=learned, width=width, **KEPT,
                       help="Q̄ is a line through the values at M levels between 0 and 1, and at both ends.")
    return None if learned else points


SMALLEST = "Only smallest, median, largest: M = 1"
EXTREMES = {SMALLEST: {"levels": "even", "M": 1},
            "As in the paper: p = 1, learned levels": {"p": 1.0, "levels": "learned"}}


def try_presets(presets: dict[str, dict]) -> None:
    """A menu of settings that show something: what a button says -> the values of widgets, by their keys."""
    with st.popover("Try this", icon=":material/lightbulb:"):
        for label, values in presets.items():
            st.button(label, on_click=st.session_state.update, kwargs=values)


def choose_person(label: str, people: list[str], key: str, place=st, index: int = 0, say=name_of, **more) -> str:
    """A select box of people by their friendly names, the id beside; a link may name the id alone. -> id"""
    forget_unknown(key, people)
    if key not in st.session_state and st.query_params.get(key) in people:
        st.session_state[key] = st.query_params[key]
    return place.selectbox(label, people, index=index, key=key, format_func=say, **KEPT, **more)


def choose_people(label: str, people: list[str], default: list[str], key: str, **more) -> list[str]:
    """The same for several people. -> ids"""
    forget_unknown(key, people)
    linked = [person for person in st.query_params.get_all(key) if person in people]
    if key not in st.session_state and linked:
        st.session_state[key] = linked
    return st.multiselect(label, people, default, key=key, format_func=name_of, **KEPT, **more)


def forget_unknown(key: str, options) -> None:
    """Drop a kept value that the options of a widget no longer have, such as a person of another model."""
    kept = st.session_state.get(key)
    if kept is None:
        return
    if isinstance(kept, list):
        known = [value for value in kept if value in options]
        if len(known) < len(kept):
            del st.session_state[key]
            if known:
                st.session_state[key] = known
    elif kept not in options:
        del st.session_state[key]
