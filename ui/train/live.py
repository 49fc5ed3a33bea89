"""A run on the Train page: where it stands, its curves, stop and resume; and several runs held against each other."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from qpwl_core.common.sheets import safe_of
from qpwl_core.common.text import duration
from qpwl_core.models.config import Config
from qpwl_core.models.methods import METHODS
from ui.library import jobs
from ui.library.scheduler import wake_if_waiting
from ui.library.spaces import my_job, my_jobs
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.numbers import numbers
from ui.shell.palette import COLOURS
from ui.shell.text import plain
from ui.shell.words import AUC_KINDS
from ui.train.figures import auc_curves, loss_curves, moving_levels

STILL = 0.02            # of all levels: a move below it is none
BRIEF = 36              # letters of a title that a phone shows beside the time
BADGES = {"queued": ("waiting", "schedule", "gray"), "running": ("running", "play_circle", "blue"),
          "finished": ("finished", "check_circle", "green"), "stopped": ("stopped", "pause_circle", "orange"),
          "failed": ("failed", "error", "red"), "interrupted": ("interrupted", "power_off", "orange")}


PAGES = {"filters": ("Its filters", "filter_alt"), "distances": ("Its distances", "straighten"),
         "verification": ("Verification", "verified_user")}     # where a model can be looked at


def act(what, *job) -> None:
    """Callback: do something with a job; what cannot be done is said on the page."""
    try:
        what(*job)
    except FileError as error:
        st.session_state["train_problem"] = str(error)


def problem() -> None:
    """Say once what went wrong in a callback."""
    if text := st.session_state.pop("train_problem", None):
        st.error(text[0].upper() + text[1:], icon=":material/error:")


def runs_of(kind: str) -> dict[str, jobs.Job]:
    """All jobs of a kind, the latest first, by id."""
    wake_if_waiting(runs_folder())
    return {job.id: job for job in my_jobs() if job.spec["kind"] == kind}


def choose_run(at_hand: dict[str, jobs.Job], key: str) -> jobs.Job:
    """The run that is looked at: the one that was chosen or just started, else the one that trains, else the latest."""
    if st.session_state.get(key) not in at_hand:
        st.session_state.pop(key, None)
    running = next((i for i, job in enumerate(at_hand.values()) if job.state == "running"), 0)
    chosen = st.selectbox("Run", list(at_hand), running, key=key, **KEPT, format_func=lambda name:
                          f"{begun(at_hand[name])} · {brief(at_hand[name].spec['title'])}")     # what differs first
    title = at_hand[chosen].spec["title"]
    if brief(title) != title:
        st.caption(plain(title))
    return at_hand[chosen]


def brief(title: str) -> str:
    """As many parts of a title as a phone shows beside the time.

    >>> brief("eeg-simulated · QP-WL · M 16 · p 1 · 30 steps · seed 0")
    'eeg-simulated · QP-WL · M 16 · p 1'
    """
    kept, *parts = title.split(" · ")
    for part in parts:
        if len(f"{kept} · {part}") > BRIEF:
            break
        kept = f"{kept} · {part}"
    return kept if len(kept) <= BRIEF else f"{kept[:BRIEF - 1]}…"


def begun(job: jobs.Job) -> str:
    """When it was asked for, in the time of this machine."""
    return f"{datetime.fromisoformat(job.spec['created']).astimezone():%d %b %H:%M}"


def tell_started(key: str) -> None:
    """Beside the button that started a run, where it stands: the answer is where the person looks."""
    job = my_job(st.session_state.get(key))
    if job is None:
        return

    @st.fragment(run_every=1.0 if job.alive else None)
    def beside_the_button():
        now = my_job(job.id) or job
        step, steps = now.now.get("step", 0), now.now.get("steps") or 1
        words = {"queued": "It waits for its turn", "running": f"It trains: step {step:,} of {steps:,}" if step else
                 "It starts: loading PyTorch and the recordings takes a few seconds", "finished": "Finished"}.get(
                     now.state, now.state.capitalize())
        st.progress(1.0 if now.state == "finished" else min(step / steps, 1.0),
                    f":material/{BADGES[now.state][1]}: **{words}.** Its curves are below.")

    beside_the_button()


def watch(job: jobs.Job, show) -> None:
    """Show a job, and again every second while it lives; when it ends, the whole page is drawn once more."""
    @st.fragment(run_every=1.0 if job.alive else None)
    def again():
        now = my_job(job.id)
        if now is None or now.alive != job.alive:
            st.rerun()
        problem()
        head(now)
        show(now)

    again()


def head(job: jobs.Job) -> None:
    """Title, state, progress with ETA, and what can be done with it."""
    label, icon, colour = BADGES[job.state]
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(f"**{plain(job.spec['title'])}** :{colour}-badge[:material/{icon}: {label}]")
    with right.container(horizontal=True, horizontal_alignment="right"):
        if job.alive:
            st.button("Stop" if job.state == "running" else "Leave the queue", icon=":material/stop:", on_click=act,
                      args=(jobs.stop, job), key=f"stop-{job.id}")
        elif job.state != "finished":
            if job.resumable:
                st.button("Resume", icon=":material/resume:", on_click=act, args=(jobs.resume, job), type="primary",
                          key=f"resume-{job.id}")
            if job.has_copy:
                with st.popover("End it for good", icon=":material/no_accounts:"):
                    st.markdown("Delete the copy of the recordings? What the run reached is kept, and it can no "
                                "longer be resumed.")
                    st.button("Delete the copy", on_click=act, args=(jobs.forget, job), key=f"forget-{job.id}")
            with st.popover("Delete", icon=":material/delete:"):
                st.markdown("Delete this run and all it reached?")
                st.button("Delete it", on_click=act, args=(jobs.delete, job), key=f"delete-{job.id}", type="primary")
    step, steps = job.now.get("step", 0), job.now.get("steps") or 1
    if job.has_copy and not job.alive:
        st.caption(":material/privacy_tip: A copy of the uploaded recordings lies in the folder of this run, for it "
                   "can be resumed. *End it for good* or *Delete* removes it.")
    elif job.spec.get("uploaded") and not job.alive:
        st.caption(":material/privacy_tip: The copy of the uploaded recordings was deleted when this run ended"
                   + (", so it cannot be resumed." if job.state != "finished" else "; its gallery was "
                      + ("kept." if job.spec.get("keep_gallery") else "not kept.")))
    if job.state == "queued":
        before = len(jobs.ahead_of(job))
        st.info(f"{before} {'job is' if before == 1 else 'jobs are'} before this one; one trains at a time, so that "
                "they do not slow each other." if before else "It starts in a moment.", icon=":material/schedule:")
    elif job.state == "running":
        to_go = f", about {duration(job.now['eta'])} to go" if job.now.get("eta") else ""
        note = job.now["note"]
        st.progress(min(step / steps, 1.0), f"Step {step:,} of {steps:,}{to_go}" if step and note in ("", "training")
                    else f"{plain(note[:1].upper() + note[1:])}{to_go} …")
    elif job.state == "failed":
        st.error(plain(job.now.get("note") or "It failed."), icon=":material/error:")
    elif job.state == "interrupted":
        why = job.why or "Its process was ended from outside: the computer was switched off, or memory ran out."
        st.warning(f"{plain(why)} What it had reached is kept; resume goes on from there.", icon=":material/power_off:")
    elif job.state == "stopped":
        again = " Resume goes on as if nothing had happened." if job.resumable else ""
        st.info(f"Stopped at step {step:,} of {steps:,}.{again}" if step else "Stopped before its first step.",
                icon=":material/pause_circle:")
    elif job.now.get("note"):
        st.warning(plain(job.now["note"]), icon=":material/info:")


def live(job: jobs.Job) -> None:
    """Numbers and curves of one training."""
    now, curve = job.now, job.curve()
    if not curve:
        if job.state == "running":
            st.caption("The curves begin with the first steps; starting PyTorch takes a few seconds.")
        return
    shown = {"Loss": f"{curve[-1]['loss']:.4f}",
             "Best validation AUC": "…" if now.get("best_auc") is None else f"{now['best_auc']:.4f}",
             "Sequences per second": f"{now.get('per_second', 0):,.0f}", "Time": duration(now.get("seconds", 0))}
    if now.get("test_auc") is not None:
        shown[f"Test AUC, {now['test_subjects']} people, n = 1"] = f"{now['test_auc']:.4f}"
    numbers(shown)
    st.caption(f"Both AUCs are of verification by the nearest enrolled sequence, n = 1. {AUC_KINDS['validation']} "
               f"{AUC_KINDS['nearest']}")
    name, data = job.spec["title"], pd.DataFrame(curve).drop(columns="levels")
    left, right = st.columns(2, gap="medium")
    with left:
        chart(loss_curves({name: curve}, {name: COLOURS[0]}), "train-loss", "Training loss over the steps, last value "
              f"{curve[-1]['loss']:.4f}", data)
    with right:
        chart(auc_curves({name: curve}, {name: COLOURS[2]}), "train-auc", "AUC on validation people over the steps, "
              f"best {now.get('best_auc') or 0:.4f}", data)
    config = job.config
    if METHODS[config.method].aggregation == "quantile":
        st.latex(rf"0 < \sigma(\alpha_1) < \dots < \sigma(\alpha_{{{config.points}}}) < 1")
        left, right = st.columns([2, 1], gap="medium", vertical_alignment="center")
        levels = pd.DataFrame([[r["step"], *r["levels"]] for r in curve if r["levels"]])
        levels.columns = ["step", *(f"level {m}" for m in range(levels.shape[1] - 1))]
        with left:
            chart(moving_levels(curve, now.get("steps", 1), COLOURS[0]), "train-levels",
                  f"The {config.points + 2} levels of the quantile layer over the steps", levels)
        with right:
            now_at, first_at = np.array(curve[-1]["levels"][1:-1]), np.array(curve[0]["levels"][1:-1])
            moved = float(np.abs(now_at - first_at).max())
            st.markdown("The levels at which each quantile function is kept are learned, too. They began evenly "
                        f"spaced; now the first is at **{now_at[0]:.1%}** and the last at **{now_at[-1]:.1%}**, and "
                        f"none has moved by more than **{moved:.1%}**. " + (
                            "That is next to nothing: in so few steps there is no structure to read from them."
                            if moved < STILL else "Where they crowd, this run found what separates people; whether "
                            "that is more than chance, another seed tells."))


def next_steps(job: jobs.Job) -> None:
    """What to do with a model that is finished."""
    if st.session_state.get("train_shown") != job.id:            # other pages look at the one that was looked at last
        st.session_state["train_shown"] = st.session_state["model"] = job.id
    if not (job.folder / "gallery.safetensors").exists():
        st.markdown("The model is on the shelf, without a gallery of the people held out, as was chosen: the desk can "
                    "use it, with recordings that you give it.")
        return
    st.markdown("The model is on the shelf, with what it sees in the people held out. Look at it:")
    with st.container(horizontal=True):
        for page, (label, icon) in PAGES.items():                # links: st.switch_page raises where the URL is state
            st.page_link(f"pages/{page}.py", label=label, icon=f":material/{icon}:")


def compare() -> None:
    """Several runs: their curves in one picture, what differs in their settings, what came of it."""
    at_hand = runs_of("train")
    if len(at_hand) < 2:
        st.info("To compare, train at least twice: with another p, say, or another method.", icon=":material/compare:")
        st.button("Train a model", type="primary", icon=":material/model_training:", key="train_to_compare",
                  on_click=st.session_state.update, kwargs={"train_view": "New run"})
        return
    latest = [name for name, job in at_hand.items() if job.curve()][:4]
    if "train_compared" in st.session_state:                   # some may be deleted by now
        st.session_state["train_compared"] = [name for name in st.session_state["train_compared"] if name in at_hand]
    chosen = st.multiselect("Runs", list(at_hand), latest, key="train_compared", **KEPT, max_selections=8,
                            format_func=lambda name: at_hand[name].spec["title"])
    if not chosen:
        st.info("Choose the runs to compare.", icon=":material/checklist:")
        return
    picked = [at_hand[name] for name in chosen]
    titles = [job.spec["title"] for job in picked]
    names = [title if titles.count(title) == 1 else f"{title} · {job.id[:4]}"
             for title, job in zip(titles, picked, strict=True)]
    colours = dict(zip(names, COLOURS, strict=False))
    curves = {name: job.curve() for name, job in zip(names, picked, strict=True)}
    data = pd.DataFrame([{"run": name, "step": r["step"], "loss": r["loss"], "auc": r["auc"], "seconds": r["seconds"]}
                         for name, curve in curves.items() for r in curve])
    left, right = st.columns(2, gap="medium")
    with left:
        chart(loss_curves(curves, colours, 380), "compare-loss", f"Training loss of {len(names)} runs", data)
        st.caption("Losses compare only where the method and N are the same.")
    with right:
        chart(auc_curves(curves, colours, 380), "compare-auc", f"Validation AUC of {len(names)} runs", data)
    st.dataframe(safe_of(compared(picked, names)), hide_index=True, column_config={
        name: st.column_config.NumberColumn(format="%.4f") for name in ("best validation AUC", "test AUC", "after 5")})
    st.caption(f"Test AUC: {AUC_KINDS['nearest']} By one sequence, and by five. {AUC_KINDS['validation']} Runs on one "
               "split of a few people differ by 0.01 for no reason: believe a ranking when several seeds agree.")


def compared(picked: list[jobs.Job], names: list[str]) -> pd.DataFrame:
    """One row per run: what differs in their data and Config, and the results."""
    settings = [job.spec["config"] for job in picked]
    differ = [field.name for field in fields(Config) if len({str(s.get(field.name)) for s in settings}) > 1]
    different_data = len({job.spec["data"] for job in picked}) > 1
    rows = []
    for name, job, setting in zip(names, picked, settings, strict=True):
        row = {"run": name, "state": BADGES[job.state][0]}
        row |= {"data": job.spec["data"]} if different_data else {}
        row |= {field: str(setting[field]) if isinstance(setting.get(field), dict) else setting.get(field)
                for field in differ}
        rows.append(row | {"steps": job.now.get("step", 0), "best validation AUC": job.now.get("best_auc"),
                           "test AUC": job.now.get("test_auc"), "after 5": job.now.get("test_auc_5"),
                           "test people": job.now.get("test_subjects"),
                           "time": duration(job.now.get("seconds", 0))})
    return pd.DataFrame(rows)
