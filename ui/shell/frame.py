"""The frame of every page: its title and the question it answers."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.shell.navigation import frame_if_bare
from ui.shell.text import plain
from ui.visitors.who import look_as, looks_as, name_of, visitor

KEPT = {"bind": "query-params", "persist_state": "session"}      # a setting that is in the link and on all pages
ICON = str(Path(__file__).with_name("icon.png"))  # a named icon would be fetched from the web


def setup_page(title: str, question: str, bare: bool = False) -> None:
    """Open a page: every page calls this first, also when it is the first one a link leads to.

    ``bare``: before an audience, where what is asked is all that stands there."""
    st.set_page_config(page_icon=ICON)  # before the frame, or its icons would be fetched from the web as the tab's
    frame_if_bare()
    st.set_page_config(page_title=f"{title} · QP-WL Lab", page_icon=ICON, layout="wide")
    visitor()                                 # whoever has no business here sees a sentence, and no page
    if whom := looks_as():
        with st.container(horizontal=True, vertical_alignment="center", key="looks_as"):
            st.markdown(f":material/visibility: As **{plain(name_of(whom))}** sees it. What you do here is theirs.")
            st.button("Back to yours", icon=":material/undo:", on_click=look_as, args=("",), key="looks_back")
    if not bare:
        st.title(title)
        st.header(question, anchor=False)
