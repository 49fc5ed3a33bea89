"""The frame of every page: title, the question it answers, charts with their export, and what all pages load once."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from qpwl_core.datasets import load_dataset
from qpwl_core.recordings import Recordings
from ui.navigation import frame_if_bare

# Okabe–Ito: eight colours that colour-blind people can tell apart. A person keeps theirs on all pages.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

ICON = str(Path(__file__).with_name("icon.png"))  # a named icon would be fetched from the web


def setup_page(title: str, question: str) -> None:
    """Open a page: every page calls this first, also when it is the first one a link leads to."""
    st.set_page_config(page_icon=ICON)  # before the frame, or its icons would be fetched from the web as the tab's
    frame_if_bare()
    st.set_page_config(page_title=f"{title} · QP-WL Lab", page_icon=ICON, layout="wide")
    st.title(title)
    st.markdown(f"##### {question}")


def plain(text: str) -> str:
    """A name as it is, wherever Markdown would read it otherwise."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(str(text).split()))


def colours_of(people: list[str]) -> dict[str, str]:
    """A colour for each person, the same on all pages: by their place among all people of the model or data set."""
    return {person: COLOURS[i % len(COLOURS)] for i, person in enumerate(sorted(people))}


def chart(figure, key: str, alt: str, data=None, **options):
    """Show a figure, with its data (a DataFrame) as CSV and itself as a web page to take away; returns the selection.

    ``data`` may be a function that gives the DataFrame, so that one which takes time is made when it is asked for.
    ``options`` go to ``st.plotly_chart``, such as ``on_select="rerun"``. Files are made when they are asked for.
    """
    chosen = st.plotly_chart(figure, key=key, alt=alt, config={"displaylogo": False}, **options)
    with st.popover("Export", icon=":material/download:", type="tertiary", key=f"{key}-export"):
        if data is not None:
            st.download_button("Data (CSV)", lambda: (data() if callable(data) else data).to_csv(index=False),
                               f"{key}.csv", "text/csv", on_click="ignore", key=f"{key}-csv")
        st.download_button("Figure (HTML)", lambda: figure.to_html(include_plotlyjs=True), f"{key}.html", "text/html",
                           on_click="ignore", key=f"{key}-html")
    return chosen


@st.cache_resource(max_entries=8, show_spinner="Reading the recordings …")
def recordings_of(name: str) -> Recordings:
    """A data set, read once for all sessions; nobody changes it."""
    return load_dataset(name)
