"""Class: the lecturer lets people in and sees what they do; everyone else sees what is kept of them, and forgets it."""

from __future__ import annotations

import io
import os
from datetime import datetime

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import desk_place, runs_folder
from qpwl_core.common.sheets import safe_of
from qpwl_core.common.text import counted
from ui.classroom import game
from ui.classroom.forge import lecturers_game, students_game
from ui.library import jobs
from ui.library.spaces import clear, space_of
from ui.shell.frame import KEPT, setup_page
from ui.shell.text import plain
from ui.visitors.classroom import classroom, in_class, whose_computer
from ui.visitors.who import is_lecturer, look_as, looks_as, name_of, register, visitor, visitors

VIEWS = {"door": "Who is here", "forge": "Forge the lecturer"}


def show() -> None:
    """The whole page."""
    setup_page("Class", "Who is here, and what is kept of them?", bare=_projects())
    if not in_class():
        st.info("There is no class: you work alone. `make class` starts one.", icon=":material/school:")
        return
    if text := st.session_state.pop("class_said", None):
        st.success(plain(text), icon=":material/check:")
    if text := st.session_state.pop("class_problem", None):
        st.error(plain(text), icon=":material/error:")
    try:
        if not is_lecturer() or looks_as():
            students_game()
            students_view()
            return
        view = st.segmented_control("View", list(VIEWS), format_func=VIEWS.get, default="door", required=True,
                                    key="class_view", label_visibility="collapsed", **KEPT)
        lecturers_game() if view == "forge" else lecturers_view()
    except FileError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _projects() -> bool:
    """Whether the ladder of a game is shown, to the whole room: nothing may push it off the screen."""
    chosen = st.session_state.get("class_view") or st.query_params.get("class_view")
    return in_class() and chosen in ("forge", VIEWS["forge"]) and game.current(runs_folder()) is not None


def join_link() -> str:
    """The link that lets students in."""
    return f"{os.environ.get('QPWL_CLASS_ADDRESS', '').rstrip('/')}/join/{classroom().join}"


@st.cache_data(max_entries=2, show_spinner=False)
def qr_code(link: str) -> bytes:
    """A picture of a link."""
    import segno

    picture = io.BytesIO()
    segno.make(link, error="m").save(picture, kind="png", scale=10, border=3)
    return picture.getvalue()


def lecturers_view() -> None:
    """The way in, who is here, and the ways out."""
    left, right = st.columns([1, 2], gap="medium")
    with left:
        st.image(qr_code(join_link()))
        with st.popover("Show it large", icon=":material/qr_code_2:"):
            st.image(qr_code(join_link()), width=480)          # to be read from the last row
            st.markdown(f"## {plain(join_link())}")
        st.code(join_link(), language=None, wrap_lines=True)
        st.caption("Point a phone at it, or type the link. Whoever has no code sees one sentence.")
    with right:
        everyone()


@st.fragment(run_every=5.0)
def everyone() -> None:
    """All visitors and what they have, looked at every few seconds."""
    try:
        here = visitors()
    except FileError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.subheader(f"Here: {counted(len(here), 'visitor', 'visitors')}", anchor=False)
    if not here:
        st.info("Nobody has joined yet.", icon=":material/hourglass_empty:")
        return
    spaces = {each.id: space_of(each.id) for each in here}
    st.dataframe(safe_of(pd.DataFrame([{
        "visitor": name_of(each.id), "joined": _at(each.joined), "has": spaces[each.id].brief()} for each in here])),
        hide_index=True, height=min(40 + 35 * len(here), 400), column_config={
            "visitor": st.column_config.Column(width=130), "joined": st.column_config.Column(width=55)})
    chosen = st.selectbox("Visitor", [each.id for each in here], key="class_visitor",
                          format_func=lambda who: f"{name_of(who)} · {who[:4]}")
    theirs = spaces[chosen]
    for job in theirs.runs:
        st.caption(f":material/model_training: {plain(job.spec['title'])}, {job.state}")
    for names in theirs.desks.values():
        st.caption(":material/how_to_reg: enrolled: " + (plain(", ".join(names[:20])) or "nobody"))
    with st.container(horizontal=True):
        st.button("Stop their training", icon=":material/stop:", disabled=not any(job.alive for job in theirs.runs),
                  on_click=_stop, args=(chosen,), key="class_stop")
        trains = [job.id for job in theirs.runs if job.spec["kind"] == "train"]
        if trains and st.button("Project their run", icon=":material/cast:", key="class_show_run"):
            _project("train", train_run=trains[0], train_view="New run")
        if theirs.models and st.button("Project their model", icon=":material/cast:", key="class_show_model"):
            _project("quantile_layer", model=theirs.models[-1].name)
        if st.button("See what they see", icon=":material/visibility:", key="class_look"):
            look_as(chosen)
            st.rerun()
        with st.popover("Remove them", icon=":material/person_remove:"):
            st.markdown(f"Remove {plain(name_of(chosen))} and all they have ({theirs})?")
            st.button("Remove", type="primary", on_click=_remove, args=([chosen],), key="class_remove")
        with st.popover("Clear the room", icon=":material/delete_sweep:"):
            st.markdown(f"Remove all {len(here)} visitors and all they have?")
            st.button("Clear it", type="primary", on_click=_remove, args=([each.id for each in here],),
                      key="class_clear")


def _at(when: str) -> str:
    """The time of day here, of one in UTC."""
    return datetime.fromisoformat(when).astimezone().strftime("%H:%M")


def students_view() -> None:
    """What is kept of whoever looks, and the way out."""
    me = visitor()
    st.markdown(f"You are **{plain(name_of(me))}**. Kept of you on {whose_computer()}: **{space_of(me)}**. Only "
                "the lecturer can see it, and nobody else unless you share it: models on the page Train, under Models.")
    with st.popover("Forget me", icon=":material/person_off:"):
        st.markdown("Delete all of it, for good, and leave the class?")
        st.button("Forget me", type="primary", on_click=_forget_me, key="class_forget")


def _project(page: str, **settings) -> None:
    """Show a page to the room, with what somebody has."""
    if is_lecturer():
        st.session_state.update(settings)
        st.switch_page(f"pages/{page}.py")


def _stop(who: str) -> None:
    if is_lecturer():
        for job in space_of(who).runs:
            jobs.stop(job)


def _remove(whom: list[str]) -> None:
    if not is_lecturer():
        return
    try:
        had = [_gone(who) for who in whom]
        st.session_state["class_said"] = (f"{counted(len(whom), 'visitor', 'visitors')} removed, with "
                                          + "; ".join(str(space) for space in had[:3])
                                          + (" …" if len(had) > 3 else "") + ".")
    except FileError as error:
        st.session_state["class_problem"] = str(error)


def _forget_me() -> None:
    try:
        _gone(visitor())
        st.session_state.clear()
    except FileError as error:
        st.session_state["class_problem"] = str(error)


def _gone(who: str):
    """Strike a visitor out first, so that nothing new comes while what is there is removed."""
    register(str(desk_place())).remove(who)
    if (on := game.current(runs_folder())) is not None:
        game.without(on, who)
    return clear(who)
