"""Charts and small tables on a page, with their export."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import streamlit as st

from qpwl_core.common.sheets import csv_of
from ui.shell.plot import plot
from ui.shell.text import plain

if TYPE_CHECKING:
    import pandas as pd

HARMLESS = re.compile(r"[\w.,%±–()·+−✓▲▼△▽-]+( [\w.,%±–()·+−✓▲▼△▽-]+)*")   # what no Markdown means anything by
FIGURES = re.compile(r"(?=.*[ –])(?:[\d.,%±–()+−✓▲▼△▽·\- ]|of |to )+")          # such as 0.9936 ± 0.0011, or 12 of 340


def chart(figure, key: str, alt: str, data=None, on_click=None) -> None:
    """Show a figure, with its data (a DataFrame) as CSV and itself as a web page to take away.

    ``data`` may be a function that gives the DataFrame, so that one which takes time is made when it is asked for.
    ``on_click`` is called with the point that is clicked. Files are made when they are asked for.
    """
    plot(figure, key, alt, on_click)
    exports(key, data, lambda: as_web_page(figure))


def exports(key: str, data, page) -> None:
    """A menu to take away a picture: ``data`` as in `chart`, and ``page``, a function that gives it as a web page."""
    # No fragment of its own: where the fragment around it is asked to run again before all was sent, Streamlit drops
    # what that one had to say and keeps what this one had, which then has no place to go.
    menu = st.popover("Export", icon=":material/download:", type="tertiary", key=f"{key}-export", on_change="rerun")
    if not menu.open:                            # what nobody looks at is neither made nor sent
        return
    with menu:
        if data is not None:
            st.download_button("Data (CSV)", lambda: csv_of(data() if callable(data) else data),
                               f"{key}.csv", "text/csv", on_click="ignore", key=f"{key}-csv")
        st.download_button("Figure (HTML)", page, f"{key}.html", "text/html",
                           on_click="ignore", key=f"{key}-html")


def table(rows: pd.DataFrame, alt: str) -> None:
    """Show a small table of words and figures; Streamlit's grid takes three times as long to appear."""
    def cell(value) -> str:
        return str(value) if HARMLESS.fullmatch(str(value)) else plain(value)

    cells = rows.map(cell)
    if cells.map(lambda value: bool(FIGURES.fullmatch(value))).to_numpy().any():
        cells = cells.style.format(unbroken)                 # what is shown; the values stay as they are
    st.table(cells, border="horizontal", hide_index=True, alt=alt)


def unbroken(cell: str) -> str:
    """A figure and what belongs to it on one line, however narrow the table; its interval may stand below it."""
    if not FIGURES.fullmatch(cell):
        return cell
    return re.sub(r" (?!\()", "\N{NO-BREAK SPACE}", cell).replace("–", "–\N{WORD JOINER}")


def as_web_page(figure) -> str:
    """A figure on white, with all that it needs inside."""
    import plotly.graph_objects as go

    return go.Figure(figure).update_layout(template="plotly_white").to_html(include_plotlyjs=True)
