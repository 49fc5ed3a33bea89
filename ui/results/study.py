"""What a study left in ``results/``: read once for all sessions, and files to take away."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.common.paths import results_folder
from qpwl_core.study.summary import read_summary

TABLES = {"table": "All figures, mean and interval", "differences": "QP-WL against the others",
          "verification": "Verification, every repeat", "identification": "Identification, every repeat",
          "imposters": "Imposters, every repeat", "calibrated": "Calibrated thresholds", "roc": "ROC curves",
          "cmc": "CMC curves", "cells": "Trainings", "tries": "Tuning, every try", "added": "Trained minus untrained",
          "sweeps": "M, p, people and sequences", "recipes": "Recipe and network", "sessions": "Across sessions",
          "forgeries": "Forgeries", "forgers": "QP-WL against the others, by forgers",
          "budget": "The paper's budget, curves", "papers": "The paper's budget, tested"}


def study() -> dict | None:
    """The summary of the study that was run last, None where there is none; FileError where it cannot be read."""
    return read_summary(results_folder() / "study.json")


def table(name: str) -> pd.DataFrame | None:
    """One of the CSV files of the study, None where it is not there or cannot be read."""
    path = results_folder() / f"{name}.csv"
    return _table(str(path), path.stat().st_mtime_ns) if path.exists() else None


@st.cache_data(max_entries=16, show_spinner=False)
def _table(path: str, changed: int) -> pd.DataFrame | None:
    try:
        return pd.read_csv(path)
    except (OSError, ValueError):                # pandas' own errors are ValueErrors
        return None


def downloads() -> None:
    """The whole report, and every table."""
    row = st.container(horizontal=True, gap="small")
    files = [("Report (one web page)", "report.html", "text/html", "description"),
             ("All means (JSON)", "study.json", "application/json", "data_object")]
    for label, name, kind, icon in files:
        if (results_folder() / name).exists():
            row.download_button(label, (results_folder() / name).read_bytes, name, kind, on_click="ignore",
                                icon=f":material/{icon}:", key=f"take-{name}")
    with row.popover("Tables (CSV)", icon=":material/table:"):
        for name, label in TABLES.items():
            if (results_folder() / f"{name}.csv").exists():
                st.download_button(label, (results_folder() / f"{name}.csv").read_bytes, f"{name}.csv", "text/csv",
                                   on_click="ignore", key=f"take-{name}-csv")
