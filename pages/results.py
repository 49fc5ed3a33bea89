import pandas as pd
import streamlit as st

from qpwl_core import paper
from qpwl_core.files import FileError
from qpwl_core.methods import METHODS
from ui import results
from ui.figures import identification, verification
from ui.figures.results import differences
from ui.page import KEPT, chart, plain, setup_page, table
from ui.trials import look_of

VIEWS = {"leads": "Who leads", "table": "The paper's table, and ours", "curves": "ROC and AUC",
         "people": "Identification and imposters"}

setup_page("Results", "Does it hold what the paper says?")


def paper_table(domain: str) -> pd.DataFrame:
    """Table 1 of the paper, for one of its three data sets."""
    return pd.DataFrame([{"AUC": METHODS[method].title, **{f"n = {n}": f"{auc:.4f} ± {se:.4f}"
                                                           for n, (auc, se) in enumerate(row, 1)}}
                         for method, row in paper.VERIFICATION[domain].items()])


def statements() -> None:
    with st.expander("What the paper says", icon=":material/menu_book:"):
        st.markdown("\n".join(f"- {plain(text)} *{plain(place)}*" for place, text in paper.STATEMENTS))


try:
    study = results.study()
except FileError as error:
    st.error(f"The results cannot be read: {plain(error)}. Run the study again.", icon=":material/error:")
    study = None
if study is None:
    st.info("No study has been run here yet. It trains every method on every data set, tests them on people they never "
            "saw and writes what this page shows. In a terminal, in the folder of the project:",
            icon=":material/science:")
    st.code("python -m qpwl_core study --preset smoke     # a minute, on what ships\n"
            "python -m qpwl_core study                    # the real sets, an hour or two on two cores",
            language="bash")
    st.subheader("Until then, what the paper reports")
    domain = st.segmented_control("Data of the paper", list(paper.DATA), default="eye", key="results-domain",
                                  required=True, format_func=lambda d: plain(paper.DATA[d].name), **KEPT)
    table(paper_table(domain), "AUC in the paper, a row a method")
    data = paper.DATA[domain]
    st.caption(f"{plain(data.name)}: {data.people} people, {data.train} of them to train; {data.sequences}. "
               f"{plain(paper.TABLE)}.")
    statements()
    st.stop()

st.caption(f"{plain(study['budget'])}. {plain(paper.OUR_BUDGET)}")
results.downloads()

sets, titles = study["sets"], study["methods"]
looks = {title: look_of(method) for method, title in titles.items()}
if st.session_state.get("results-set") not in sets:
    st.session_state.pop("results-set", None)
a, b, c = st.columns([1.2, 1.6, 1], gap="medium")
name = a.selectbox("Data", list(sets), key="results-set", format_func=lambda i: sets[i]["title"], **KEPT)
here = [row for row in study["verification"] if row["set"] == name]
methods = list(dict.fromkeys(row["method"] for row in here))
chosen = b.multiselect("Methods", methods, methods, key=f"results-methods-{name}", format_func=lambda m: titles[m],
                       placeholder="all of them", **KEPT) or methods
n = c.segmented_control("Sequences observed, n", [1, 2, 3, 4, 5], default=1, key="n", required=True, **KEPT)
here = pd.DataFrame([row for row in here if row["method"] in chosen])

view = st.segmented_control("View", list(VIEWS), format_func=VIEWS.get, default="leads", required=True,
                            key="results_view", label_visibility="collapsed", **KEPT)
if view == "leads":
    for sentence in sets[name]["verdicts"] or ["There is no QP-WL to hold the others against."]:
        st.markdown(f"- {plain(sentence)}")
    found = pd.DataFrame(study["differences"])
    found = found[(found["n"] == n) & found["against"].isin(chosen)] if len(found) else found
    if len(found):
        found = found.assign(title=[sets[i]["title"] for i in found["set"]])
        chart(differences(found, titles, looks), "results-differences",
              f"AUC of QP-WL minus that of every other method at n = {n}, with 95 % intervals", found)
        st.caption(f"n = {n}, all data sets. Bars: 95 % intervals from resampling people. Right of nought QP-WL leads.")
elif view == "table":
    if sets[name]["simulated"]:
        st.warning(plain(paper.SIMULATED), icon=":material/experiment:")
    else:
        st.info(f"It stands for {plain(sets[name]['stands_for'])} of the paper. **What differs:** "
                f"{plain(sets[name]['differs'])}", icon=":material/compare_arrows:")
    rows = []
    for method, part in here.groupby("method", sort=False):
        rows.append({"AUC": f"{titles[method]}, ours", **{f"n = {row.n}": f"{row.auc:.4f} ± {row.se:.4f}"
                                                          for row in part.itertuples()}})
        if "paper_auc" in part and part["paper_auc"].notna().all():
            rows.append({"AUC": f"{titles[method]}, the paper", **{
                f"n = {row.n}": f"{row.paper_auc:.4f} ± {row.paper_se:.4f}" for row in part.itertuples()}})
    table(pd.DataFrame(rows), "AUC for one to five observed sequences, ours and the paper's")
    st.caption(f"{plain(sets[name]['people'])}. ± is the standard error over all repeats of all seeds, as in the paper "
               "over repeats.")

    at, rates = here[here["n"] == n], [column for column in here if column.startswith("fnmr_")]
    said = lambda value, digits=3: "not measurable" if pd.isna(value) else f"{value:.{digits}f}"  # noqa: E731
    table(pd.DataFrame([
        {"method": titles[row["method"]],
         "AUC, people resampled": f"{row['auc']:.4f} ({row['low']:.3f} to {row['high']:.3f})", "EER": said(row["eer"]),
         **{f"FNMR at FMR {100 * float(rate[5:]):g} %": said(row[rate]) for rate in rates},
         "d′": said(row["d_prime"], 2)} for row in at.to_dict("records")]), f"Errors at n = {n}, a row a method")
elif view == "curves":
    left, right = st.columns(2, gap="large")
    curves = results.table("roc")
    with left:
        if curves is not None:
            curves = curves[(curves["set"] == name) & (curves["n"] == n) & curves["method"].isin(chosen)]
            chart(verification.roc({titles[m]: rows for m, rows in curves.groupby("method", sort=False)}, looks,
                                   corner=curves[curves["fpr"] >= 0.1]["tpr"].min() > 0.8),
                  "results-roc", f"ROC curves at n = {n}, mean over repeats, standard error shaded", curves)
            st.caption("A double click shows the whole curve.")
    with right:
        ours = {titles[m]: part for m, part in here.groupby("method", sort=False)}
        published = {title: part[["n", "paper_auc", "paper_se"]].set_axis(["n", "auc", "se"], axis=1)
                     for title, part in ours.items() if "paper_auc" in part and part["paper_auc"].notna().all()}
        chart(verification.auc(ours, published, looks, 430), "results-auc", "AUC over n, ours and the paper's", here)
else:
    left, right = st.columns(2, gap="large")
    for column, which, measure, title in ((left, "identification", "accuracy", "named rightly"),
                                          (right, "imposters", "auc", "imposter AUC")):
        rows = pd.DataFrame([row for row in study[which] if row["set"] == name and row["method"] in chosen])
        with column:
            tables = {titles[m]: part.rename(columns={"se": f"{measure}_se"})
                      for m, part in rows.groupby("method", sort=False)}
            chart(identification.over_fractions(tables, looks, measure, title, shares=which == "identification"),
                  f"results-{which}", f"{title} over the fraction of people enrolled, n = 5", rows)
    st.caption("n = 5, mean ± standard error over all repeats of all seeds. The paper shows these as pictures, without "
               "numbers.")
statements()
with st.expander("Make it again", icon=":material/terminal:"):
    st.code(study["command"], language="bash")
    terms = sets[name]["terms"]
    st.caption(f"Data: {plain(terms['citation'])}; {plain(terms['licence'])}.")
