"""The pages in the order of the story, and the frame around them."""

from __future__ import annotations

import threading
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

ROOT = Path(__file__).resolve().parent.parent

STORY = {
    "Understand": {"data": ("Data", "database"), "quantile_layer": ("Quantile layer", "stairs"),
                   "train": ("Train", "model_training"), "filters": ("Filters", "filter_alt"),
                   "distances": ("Distances", "straighten")},
    "Use": {"verification": ("Verification", "verified_user"),
            "identification": ("Identification and imposters", "person_search"),
            "desk": ("Enrolment desk", "how_to_reg"), "results": ("Results", "table_chart")},
}
framed = threading.local()      # a page runs in the thread of the app.py around it
app_has_run = threading.Event()  # in this server


def navigation():
    """Declare the pages; ``run()`` of what is returned shows the chosen one."""
    home = st.Page(ROOT / "ui/home.py", title="Home", icon=":material/home:", default=True)
    pages = {part: [st.Page(ROOT / f"pages/{name}.py", title=title, icon=f":material/{icon}:")
                    for name, (title, icon) in rows.items()]
             for part, rows in STORY.items()}
    return st.navigation({"": [home], **pages})


def run_framed() -> None:
    """What app.py does."""
    framed.yes = True
    app_has_run.set()
    try:
        navigation().run()
    finally:
        framed.yes = False


def frame_if_bare() -> None:
    """Declare the pages from within one, where a link led to it before app.py has ever run: Streamlit then starts the
    page's script alone. And start again, inside the frame: widgets have other identities there, so what is typed or
    pressed first would be lost."""
    if getattr(framed, "yes", False):
        return
    alone = PagesManager.uses_pages_directory and not app_has_run.is_set()
    navigation()                                 # from here on Streamlit starts app.py
    if alone:
        st.rerun()
