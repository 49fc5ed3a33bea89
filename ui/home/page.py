"""The home page: what this is, one real picture, a tour, and what is at hand."""

from __future__ import annotations

import os
import sys

import streamlit as st

from qpwl_core.common.drivers import may_have_accelerator
from ui.shell.frame import setup_page
from ui.shell.numbers import numbers
from ui.shell.refusals import in_a_sentence
from ui.shell.text import plain

TOUR = {
    "pages/lessons.py": ("school", "Seven short walks with questions: where to start, and what to find out."),
    "pages/data.py": ("database", "Who was recorded, for how long, and what the network sees of it."),
    "pages/quantile_layer.py": ("stairs", "From samples to a quantile function; the distance as an area."),
    "pages/train.py": ("model_training", "Train a model in a minute, watch it learn, tune M and p."),
    "pages/filters.py": ("filter_alt", "What each filter learned, and which ones tell people apart."),
    "pages/distances.py": ("straighten", "Wasserstein against cosine on the same people, live in p and M."),
    "pages/sign.py": ("draw", "Put yourself in: sign, and let a friend forge you."),
    "pages/verification.py": ("verified_user", "Is it who they claim to be? Set a threshold and count both errors."),
    "pages/identification.py": ("person_search", "Who is it, and is it anybody we know?"),
    "pages/desk.py": ("how_to_reg", "Enrol people, then try to break in as an imposter."),
    "pages/results.py": ("table_chart", "All methods side by side, with intervals: does the paper hold?"),
}
INTRODUCTION = """
A network turns a recording of gait, gaze, EEG or a signature into streams of numbers. **QP-WL** keeps each stream's
whole distribution as a *quantile function* and compares two recordings by the *Wasserstein distance*: how far the one
distribution must be moved to become the other.
"""
FIRST = "**Start here:** press *Another pair*, and see whether a person is nearer to themselves than to a stranger."
THEN = "**Then be one of them:** sign in the browser, see your own quantile functions, and let a friend forge you."
HAPT = "UCI HAPT (Reyes-Ortiz et al. 2015), CC BY 4.0"


def show() -> None:
    """The whole page: nothing of it waits for PyTorch or plotly.js."""
    setup_page("QP-WL Lab", "Can a person be told by the distribution of a signal?")
    st.markdown(INTRODUCTION)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("**The tour:**", width="content")
        for page, (icon, line) in TOUR.items():
            st.page_link(page, icon=f":material/{icon}:", help=line, width="content")
    first_look()
    at_hand()
    st.caption("Method: Abdelwahab & Landwehr, Deep Distributional Sequence "
               "Embeddings Based on a Wasserstein Loss. Nothing leaves this computer.")


def first_look() -> None:
    """Two people through the eyes of a model, and the one thing to do first."""
    from qpwl_core.common.files import FileError
    from ui.home.first_look import learned, model_to_show

    entry = model_to_show()
    if entry is not None:
        st.info(FIRST, icon=":material/touch_app:")

    @st.fragment
    @in_a_sentence()
    def picture() -> None:
        """What follows p and the draw; of the page only this is drawn again."""
        source = HAPT
        try:
            if entry is None:
                raw_signals()
            else:
                learned(entry)
                terms = entry.card.get("terms") or {}
                source = ", ".join(filter(None, (terms.get("citation"), terms.get("licence"))))
                source = source or "see the model's card"
        except (FileError, ValueError, KeyError) as error:
            st.warning(f"The model {plain(entry.id)} cannot be shown: {plain(error)}.", icon=":material/warning:")
            raw_signals()
        st.caption(f"Recordings in the picture: {plain(source)}.")

    picture()
    with st.container(border=True):          # what comes second stands after what comes first, and looks like it
        st.markdown(THEN)
        st.page_link("pages/sign.py", label="Try it on yourself", icon=":material/draw:", width="content")


def raw_signals() -> None:
    from ui.home.raw import raw

    raw()


def device() -> str:
    """What trainings run on; PyTorch is asked only where it could find something else than the CPU."""
    if "torch" not in sys.modules and not may_have_accelerator():
        return "cpu"
    from qpwl_core.training.devices import device_of

    return device_of("auto").type


def at_hand() -> None:
    """Which models, data and machine there are."""
    from ui.library.data import available_data
    from ui.library.models import entries

    st.divider()
    st.subheader("At hand")
    models, data = entries(), available_data()
    shipped = sum(entry.kind == "ships" for entry in models)
    numbers({"Models": len(models), "Data sets": len(data), "Device": device().upper(), "Cores": len(
        os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()})
    st.caption(f"{shipped} models ship and {len(models) - shipped} were trained or uploaded here; "
               f"{sum('SIMULATED' in title for title in data.values())} of the data sets are simulated. Training runs "
               "on this computer.")
    if not models:
        st.info("No model is at hand yet. Train one, it takes a minute.", icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
