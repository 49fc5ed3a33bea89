"""The frame that Verification and Identification share: models, settings and views, or one question for an audience."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.matching.compared import choose_models, models_and_settings
from ui.shell.controls import try_presets
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch, presenting
from ui.shell.refusals import in_a_sentence
from ui.shell.words import glossary, why_aucs_differ


def show_page(title: str, question: str, key: str, views: dict[str, tuple[str, Callable]], present: Callable,
              words: tuple[str, ...], presets: Callable[[int], dict] | None = None) -> None:
    """The whole page. ``views`` name -> what its tab says, and view(models, n, draw); ``present(models, n)`` is the
    page before an audience; ``words`` are explained on top, ``presets(n)`` are settings that show something."""
    setup_page(title, question, bare=presenting())
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        presenter = presenter_switch()
        if not presenter:
            glossary(*words)
    if presenter:
        on_stage(present)
        return
    chosen = choose_models()
    if not chosen:
        return

    @st.fragment
    @in_a_sentence()
    def explore() -> None:
        """All that follows n, p, M and the threshold; of the page only this is drawn again."""
        row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
        models, n, draw = models_and_settings(chosen, row)
        if not models:
            return
        if presets:
            with row:
                try_presets(presets(n))
        view = st.segmented_control("View", list(views), format_func=lambda name: views[name][0],
                                    default=next(iter(views)), required=True, key=key, label_visibility="collapsed",
                                    **KEPT)
        views[view][1](models, n, draw)

    explore()
    why_aucs_differ()


@st.fragment
@in_a_sentence()
def on_stage(present: Callable) -> None:
    """Before an audience: the question and its picture first, what can be set folded away below them."""
    stage, below = st.container(), st.expander("Models, n, p and M", icon=":material/tune:")
    with below:
        chosen = choose_models(st)
        row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
        models, n, _ = models_and_settings(chosen, row) if chosen else ([], 1, None)
    with stage:
        if models:
            present(models, n)
        else:
            st.info("Choose a model below.", icon=":material/checklist:")
