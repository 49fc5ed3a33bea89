"""Tune M and p: a grid of short trainings as one job, and the heat map that fills in while it runs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from qpwl_core.common.text import duration
from qpwl_core.models.config import Config
from qpwl_core.models.methods import METHODS
from ui.library import jobs
from ui.library.data import OWN, recordings_for
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS
from ui.train.figures import heat_map
from ui.train.form import config_now, tell_cost, told
from ui.train.live import choose_run, runs_of, watch

POINTS, ORDERS = (1, 2, 4, 8, 16, 32, 64), (1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
VIEW = "Tune M and p"
MEASURES = {"auc": "Validation people", "test_auc": "Test people"}


def tune(data: str) -> None:
    """The whole view."""
    left, right = st.columns([1, 1.6], gap="large")
    with left:
        start_grid(data)
    with right:
        at_hand = runs_of("grid")
        if not at_hand:
            st.info("No grid has been run yet. Start the one on the left: the picture fills in run by run.",
                    icon=":material/grid_on:")
            return
        job = choose_run(at_hand, "train_grid")
        measure = st.segmented_control("AUC on", list(MEASURES), default="auc", key="train_grid_measure", required=True,
                                       format_func=MEASURES.get, **KEPT)
        watch(job, lambda job: show(job, measure))


def start_grid(data: str) -> None:
    """Which M and p, how long each, what it costs, and the button."""
    st.markdown("A short training for each pair of M and p, all else as under **New run**. M and p of a trained model "
                "can also be changed *afterwards*, with no training at all:")
    st.page_link("pages/distances.py", label="Turn M and p on the Distances page", icon=":material/straighten:")
    config = config_now(data)
    if METHODS[config.method].distance != "wasserstein":
        st.info(f"{METHODS[config.method].title} has no p: choose QP-WL under New run to tune both.",
                icon=":material/info:")
        return
    points = st.multiselect("M", POINTS, [4, 16, 64], key="train_grid_points", **KEPT)
    orders = st.multiselect("p", ORDERS, [1.0, 2.0, 4.0], key="train_grid_p", format_func="{:g}".format, **KEPT)
    iterations = st.number_input("Iterations of each run", 1, 10_000, 60, key="train_grid_iterations", **KEPT)
    config = replace(config, iterations=iterations, validate_every=max(1, iterations // 3), patience=0)
    runs, possible = len(points) * len(orders), False
    if runs:
        possible = tell_cost(data, config, lambda cost: (
            f":material/timer: {runs} runs of about {cost.training(config):.1f} s: {told(*cost.grid(config, runs))} in "
            "all."))
    else:
        st.info("Choose at least one M and one p.", icon=":material/checklist:")
    st.button(f"Train {runs} models" if runs != 1 else "Train 1 model", icon=":material/play_arrow:", type="primary",
              disabled=not possible, on_click=submit, args=(data, config, sorted(points), sorted(orders)),
              key="train_grid_start")


def submit(data: str, config: Config, points: list[int], orders: list[float]) -> None:
    """Callback: queue the grid, and look at it."""
    title = f"{data.removeprefix(OWN)} · {METHODS[config.method].title} · {len(points)} × {len(orders)} grid"
    try:
        own = recordings_for(data) if data.startswith(OWN) else None
        job = jobs.submit(runs_folder(), "grid", title, data, config, own, {"points": points, "p": orders})
        st.session_state["train_grid"] = job.id
    except (FileError, ValueError) as error:
        st.session_state["train_problem"] = str(error)


def show(job: jobs.Job, measure: str) -> None:
    """The heat map, and the numbers of the cell that was clicked."""
    if st.session_state["train_view"] != VIEW:
        st.rerun()                                               # "train this fully" was pressed
    grid, cells = job.spec["grid"], job.cells()
    found = {(cell["points"], cell["p"]): cell for cell in cells}
    key = f"heat-{job.id}"

    def picked(point: dict) -> None:
        if point.get("customdata"):
            m, p = point["customdata"]
            st.session_state["train_cell"] = (int(m), float(p))

    best = max((cell for cell in cells if cell["auc"] is not None), key=lambda cell: cell["auc"], default=None)
    chosen = st.session_state.get("train_cell")
    if chosen not in found:
        chosen = None if best is None else (best["points"], best["p"])
    data = pd.DataFrame(cells) if cells else None
    chart(heat_map(cells, grid["points"], grid["p"], measure, chosen, COLOURS[5]), key,
          f"Heat map of the AUC on {MEASURES[measure].lower()} for {len(grid['points'])} values of M and "
          f"{len(grid['p'])} of p, {len(cells)} runs done", data, on_click=picked)
    if chosen is None:
        st.caption("Squares fill in as runs end.")
        return
    cell = found[chosen]
    numbers = [("M, p", f"{cell['points']}, {cell['p']:g}"),
               ("Validation AUC", "diverged" if cell["auc"] is None else f"{cell['auc']:.4f}"),
               ("Test AUC", "–" if cell["test_auc"] is None else f"{cell['test_auc']:.4f}"),
               ("Time", duration(cell["seconds"]))]
    for place, (label, value) in zip(st.columns(4), numbers, strict=True):
        place.metric(label, value, border=True)
    left, right = st.columns([2, 1], vertical_alignment="center")
    left.caption("The best on validation people." if cell is best else "Click a square to see its numbers.")
    right.button("Train this fully", icon=":material/model_training:", on_click=train_fully, args=chosen,
                 key="train_fully")
    st.caption("Choose by the validation people; the test people are there to look at, not to choose by. Differences "
               "of 0.01 on so few people are chance.")


def train_fully(points: int, p: float) -> None:
    """Callback: put M and p into the form and open it."""
    st.session_state.update(train_points=points, train_p=p, train_view="New run")
