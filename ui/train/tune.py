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
from qpwl_core.training.cost import Cost
from ui.library import jobs
from ui.library.data import OWN, recordings_for
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.numbers import numbers
from ui.shell.palette import COLOURS
from ui.shell.quoted import what_the_study_found
from ui.train.figures import heat_map
from ui.train.form import config_now, tell_cost, tell_easy, tell_people
from ui.train.live import choose_run, runs_of, watch
from ui.visitors.who import owner

POINTS, ORDERS = (1, 2, 4, 8, 16, 32, 64), (1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
VIEW = "Tune M and p"
MEASURES = {"auc": "Validation people", "test_auc": "Test people"}


def tune(data: str) -> None:
    """The whole view."""
    st.markdown("A short training for each pair of M and p, all else as under **New run**. M and p of a trained model "
                "can also be changed *afterwards*, with no training at all:")
    st.page_link("pages/distances.py", label="Turn M and p on the Distances page", icon=":material/straighten:")
    what_the_study_found("anew")
    left, right = st.columns([1, 1.3], gap="medium")
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
    config = config_now(data)
    if METHODS[config.method].distance != "wasserstein":
        st.info(f"{METHODS[config.method].title} has no p: choose QP-WL under New run to tune both.",
                icon=":material/info:")
        return
    points = st.multiselect("M", POINTS, [4, 16, 64], key="train_grid_points", **KEPT)
    orders = st.multiselect("p", ORDERS, [1.0, 2.0, 4.0], key="train_grid_p", format_func="{:g}".format, **KEPT)
    left, right = st.columns(2)
    iterations = left.number_input("Iterations per run", 1, 10_000, 60, key="train_grid_iterations", **KEPT)
    seeds = right.number_input("Seeds per cell", 1, 20, 3, key="train_grid_seeds", **KEPT,
                               help="Each pair of M and p is trained so many times from other random weights, on the "
                                    "same people: what differs between those runs is chance.")
    config = replace(config, iterations=iterations, validate_every=max(1, iterations // 3), patience=0)
    runs, possible = len(points) * len(orders) * seeds, False
    tell_people(data)
    tell_easy(data)
    if runs:
        possible = tell_cost(data, config, lambda cost: f":material/timer: {grid_in_parts(cost, config, runs)}")
    else:
        st.info("Choose at least one M and one p.", icon=":material/checklist:")
    if data.startswith(OWN):
        st.caption(":material/privacy_tip: The grid makes a copy of your recordings on this computer and deletes it at "
                   "its end; it keeps no gallery.")
    st.button(f"Train {runs} models" if runs != 1 else "Train 1 model", icon=":material/play_arrow:", type="primary",
              disabled=not possible, on_click=submit, args=(data, config, sorted(points), sorted(orders), seeds),
              key="train_grid_start")


def grid_in_parts(cost: Cost, config: Config, runs: int) -> str:
    """What a grid will take, and of which parts that is the sum."""
    seconds, doubt = cost.grid(config, runs)
    each = round(cost.training(config), 1)
    whole, rest = runs * each, max(0.0, seconds - runs * cost.training(config))
    return (f"**{duration(whole + rest)} ± {duration(doubt)}**: {runs} runs of {each:.1f} s each take "
            f"{duration(whole)}, starting and testing {duration(rest)}.")


def submit(data: str, config: Config, points: list[int], orders: list[float], seeds: int) -> None:
    """Callback: queue the grid, and look at it."""
    title = f"{data.removeprefix(OWN)} · {METHODS[config.method].title} · {len(points)} × {len(orders)} grid"
    grid = {"points": points, "p": orders, "seeds": list(range(config.seed, config.seed + seeds))}
    try:
        own = recordings_for(data) if data.startswith(OWN) else None
        job = jobs.submit(runs_folder(), "grid", title, data, config, own, grid, False, *owner())
        st.session_state["train_grid"] = job.id
    except (FileError, ValueError) as error:
        st.session_state["train_problem"] = str(error)


def summed_up(cells: list[dict]) -> dict[tuple, dict]:
    """Runs of a grid by M and p: mean over seeds, half the range as the spread, how many, seconds of all.

    >>> summed_up([{"points": 4, "p": 1.0, "auc": a, "test_auc": a, "seconds": 1} for a in (0.75, 0.85)])[4, 1.0]["auc"]
    0.8
    """
    found: dict[tuple, dict] = {}
    for key in dict.fromkeys((cell["points"], cell["p"]) for cell in cells):
        runs = [cell for cell in cells if (cell["points"], cell["p"]) == key]
        found[key] = {"points": key[0], "p": key[1], "runs": len(runs), "seconds": sum(run["seconds"] for run in runs)}
        for name in MEASURES:
            known = [run[name] for run in runs if run[name] is not None]
            found[key][name] = sum(known) / len(known) if known else None
            found[key][f"{name}_spread"] = (max(known) - min(known)) / 2 if len(known) > 1 else None
    return found


def best_of(found: dict[tuple, dict]) -> tuple[tuple | None, list[tuple]]:
    """The cell with the best validation AUC in the digits shown, the smallest M and p of equals; and those that these
    runs cannot tell from it, because their means differ by less than the spreads of both."""
    known = {key: cell for key, cell in found.items() if cell["auc"] is not None}
    if not known:
        return None, []
    best = min(known, key=lambda key: (-round(known[key]["auc"], 3), key))
    top = known[best]
    slack = {key: max(0.0005, (cell["auc_spread"] or 0) + (top["auc_spread"] or 0)) for key, cell in known.items()}
    return best, [key for key, cell in known.items() if key != best and top["auc"] - cell["auc"] <= slack[key]]


def show(job: jobs.Job, measure: str) -> None:
    """The heat map, and the numbers of the cell that was clicked."""
    if st.session_state["train_view"] != VIEW:
        st.rerun()                                               # "train this fully" was pressed
    grid, cells = job.spec["grid"], job.cells()
    found, seeds = summed_up(cells), len(grid.get("seeds") or [0])
    key = f"heat-{job.id}"

    def picked(point: dict) -> None:
        if point.get("customdata"):
            m, p = point["customdata"]
            st.session_state["train_cell"] = (int(m), float(p))

    best, equals = best_of(found)
    chosen = st.session_state.get("train_cell")
    if chosen not in found:
        chosen = best
    data = pd.DataFrame(cells) if cells else None
    chart(heat_map(found, grid["points"], grid["p"], measure, chosen, COLOURS[5]), key,
          f"Heat map of the AUC on {MEASURES[measure].lower()} for {len(grid['points'])} values of M and "
          f"{len(grid['p'])} of p, {len(cells)} runs done", data, on_click=picked)
    if chosen is None:
        st.caption("Squares fill in as runs end.")
        return
    cell = found[chosen]
    numbers({"M, p": f"{cell['points']}, {cell['p']:g}",
             "Validation AUC": "diverged" if cell["auc"] is None else said(cell, "auc"),
             "Test AUC": "–" if cell["test_auc"] is None else said(cell, "test_auc"),
             "Runs": f"{cell['runs']} of {seeds}", "Time": duration(cell["seconds"])})
    if chosen == best:
        st.markdown("**The best on validation people.** " + (
            f"These runs cannot tell it from {len(equals)} other {'cell' if len(equals) == 1 else 'cells'}: "
            + ", ".join(f"M = {m}, p = {p:g}" for m, p in equals[:6]) + ("." if len(equals) <= 6 else " and more.")
            if equals else "No other cell comes within the spread of both."))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Train this fully", icon=":material/model_training:", on_click=train_fully, args=chosen,
                  key="train_fully")
        if chosen != best:
            st.caption("Click a square to see its numbers.", width="content")
    st.caption("AUC of verification by the nearest sequence, n = 1, every sequence observed once; mean ± half the "
               "range over seeds, which is what chance in training does; other people would move it more. Choose by "
               "the validation people; the test people are there to look at, not to choose by.")


def said(cell: dict, measure: str) -> str:
    """A mean with its spread, in the digits of the picture."""
    spread = cell[f"{measure}_spread"]
    return f"{cell[measure]:.3f}" + ("" if spread is None else f" ± {spread:.3f}")


def train_fully(points: int, p: float) -> None:
    """Callback: put M and p into the form and open it."""
    st.session_state.update(train_points=points, train_p=p, train_view="New run")
