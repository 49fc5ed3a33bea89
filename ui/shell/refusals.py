"""What could not be computed is a sentence where the picture would be, on every page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from qpwl_core.common.child import ChildError
from ui.shell.text import plain


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Also a decorator: what another process refused, or what memory did not suffice for, is told, and the page ends
    there; nobody else's does."""
    try:
        yield
    except ChildError as error:
        st.error(f"This cannot be shown here: {plain(str(error))}.", icon=":material/memory:")
    except MemoryError:
        st.error("This cannot be shown now: the server has too little memory left. Try again in a minute, or with "
                 "less.", icon=":material/memory:")
