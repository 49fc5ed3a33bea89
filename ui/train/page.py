"""Train: a new run, runs compared, M and p on a grid, the models at hand."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from ui.library import jobs
from ui.library.data import OWN, recordings_for
from ui.library.models import entries
from ui.shell.frame import KEPT, setup_page
from ui.shell.words import glossary
from ui.train import live as train_live
from ui.train.form import (
    choose_data,
    choose_device,
    choose_preset,
    command_line,
    cost_in_parts,
    form,
    formulas,
    keep_gallery,
    tell_cost,
    tell_easy,
    tell_people,
    title_for,
)
from ui.train.models import models
from ui.train.tune import VIEW as TUNE
from ui.train.tune import tune
from ui.visitors.who import owner

VIEWS = ("New run", "Compare runs", TUNE, "Models")


def show() -> None:
    """The whole page."""
    setup_page("Train", "What does it take to learn to tell people apart?")
    glossary("validation", "AUC", "M", "p", "seed", "sequence", "gallery")
    view = st.segmented_control("View", VIEWS, default=VIEWS[0], key="train_view", required=True, **KEPT,
                                label_visibility="collapsed")
    train_live.problem()
    {"New run": new_run, "Compare runs": train_live.compare, TUNE: lambda: tune(choose_data()),
     "Models": models}[view]()


def start(data, config, keep):
    """Callback: queue the run, and look at it."""
    try:
        own = recordings_for(data) if data.startswith(OWN) else None
        job = jobs.submit(runs_folder(), "train", title_for(data, config), data, config, own, None, keep, *owner())
        st.session_state["train_run"] = st.session_state["train_started"] = job.id
    except (FileError, ValueError) as error:
        st.session_state["train_problem"] = str(error)


def new_run():
    data = choose_data()
    choose_device()
    choose_preset()
    left, right = st.columns([1, 1.25], gap="medium")
    with left:
        config = form(data)
    with right:
        tell_people(data)
        keep = keep_gallery(data)
        asked = st.container()              # high enough that the button and its answer are on a projector's screen
        possible = tell_cost(data, config, lambda cost: f":material/timer: {cost_in_parts(cost, config)}")
        tell_easy(data)
        with asked:
            st.button("Start training", icon=":material/play_arrow:", type="primary", on_click=start,
                      args=(data, config, keep), key="train_start", disabled=not possible)
            train_live.tell_started("train_started")
        whole = ", where a file is used whole; here half of its people are held out" if data.startswith(OWN) else ""
        st.caption(f"The same from the command line{whole}:")
        st.code(command_line(data, config), language=None, wrap_lines=True)
    with st.expander("What is learned: sequences of one person close together, of different people far apart",
                     icon=":material/function:"):
        for line in formulas(config):
            st.latex(line)
    st.divider()
    at_hand = train_live.runs_of("train")
    if not at_hand:
        st.info("No run yet. The settings above are a good start: press **Start training** and watch it learn, here. "
                "It goes on in the background, whatever you look at meanwhile.", icon=":material/model_training:")
        return
    job = train_live.choose_run(at_hand, "train_run")
    train_live.watch(job, train_live.live)
    if job.state == "finished" and any(entry.id == job.id for entry in entries()):
        train_live.next_steps(job)
