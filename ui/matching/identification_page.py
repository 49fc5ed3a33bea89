"""Identification and imposters: the more people the harder, who is taken for whom, and an attack."""

from __future__ import annotations

import streamlit as st

from ui.matching import identification as views
from ui.matching.compared import choose_models, models_and_settings
from ui.matching.presenter import identify
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch

VIEWS = {"enrolled": ("The more people are enrolled, the harder it gets", views.enrolled),
         "mistaken": ("Who is taken for whom", views.mistaken), "attack": ("The attack", views.the_attack)}


def show() -> None:
    """The whole page."""
    setup_page("Identification and imposters", "Who is it, and is it anyone we know?")
    presenter = presenter_switch()
    chosen = choose_models()
    if not chosen:
        return

    @st.fragment
    def explore() -> None:
        """All that follows n, p, M and the threshold; of the page only this is drawn again."""
        models, n, draw = models_and_settings(chosen)
        if not models:
            return
        if presenter:
            identify(models, n, draw)
            return
        view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="enrolled",
                                    required=True, key="identification_view", label_visibility="collapsed", **KEPT)
        VIEWS[view][1](models, n, draw)

    explore()
