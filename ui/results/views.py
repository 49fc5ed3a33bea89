"""The views of the Results page on the main table; those beside it are in `beside`."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from qpwl_core.common.text import counted
from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.report.questions import MARKED, at_a_glance
from qpwl_core.study.report.sentences import NOISE
from ui.results import study as results
from ui.results.figures import differences
from ui.shell.charts import chart, table
from ui.shell.curves import auc_over_n, over_fractions, roc
from ui.shell.palette import look_of
from ui.shell.presenter import presenting
from ui.shell.text import plain


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is looked at: a set, some methods, n, and the rows of the table that are theirs."""

    study: dict
    name: str
    methods: list[str]
    n: int
    here: pd.DataFrame

    @property
    def about(self) -> dict:
        """What the study says of the set."""
        return self.study["sets"][self.name]

    @property
    def titles(self) -> dict[str, str]:
        return self.study["methods"]

    @property
    def looks(self) -> dict[str, dict]:
        return {title: look_of(method) for method, title in self.titles.items()}

    def rows(self, name: str) -> pd.DataFrame:
        """A table of the study, empty where it has not asked."""
        return pd.DataFrame(self.study.get(name, []))

    def by_title(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The rows of each method, by its title."""
        return {self.titles[method]: part for method, part in rows.groupby("method", sort=False)}


def leads(chosen: Chosen) -> None:
    """Who leads, in sentences and as differences with intervals; before an audience the picture comes first."""
    for part in (_leads_shown, _leads_said) if presenting() else (_leads_said, _leads_shown):
        part(chosen)
    _leads_everywhere(chosen)


def _leads_said(chosen: Chosen) -> None:
    for sentence in of_set(chosen.study.get("shortfalls", []), chosen.about["title"]):
        st.info(plain(sentence), icon=":material/balance:")


def _leads_everywhere(chosen: Chosen) -> None:
    """What the picture leaves out: every n, and the other sets."""
    verdicts = chosen.about["verdicts"] or ["There is no QP-WL to hold the others against."]
    with st.expander("Method by method, at every n", icon=":material/list:"):
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in verdicts))
    found, sets = chosen.rows("differences"), chosen.study["sets"]
    if "clear" not in found:                     # nothing to compare, or a study of before this was judged
        return
    # What is simplified for one method alone would be a column for one figure.
    found = found[[not sets[name]["fixed"] for name in found["set"]]]
    if len(found):
        with st.expander("All data at a glance", icon=":material/grid_on:"):
            table(at_a_glance(found).reset_index(),
                  "By how much QP-WL leads every other method on every data set, at n = 1")
            st.caption(plain(MARKED))
            st.markdown(plain(chosen.study.get("short", "")))


def _leads_shown(chosen: Chosen) -> None:
    found = chosen.rows("differences")
    if len(found):
        found = found[(found["set"] == chosen.name) & (found["n"] == chosen.n)
                      & found["against"].isin(chosen.methods)]
    if len(found):
        chart(differences(found, chosen.titles, chosen.looks), "results-differences",
              f"AUC of QP-WL minus that of every other method at n = {chosen.n}, with 95 % intervals", found)
        splits = counted(found["splits"].max(), "split", "splits")
        st.caption(f"{plain(chosen.about['title'])}, n = {chosen.n}, {splits} of the people. Bars: 95 % intervals from "
                   "resampling people (and splits, where there are three or more). Right of nought QP-WL leads. "
                   f"{NOISE}")


def of_set(sentences: list[str], title: str) -> list[str]:
    """Those sentences that are about one set."""
    return [sentence for sentence in sentences if sentence.startswith(f"{title} (")]


def as_table(chosen: Chosen) -> None:
    """The paper's table and ours, and the error rates at one n."""
    about, here, titles = chosen.about, chosen.here, chosen.titles
    if about["simulated"]:
        st.warning(plain(paper.SIMULATED), icon=":material/experiment:")
    else:
        stands = f"It stands for {plain(about['stands_for'])} of the paper. " if about["stands_for"] else ""
        st.info(f"{stands}**What differs:** {plain(about['differs'])}",
                icon=":material/compare_arrows:")
    rows = []
    for method, part in here.groupby("method", sort=False):
        rows.append({"AUC": f"{titles[method]}, ours", **{f"n = {row.n}": f"{row.auc:.4f} ± {row.se:.4f}"
                                                          for row in part.itertuples()}})
        if "paper_auc" in part and part["paper_auc"].notna().all():
            rows.append({"AUC": f"{titles[method]}, the paper", **{
                f"n = {row.n}": f"{row.paper_auc:.4f} ± {row.paper_se:.4f}" for row in part.itertuples()}})
    table(pd.DataFrame(rows), "AUC for one to five observed sequences, ours and the paper's")
    st.caption(f"{plain(about['people'])}. ± is the standard error over all repeats of all seeds, as in the paper "
               "over repeats.")
    at = here[here["n"] == chosen.n]
    rates = [column for column in here if column.startswith("fnmr_")]
    with st.expander("Error rates, at the n chosen above", icon=":material/table_rows:"):
        table(pd.DataFrame([
            {"method": titles[row["method"]],
             "AUC, people resampled": f"{row['auc']:.4f} ({row['low']:.3f} to {row['high']:.3f})",
             "EER": _rate(row["eer"]),
             **{f"FNMR at FMR {100 * float(rate[5:]):g} %": _rate(row[rate]) for rate in rates},
             "d′": _rate(row["d_prime"], 2)} for row in at.to_dict("records")]),
            f"Errors at n = {chosen.n}, a row per method")


def as_curves(chosen: Chosen) -> None:
    """ROC curves at one n, and AUC over n beside the paper's."""
    left, right = st.columns(2, gap="large")
    with left:
        if (curves := results.table("roc")) is not None:
            curves = curves[(curves["set"] == chosen.name) & (curves["n"] == chosen.n)
                            & curves["method"].isin(chosen.methods)]
            chart(roc(chosen.by_title(curves), chosen.looks, corner=curves[curves["fpr"] >= 0.1]["tpr"].min() > 0.8),
                  "results-roc", f"ROC curves at n = {chosen.n}, mean over repeats, standard error shaded", curves)
            st.caption("A double click shows the whole curve.")
    with right:
        ours = chosen.by_title(chosen.here)
        published = {title: part[["n", "paper_auc", "paper_se"]].set_axis(["n", "auc", "se"], axis=1)
                     for title, part in ours.items() if "paper_auc" in part and part["paper_auc"].notna().all()}
        chart(auc_over_n(ours, published, chosen.looks, 430), "results-auc", "AUC over n, ours and the paper's",
              chosen.here)


def over_people(chosen: Chosen) -> None:
    """Identification and imposters over the fraction of people enrolled."""
    for column, which, measure, title in zip(st.columns(2, gap="large"), ("identification", "imposters"),
                                             ("accuracy", "auc"), ("named rightly", "imposter AUC"), strict=True):
        rows = pd.DataFrame([row for row in chosen.study[which]
                             if row["set"] == chosen.name and row["method"] in chosen.methods])
        with column:
            tables = chosen.by_title(rows.rename(columns={"se": f"{measure}_se"}))
            chart(over_fractions(tables, chosen.looks, measure, title, shares=which == "identification"),
                  f"results-{which}", f"{title} over the fraction of people enrolled, n = 5", rows)
    st.caption("n = 5, mean ± standard error over all repeats of all seeds. The paper shows these as pictures, without "
               "numbers.")


def paper_table(domain: str) -> pd.DataFrame:
    """Table 1 of the paper, for one of its three data sets."""
    return pd.DataFrame([{"AUC": METHODS[method].title, **{f"n = {n}": f"{auc:.4f} ± {se:.4f}"
                                                           for n, (auc, se) in enumerate(row, 1)}}
                         for method, row in paper.VERIFICATION[domain].items()])


def _rate(value, digits: int = 3) -> str:
    return "not measurable" if pd.isna(value) else f"{value:.{digits}f}"
