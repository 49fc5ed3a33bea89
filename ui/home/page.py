"""The home page: what this is, one real picture, a tour, and what is at hand."""

from __future__ import annotations

import os

import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.training.devices import device_of
from ui.home.first_look import learned, model_to_show, raw
from ui.library.data import available_data
from ui.library.models import entries
from ui.shell.frame import setup_page
from ui.shell.text import plain

TOUR = {
    "pages/data.py": ("database", "Who was recorded, for how long, and what the network sees of it."),
    "pages/quantile_layer.py": ("stairs", "From samples to a quantile function; the distance as an area."),
    "pages/train.py": ("model_training", "Train a model in a minute, watch it learn, tune M and p."),
    "pages/filters.py": ("filter_alt", "What each filter learned, and which ones tell people apart."),
    "pages/distances.py": ("straighten", "Wasserstein against cosine on the same people, live in p and M."),
    "pages/verification.py": ("verified_user", "Is it who they claim to be? Set a threshold and count both errors."),
    "pages/identification.py": ("person_search", "Who is it, and is it anybody we know?"),
    "pages/desk.py": ("how_to_reg", "Enrol people, then try to break in as an imposter."),
    "pages/results.py": ("table_chart", "All methods side by side, with intervals: does the paper hold?"),
}
INTRODUCTION = """
A recording of gait, gaze or EEG goes through a neural network, whose filters turn it into streams of numbers.
**QP-WL** keeps each filter's whole distribution as a *quantile function*, not just its mean or maximum. Two recordings
are compared by the *Wasserstein distance* between those functions: how far the one distribution must be moved to become
the other.
"""
HAPT = "UCI HAPT (Reyes-Ortiz et al. 2015), CC BY 4.0"


def show() -> None:
    """The whole page."""
    setup_page("QP-WL Lab", "Can a person be told by the distribution of a signal?")
    st.markdown(INTRODUCTION)

    entry = model_to_show()

    @st.fragment
    def picture() -> None:
        """What follows p and the draw; of the page only this is drawn again."""
        source = HAPT
        try:
            if entry is None:
                raw()
            else:
                learned(entry)
                terms = entry.card.get("terms") or {}
                source = ", ".join(filter(None, (terms.get("citation"), terms.get("licence"))))
                source = source or "see the model's card"
        except (FileError, ValueError, KeyError) as error:
            st.warning(f"The model {plain(entry.id)} cannot be shown: {plain(error)}.", icon=":material/warning:")
            raw()
        st.caption(f"Recordings in the picture: {plain(source)}.")

    picture()

    st.divider()
    st.subheader("A tour in one minute")
    for row in range(0, len(TOUR), 3):
        for column, (page, (icon, line)) in zip(st.columns(3), list(TOUR.items())[row:row + 3], strict=True):
            with column.container(border=True, height="stretch"):
                st.page_link(page, icon=f":material/{icon}:")
                st.caption(line)

    st.subheader("At hand")
    models, data, device = entries(), available_data(), device_of("auto")
    shipped = sum(entry.kind == "ships" for entry in models)
    cards = st.columns(4)
    cards[0].metric("Models", len(models), f"{shipped} ship, {len(models) - shipped} yours", delta_color="off",
                    delta_arrow="off", border=True)
    cards[1].metric("Data sets", len(data), f"{sum('SIMULATED' in title for title in data.values())} simulated",
                    delta_color="off", delta_arrow="off", border=True)
    cards[2].metric("Device", device.type.upper(), "where training runs", delta_color="off", delta_arrow="off",
                    border=True)
    cards[3].metric("Cores", len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                    "of this computer", delta_color="off", delta_arrow="off", border=True)
    if not models:
        st.info("No model is at hand yet. Train one, it takes a minute.", icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
    st.caption("Method: Abdelwahab & Landwehr, Deep Distributional Sequence "
               "Embeddings Based on a Wasserstein Loss. Nothing leaves this computer.")
