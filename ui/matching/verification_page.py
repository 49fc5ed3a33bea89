"""Verification: one threshold through all pictures, the paper's table, and how sure the errors are."""

from __future__ import annotations

import streamlit as st

from ui.matching import verification as views
from ui.matching.compared import choose_models, models_and_settings
from ui.matching.presenter import verify
from ui.matching.tried import those_who_tried
from ui.shell.controls import SMALLEST, try_presets
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch
from ui.shell.words import glossary, why_aucs_differ

VIEWS = {"line": ("Where to draw the line", views.line), "paper": ("As the paper tells it", views.as_the_paper),
         "sure": ("Errors, and how sure they are", views.how_sure), "tune": ("Over p and M", views.over_p_and_m),
         "tried": ("Those who try", those_who_tried)}


def show() -> None:
    """The whole page."""
    setup_page("Verification", "Is this the person they claim to be?")
    presenter = presenter_switch()
    chosen = choose_models()
    if not chosen:
        return
    if not presenter:
        glossary("genuine", "imposter", "FMR", "FNMR", "EER", "AUC", "gallery", "draw", "n")

    @st.fragment
    def explore() -> None:
        """All that follows n, p, M and the threshold; of the page only this is drawn again."""
        models, n, draw = models_and_settings(chosen)
        if not models:
            return
        if presenter:
            verify(models, n, draw)
            return
        view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="line",
                                    required=True, key="verification_view", label_visibility="collapsed", **KEPT)
        try_presets({"One sequence observed, or five?": {"n": 5 if n == 1 else 1},
                     "Only the largest differences: p = 8": {"live": True, "p": 8.0},
                     SMALLEST: {"live": True, "M": 1, "p": 1.0}})
        VIEWS[view][1](models, n, draw)

    explore()
    if not presenter:
        why_aucs_differ()
