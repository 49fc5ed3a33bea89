"""What the study found about M and p, for the pages where one turns them."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.paths import results_folder
from qpwl_core.study.summary import best_and_worst, narrower, read_or_none
from ui.shell.text import plain

LETTERS = {"points": "M", "p": "p"}
HOW = {"anew": "trained anew with each", "no": "one model, compared with each"}


def what_the_study_found(trained: str) -> None:
    """A folded table: the best and the worst M and p of every set, ``trained`` "anew" or not ("no")."""
    study = read_or_none(results_folder() / "study.json") or {}
    rows = [row for what in LETTERS for row in table_rows(study, what, trained)]
    if not rows:
        return
    with st.expander("What the study found about M and p", icon=":material/table_chart:"):
        import pandas as pd

        from ui.shell.charts import table

        table(pd.DataFrame(rows), "The best and the worst M and p of every set of the study")
        st.caption(f"QP-WL, {HOW[trained]}: AUC of verification by the nearest of the enrolled, n = 1, and its 95 % "
                   "interval over people and splits, on people never trained on. Where the two intervals meet, these "
                   f"people cannot tell the values apart. {narrower(study)}")
        st.page_link("pages/results.py", label="All values, on Results", icon=":material/table_chart:",
                     query_params={"results_view": "M and p"})


def table_rows(study: dict, what: str, trained: str) -> list[dict[str, str]]:
    """One row per set: the best value and the worst, in words."""
    return [{"set": plain(row["title"]), "": LETTERS[what],
             **{which: f"{LETTERS[what]} = {row[f'{which}_value']:g}: {row[f'{which}_auc']:.4f} "
                       f"({row[f'{which}_low']:.4f} – {row[f'{which}_high']:.4f})" for which in ("best", "worst")},
             "differ": "yes" if row["clear"] else "not beyond noise", "splits": f"{row['splits']}"}
            for row in best_and_worst(study, what, trained)]
