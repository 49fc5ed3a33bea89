"""The frame of every page: title, the question it answers, and what all pages load once."""

from pathlib import Path

import streamlit as st

from qpwl_core.datasets import load_dataset
from qpwl_core.recordings import Recordings

# Okabe–Ito: eight colours that colour-blind people can tell apart. A person keeps theirs on all pages.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

ICON = str(Path(__file__).with_name("icon.png"))  # a named icon would be fetched from the web


def setup_page(title: str, question: str) -> None:
    """Open a page: every page calls this first, also when it is the first one a link leads to."""
    st.set_page_config(page_title=f"{title} · QP-WL Lab", page_icon=ICON, layout="wide")
    st.title(title)
    st.markdown(f"##### {question}")


@st.cache_resource(max_entries=8, show_spinner="Reading the recordings …")
def recordings_of(name: str) -> Recordings:
    """A data set, read once for all sessions; nobody changes it."""
    return load_dataset(name)
