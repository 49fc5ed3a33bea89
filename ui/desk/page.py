"""The enrolment desk: enrol people, let someone knock, see whether they get in, and why."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.sheets import safe_of
from ui.desk.audience import audience
from ui.desk.enrolling import show_enrolled, show_enrolling, show_message
from ui.desk.knocking import choose_n, choose_threshold, show_knocking
from ui.desk.scene import Scene, set_scene
from ui.library.models import choose_model
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch, presenting
from ui.shell.text import plain
from ui.shell.words import glossary

VIEWS = {"desk": "Desk", "audience": "Audience", "log": "Log"}


def show_desk(scene: Scene) -> None:
    left, right = st.columns(2, gap="large")
    with right:
        show_enrolling(scene)
    with left:
        show_message()
        show_enrolled(scene)
    if scene.people:
        st.divider()
        show_knocking(scene)


def show_audience(scene: Scene) -> None:
    show_message()
    if not scene.people or not scene.gallery:
        if presenting():
            st.markdown("# Whom do we know?")
        show_enrolled(scene)
        return
    stage, below = st.container(), st.expander("Threshold and number of sequences", icon=":material/tune:")
    with below:                                   # the question and its answer come first, what can be set below
        n = choose_n()
        threshold = choose_threshold(scene, n, claim=False)
    with stage:
        audience(scene, n, threshold)


def show_log(scene: Scene) -> None:
    rows = scene.desk.log(500)
    if not rows:
        st.info("No decision has been made with this model yet: present someone at the desk.",
                icon=":material/history:")
        return
    table = pd.DataFrame(rows).drop(columns="model")
    table = table.assign(decided=table["decided"].fillna("rejected"), time=table["time"].str[:19].str.replace("T", " "))
    first = ["decided", "truth", "guess", "claimed"]             # what is asked first; a grid scrolls to the rest
    table = table[first + [column for column in table if column not in first]]
    st.dataframe(safe_of(table.fillna(dict.fromkeys(("truth", "guess", "claimed"), ""))), hide_index=True,
                 height=min(40 + 35 * len(rows), 600))
    st.caption(f"The last {len(rows)} decisions with this model, the newest first; times are UTC. The export has all.")
    st.download_button("Export (CSV)", scene.desk.log_csv, "decisions.csv", "text/csv", on_click="ignore",
                       icon=":material/download:", key="desk-log-csv")


def show() -> None:
    """The whole page."""
    setup_page("Enrolment desk", "Someone knocks. Do we know them, and do they get in?", bare=presenting())
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        presenter, place = presenter_switch(), None
        if not presenter:
            glossary("enrolled", "n", "draw", "threshold", "FMR", "gallery", "calibration", "Q̄")
    if presenter:
        stage, place = st.container(), st.expander("Model", icon=":material/tune:")
    if (entry := choose_model(gallery=False, place=place)) is None:
        return
    view = "audience" if presenter else st.segmented_control(
        "View", list(VIEWS), format_func=VIEWS.get, default="desk", required=True, key="desk-view",
        label_visibility="collapsed", **KEPT)
    with stage if presenter else st.container():
        try:
            {"desk": show_desk, "audience": show_audience, "log": show_log}[view](set_scene(entry))
        except FileError as error:
            st.error(plain(str(error)), icon=":material/error:")
