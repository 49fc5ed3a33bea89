"""The frame of every page: title, the question it answers, charts with their export, and what all pages load once."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from qpwl_core.datasets import load_dataset
from qpwl_core.recordings import Recordings
from ui.navigation import frame_if_bare
from ui.plot import plot

# Okabe–Ito: eight colours that colour-blind people can tell apart. A person keeps theirs on all pages.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

HARMLESS = re.compile(r"[\w.,%±–()·+−-]+( [\w.,%±–()·+−-]+)*")       # what no Markdown means anything by
KEPT = {"bind": "query-params", "persist_state": "session"}      # a setting that is in the link and on all pages
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


def chart(figure, key: str, alt: str, data=None, on_click=None) -> None:
    """Show a figure, with its data (a DataFrame) as CSV and itself as a web page to take away.

    ``data`` may be a function that gives the DataFrame, so that one which takes time is made when it is asked for.
    ``on_click`` is called with the point that is clicked. Files are made when they are asked for.
    """
    plot(figure, key, alt, on_click)
    # No fragment of its own: where the fragment around it is asked to run again before all was sent, Streamlit drops
    # what that one had to say and keeps what this one had, which then has no place to go.
    menu = st.popover("Export", icon=":material/download:", type="tertiary", key=f"{key}-export", on_change="rerun")
    if not menu.open:                            # what nobody looks at is neither made nor sent
        return
    with menu:
        if data is not None:
            st.download_button("Data (CSV)", lambda: (data() if callable(data) else data).to_csv(index=False),
                               f"{key}.csv", "text/csv", on_click="ignore", key=f"{key}-csv")
        st.download_button("Figure (HTML)", lambda: as_web_page(figure), f"{key}.html", "text/html",
                           on_click="ignore", key=f"{key}-html")


def table(rows: pd.DataFrame, alt: str) -> None:
    """Show a small table of words and figures; Streamlit's grid takes three times as long to appear."""
    def cell(value) -> str:
        return str(value) if HARMLESS.fullmatch(str(value)) else plain(value)

    st.table(rows.map(cell), border="horizontal", hide_index=True, alt=alt)


def as_web_page(figure) -> str:
    """A figure on white, with all that it needs inside."""
    return go.Figure(figure).update_layout(template="plotly_white").to_html(include_plotlyjs=True)


@st.cache_resource(max_entries=8, show_spinner="Reading the recordings …")
def recordings_of(name: str) -> Recordings:
    """A data set, read once for all sessions; nobody changes it."""
    return load_dataset(name)
