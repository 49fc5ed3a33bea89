"""Numbers in a row that wraps: none is ever cut, however narrow the screen."""

from __future__ import annotations

import streamlit as st


def numbers(shown: dict[str, object], **helps: str) -> None:
    """Label -> value, a box each, as wide as what it says; ``helps``: what to say of a label on touch."""
    with st.container(horizontal=True, gap="small"):
        for label, value in shown.items():
            st.metric(label, value, border=True, width="content", help=helps.get(label))
