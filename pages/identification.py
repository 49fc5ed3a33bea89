"""Identification and imposters: the more people the harder, who is taken for whom, and an attack."""

import streamlit as st

from ui import identification as views
from ui.page import KEPT, setup_page
from ui.trials import choose_models, models_and_settings

VIEWS = {"enrolled": ("The more people are enrolled, the harder it gets", views.enrolled),
         "mistaken": ("Who is taken for whom", views.mistaken), "attack": ("The attack", views.the_attack)}

setup_page("Identification and imposters", "Who is it, and is it anyone we know?")
chosen = choose_models()
if not chosen:
    st.stop()


@st.fragment
def explore() -> None:
    """All that follows n, p, M and the threshold; of the page only this is drawn again."""
    models, n, draw = models_and_settings(chosen)
    if not models:
        return
    view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="enrolled",
                                required=True, key="identification_view", label_visibility="collapsed", **KEPT)
    VIEWS[view][1](models, n, draw)


explore()
