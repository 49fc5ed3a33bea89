"""The views of the Results page beside the main table: the network, M and p, how much is enough, forgers, tuning, …"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.models.methods import METHODS
from qpwl_core.study.report.questions import BUDGET, OF, whose
from qpwl_core.study.summary import narrower
from qpwl_core.study.tables.forgers import EACH
from qpwl_core.study.variants import DRAWN
from ui.results.figures import added, over, validated
from ui.results.views import Chosen
from ui.shell.charts import chart, table
from ui.shell.controls import WIDE
from ui.shell.frame import KEPT
from ui.shell.text import plain

AXES = {"points": "M, levels of the quantile layer", "p": "p, order of the distance",
        "enrolled": "enrolled sequences of each person", "people": "people to learn from"}
RECIPES = {"raw": "baseline off, standardised", "change": "… and steps between samples", "whiten": "… and whitened",
           "equalise": "… and one loudness", "compress": "… and asinh (the preset)"}

JUDGED = {False: "AUC at n = 1", True: "1 − the mean EER against forgers and against others, 5 enrolled, every tablet "
                                       "alike,"}      # by whether somebody imitates


def choose_set(study: dict, names: list[str]) -> str:
    """One of the sets that a view has something of."""
    if st.session_state.get("results-of") not in (None, *names):
        del st.session_state["results-of"]
    if len(names) == 1:
        st.markdown(f"**{plain(study['sets'][names[0]]['title'])}.**")
        return names[0]
    return st.selectbox("Data", names, key="results-of", width=WIDE, format_func=lambda i: study["sets"][i]["title"],
                        **KEPT)


def nothing_yet(what: str) -> None:
    """What to do where no cell was made for a view."""
    st.info(f"The study that ships has not asked {what} yet. What there is to train, and how long it takes:",
            icon=":material/science:")
    st.code("python -m qpwl_core study --list", language=None)


def resting_on(study: dict, rows: pd.DataFrame) -> str:
    """On how many splits of the people figures rest, set by set."""
    by_set = rows.groupby("set", sort=False)["splits"].agg(["min", "max"])
    return "Splits of the people: " + ", ".join(
        f"{plain(study['sets'][name]['title'])} {low}" + (f" to {high}" if high > low else "")
        for name, low, high in by_set.itertuples()) + "."


def network(chosen: Chosen) -> None:
    """Trained against untrained on the same recipe and, of EEG, the recipe step by step."""
    found, steps = chosen.rows("added"), chosen.rows("recipes")
    found = found[(found["set"] == chosen.name) & (found["n"] == chosen.n)] if len(found) else found
    steps = steps[steps["set"] == chosen.name] if len(steps) else steps
    if not len(found):
        nothing_yet("what the network adds here")
        return
    st.markdown(plain(" ".join(chosen.about["adds"])))
    left, right = st.columns(2, gap="large") if len(steps) else (st.container(), None)
    with left:
        chart(added(found), "results-added", "Trained minus untrained AUC, with 95 % intervals", found)
        st.caption(f"n = {chosen.n}: AUC of a trained method minus that of the recipe's channels alone, whose "
                   "quantiles are compared and nothing learned. Bars: 95 %, people and splits resampled. "
                   f"{resting_on(chosen.study, found)}")
    if right is not None:
        with right:
            wide = steps.assign(AUC=[f"{row.auc:.4f}" for row in steps.itertuples()]).pivot(
                index="recipe", columns="method", values="AUC")
            wide = wide.reindex([step for step in RECIPES if step in wide.index])
            wide = wide.rename(columns={method: METHODS[method].title for method in wide}).fillna("")
            table(wide.rename(index=RECIPES).rename_axis("the EEG recipe").reset_index(), "AUC at n = 1, step by step")
            st.caption(f"EEG, AUC at n = 1, {steps['splits'].min()} splits: where it comes from.")


def knobs(chosen: Chosen) -> None:
    """AUC over M and over p, trained anew and not."""
    _side_by_side(chosen, ("points", "p"), "about M and p")
    st.caption("AUC at n = 1. Dashed: one model, whose quantile functions are compared at M even levels, or with "
               "another p. Solid: trained anew. Dotted, once *no network* is pressed: nothing learned. Bars: 95 %, "
               f"people and splits resampled. {narrower(chosen.study)}")


def enough(chosen: Chosen) -> None:
    """AUC over enrolled sequences and over people to learn from."""
    _side_by_side(chosen, ("enrolled", "people"), "how much is enough")
    st.caption(f"AUC at n = 1. Bars: 95 %, people and splits resampled. {narrower(chosen.study)}")


def _side_by_side(chosen: Chosen, whats: tuple[str, str], asked: str) -> None:
    found, study = chosen.rows("sweeps"), chosen.study
    if not len(found):
        nothing_yet(asked)
        return
    for column, what in zip(st.columns(2, gap="large"), whats, strict=True):
        rows = found[found["what"] == what]
        rows = rows.assign(title=[study["sets"][i]["title"] for i in rows["set"]])
        with column:
            if rows["value"].nunique() > 1:
                chart(over(rows, AXES[what], what != "p"), f"results-{what}", f"AUC over {AXES[what]}", rows)
                st.caption(resting_on(study, rows))
            else:
                nothing_yet(f"about {AXES[what]}")


def others(chosen: Chosen) -> None:
    """Another day, and people who try: where a set has sessions or forgeries."""
    days, study = chosen.rows("sessions"), chosen.study
    forged = chosen.rows("forgeries")
    if not len(days) and not len(forged):
        nothing_yet("about other sessions and forgers")
        return
    name = choose_set(study, list(dict.fromkeys([*(days["set"] if len(days) else ()),
                                                 *(forged["set"] if len(forged) else ())])))
    left, right = st.columns(2, gap="large")
    with left:
        rows = days[(days["set"] == name) & (days["n"] == 1)] if len(days) else days
        if len(rows):
            wide = rows.assign(AUC=[f"{x:.4f}" for x in rows["auc"]]).pivot(index="method", columns="sessions",
                                                                            values="AUC")
            wide = wide.reindex(list(dict.fromkeys(rows["method"])))[["within", "across"]]
            table(wide.rename(index=lambda method: METHODS[method].title).rename_axis("method").reset_index(),
                  "AUC within a session and across two, a row per method")
            st.caption(f"AUC at n = 1 of the same people, enrolled in one session and observed in the same (within) or "
                       f"in the next (across); mean of {rows['splits'].min()} splits.")
    with right:
        rows = forged[(forged["set"] == name) & (forged["enrolled"] == 5)] if len(forged) else forged
        if len(rows):
            rows = rows[rows["of"] == choose_whose(rows["of"])]
            shown = [{"method": METHODS[row.method].title, "normalised": "yes" if row.normalised else "no",
                      **{kind: f"{getattr(row, f'{kind}_eer'):.1%}" for kind in ("random", "skilled", "mixed")}}
                     for row in rows.itertuples()]
            table(pd.DataFrame(shown), "Equal error rates, a row per method")
            st.caption("Equal error rate with five signatures of the first session enrolled and one of the next "
                       "observed: against other people (random), forgers who practised (skilled), both (mixed); "
                       f"normalised by the claimed person's spread or not. Mean of {rows['splits'].min()} splits; "
                       "who is ahead beyond noise stands in the first view.")


def choose_whose(names) -> str:
    """Whose error rates: of each data set, their mean, or of all people with one line."""
    names = whose(names)
    if len(names) == 1:
        return names[0]
    return st.selectbox("Whose line", names, index=names.index(EACH) if EACH in names else 0, key="results-whose",
                        width=WIDE, format_func=lambda of: OF.get(of, of), **KEPT)


def papers(chosen: Chosen) -> None:
    """The paper's own budget, as far as it got."""
    found, study = chosen.rows("curves"), chosen.study
    if not len(found):
        nothing_yet("what the paper's own budget gives")
        return
    rows = found.assign(title=[METHODS[method].title for method in found["method"]])
    tested = chosen.rows("papers")
    tested = tested[tested["n"] == 1].set_index(["method", "trained"])["auc"].to_dict() if len(tested) else {}
    ends = rows.groupby("method", sort=False).agg(step=("step", "max"), auc=("auc", "max"), whole=("whole", "all"))
    table(pd.DataFrame([{"method": METHODS[method].title, "steps": f"{row.step:,}" + ("" if row.whole else " so far"),
                         "validation": f"{row.auc:.4f}",
                         **{header: f"{tested[method, trained]:.4f}" if (method, trained) in tested else "–"
                            for header, trained in (("test", "paper"), ("quick preset", "quick"))}}
                        for method, row in ends.iterrows()]),
          "Steps, the best validation AUC and the AUC of people to test, a row per method")
    chart(validated(rows), "results-budget", "Validation AUC over steps, a line per method", rows)
    st.caption(f"{BUDGET} {plain(study['sets'][rows['set'].iloc[0]]['title'])}, one split: the best AUC of the "
               "validation people, who are few, and the AUC at n = 1 of the people to test; beside it that of the "
               "quick preset, tuned, on the same split.")


def tuning(chosen: Chosen) -> None:
    """The same search for every method: every try, the losing ones too."""
    found, study = chosen.rows("tries"), chosen.study
    if not len(found):
        nothing_yet("for the best settings of each method")
        return
    st.markdown(plain(study["tuning"]))
    name = choose_set(study, list(dict.fromkeys(found["set"])))
    of_set, judged_by = found[found["set"] == name], "score" if "score" in found else "auc"   # a study of before
    rows = []
    for method, part in of_set.groupby("method", sort=False):
        tried, won = part.groupby("attempt")[judged_by].agg(["mean", "size"]), set(part[part["chosen"]]["attempt"])
        rows.append({plain(study["sets"][name]["title"]): METHODS[method].title,
                     **{f"try {row.Index}": f"{row.mean:.4f}" + (f" ({row.size})" if row.size > 1 else "")
                        + (" ✓" if row.Index in won else "") for row in tried.itertuples()}})
    table(pd.DataFrame(rows).fillna(""), "Score of every try, a row per method")
    splits = of_set["split"].nunique()
    where = "a split that is" if splits == 1 else "splits that are"
    again = f" ({splits}): went on, the mean of {splits} splits." if splits > 1 else ""
    st.caption(f"{JUDGED[study['sets'][name].get('domain') == 'signature']} of people whom the try did not learn from, "
               f"on {where} never tested on. Try 0 is the preset, tries 1 to {DRAWN} are drawn by a seed, the recipe "
               f"included, the last changes one thing; the same for every method.{again} ✓: chosen.")
