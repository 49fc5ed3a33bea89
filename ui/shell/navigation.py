"""The pages in the order of the story, and the frame around them."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from ui.shell.refusals import in_a_sentence
from ui.visitors.classroom import in_class

ROOT = Path(__file__).resolve().parents[2]

STORY = {
    "Understand": {"lessons": ("Lessons", "school"), "data": ("Data", "database"),
                   "quantile_layer": ("Quantile layer", "stairs"),
                   "train": ("Train", "model_training"), "filters": ("Filters", "filter_alt"),
                   "distances": ("Distances", "straighten")},
    "Use": {"sign": ("Sign", "draw"), "verification": ("Verification", "verified_user"),
            "identification": ("Identification and imposters", "person_search"),
            "desk": ("Enrolment desk", "how_to_reg"), "results": ("Results", "table_chart")},
}
framed = threading.local()      # a page runs in the thread of the app.py around it
app_has_run = threading.Event()  # in this server
modules: dict[str, int] = {}    # how many were set aside


def navigation():
    """Declare the pages; ``run()`` of what is returned shows the chosen one."""
    # Its address is "/" whatever the path says; it only keeps it from clashing with pages/home.py in Streamlit's list.
    home = st.Page(ROOT / "pages/home.py", title="Home", icon=":material/home:", url_path="start", default=True)
    pages = {part: [st.Page(ROOT / f"pages/{name}.py", title=title, icon=f":material/{icon}:")
                    for name, (title, icon) in rows.items()]
             for part, rows in STORY.items()}
    if in_class():
        pages["Class"] = [st.Page(ROOT / "pages/classroom.py", title="Class", icon=":material/school:")]
    hidden = st.session_state.get("present", st.query_params.get("present") == "true")     # before an audience
    # all of them: one more than twelve, and Streamlit would hide the last, the page of the class among them
    return st.navigation({"": [home], **pages}, position="hidden" if hidden else "sidebar", expanded=True)


def run_framed() -> None:
    """What app.py does."""
    framed.yes = True
    app_has_run.set()
    try:
        with in_a_sentence():
            navigation().run()
    finally:
        framed.yes = False
        set_modules_aside()


def set_modules_aside() -> None:
    """Take what modules hold out of the garbage collector's way, whenever new ones were loaded.

    Streamlit collects after every run, and with PyTorch and the rest in memory that takes 0.12 s, in which no thread
    gets to say anything to a browser; without them it takes next to nothing.
    """
    if len(sys.modules) > modules.get("aside", 0):
        modules["aside"] = len(sys.modules)
        if in_class():
            gc.unfreeze()                    # many sessions were set aside with them, and have ended since
        gc.collect()
        gc.freeze()


def always_framed() -> None:
    """Tell Streamlit, before it serves, that app.py declares the pages: also the first link leads through it.

    Else, where two visitors came to a server that was just up, one of them could be left with a page without its frame,
    and lose what they typed first."""
    PagesManager.uses_pages_directory = False


def frame_if_bare() -> None:
    """Declare the pages from within one, where a link led to it before app.py has ever run: Streamlit then starts the
    page's script alone. And start again, inside the frame: widgets have other identities there, so what is typed or
    pressed first would be lost. A server of ours is never in that state (`always_framed`)."""
    if getattr(framed, "yes", False):
        return
    alone = PagesManager.uses_pages_directory and not app_has_run.is_set()
    navigation()                                 # from here on Streamlit starts app.py
    if alone:
        st.rerun()
