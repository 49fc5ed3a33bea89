"""Verification: one threshold through all pictures, the paper's table, and how sure the errors are."""

from __future__ import annotations

import streamlit as st

from ui.matching import verification as views
from ui.matching.compared import choose_models, models_and_settings
from ui.shell.controls import try_presets
from ui.shell.frame import KEPT, setup_page

VIEWS = {"line": ("Where to draw the line", views.line), "paper": ("As the paper tells it", views.as_the_paper),
         "sure": ("Errors, and how sure they are", views.how_sure)}


def show() -> None:
    """The whole page."""
    setup_page("Verification", "Is this the person they claim to be?")
    chosen = choose_models()
    if not chosen:
        return

    @st.fragment
    def explore() -> None:
        """All that follows n, p, M and the threshold; of the page only this is drawn again."""
        models, n, draw = models_and_settings(chosen)
        if not models:
            return
        look, beside = st.columns([4, 1], gap="large")
        view = look.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="line",
                                      required=True, key="verification_view", label_visibility="collapsed", **KEPT)
        with beside:
            try_presets({"One sequence observed, or five?": {"n": 5 if n == 1 else 1},
                         "Only the largest differences: p = 8": {"live": True, "p": 8.0},
                         "A single level, the median: M = 1": {"live": True, "M": 1, "p": 1.0}})
        VIEWS[view][1](models, n, draw)

    explore()
