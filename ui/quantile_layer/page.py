"""Quantile layer: from samples to Q̂, Q̃ and Q̄, and what W_p measures between two of them."""

from __future__ import annotations

import streamlit as st

from ui.library.models import choose_model, entries
from ui.quantile_layer import views
from ui.quantile_layer.samples import SOURCES, choose_samples, mixture, try_this, walker
from ui.shell.frame import KEPT, setup_page
from ui.shell.refusals import in_a_sentence
from ui.shell.text import plain
from ui.shell.words import glossary

# Links carry these words as they are.
VIEWS = {"Samples to quantiles": views.steps, "How many points": views.points, "Distance of two": views.distance,
         "Why Wasserstein": views.slide}
TRY = {"A walk": {"ql_source": "Walk"}, "Two bumps": mixture((0.6, -2.0, 0.6), (0.4, 2.0, 1.0)),
       "Heavy tail": mixture((0.9, 0.0, 0.5), (0.1, 1.0, 5.0), count=500),
       "Uniform": mixture((1.0, 0.0, 3.0), shape="uniform", count=500),
       "Constant": mixture((1.0, 1.0, 0.0)), "Three samples": mixture((1.0, 0.0, 2.0), count=3)}


def show() -> None:
    """The whole page."""
    setup_page("Quantile layer",
               "How does a recording become a quantile function, and what is the Wasserstein distance between two?")
    model = choose_model() if any(entry.has_gallery for entry in entries()) else None
    if model is not None and (walks := walker(model)) is not None and walks.id != model.id:
        st.sidebar.caption(f"For *Filter* and its learned levels. A *Walk* goes through {plain(walks.title)}, for the "
                           "model above reads no walks.")
    glossary("Q̂", "Q̃", "Q̄", "M", "p")

    @st.fragment
    @in_a_sentence()
    def explore() -> None:
        """All that follows the samples, M and p; of the page only this is drawn again."""
        view = st.segmented_control("View", list(VIEWS), default="Samples to quantiles", required=True, key="ql_view",
                                    label_visibility="collapsed", width="stretch", **KEPT)
        source = st.segmented_control("Samples from", SOURCES, default="Walk", required=True, key="ql_source", **KEPT)
        try_this(TRY)
        one = choose_samples(source, model)
        st.caption(one.about)
        st.divider()
        VIEWS[view](one, model)

    explore()
