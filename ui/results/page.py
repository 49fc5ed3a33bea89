"""Results: the study, with the paper beside it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.study import paper
from ui.results import beside, views
from ui.results import study as results
from ui.shell.charts import table
from ui.shell.controls import WIDE
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch, presenting
from ui.shell.text import plain
from ui.shell.words import glossary, help_for, why_aucs_differ

VIEWS = {"leads": ("Who leads", views.leads), "table": ("The paper's table, and ours", views.as_table),
         "curves": ("ROC and AUC", views.as_curves), "people": ("Identification and imposters", views.over_people),
         "network": ("What the network adds", beside.network), "knobs": ("M and p", beside.knobs),
         "enough": ("How much is enough", beside.enough), "others": ("Another day, and forgers", beside.others),
         "budget": ("The paper's budget", beside.papers), "tuning": ("Tuning", beside.tuning)}
# What each view lets one choose: nothing that would change nothing. Those beside the main table choose for themselves.
CHOICES = {"leads": ("set", "n", "methods"), "table": ("set", "n", "methods"), "curves": ("set", "n", "methods"),
           "people": ("set", "methods"), "network": ("set", "one or five")}


def show() -> None:
    """The whole page."""
    setup_page("Results", "Does it hold what the paper says?", bare=presenting())
    try:
        study = results.study()
    except FileError as error:
        st.error(f"The results cannot be read: {plain(error)}. Run the study again.", icon=":material/error:")
        study = None
    if study is None:
        no_study()
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        presenter = presenter_switch()
        if not presenter:
            glossary("AUC", "n", "EER", "FMR", "FNMR", "M", "p", "sequence", "enrolled", "imposter")
    if presenter:
        present(study)
        return
    view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="leads",
                                required=True, key="results_view", label_visibility="collapsed", **KEPT)
    chosen = choose(study, CHOICES.get(view, ()))
    VIEWS[view][1](chosen)
    st.divider()
    results.downloads()
    with st.expander("What was trained, and how", icon=":material/info:"):
        st.markdown(f"{plain(study['budget'])}. {plain(paper.OUR_BUDGET)}")
    statements()
    why_aucs_differ()
    with st.expander("Make it again", icon=":material/terminal:"):
        st.code(study["command"], language=None)
        terms = chosen.about["terms"]
        st.caption(f"Data: {plain(terms['citation'])}; {plain(terms['licence'])}.")


def present(study: dict) -> None:
    """Before an audience: one view per screen, and the key → for the next."""
    def following() -> None:
        names = list(VIEWS)
        st.session_state["results_view"] = names[(names.index(st.session_state["results_view"]) + 1) % len(names)]

    st.button("Next", icon=":material/skip_next:", type="primary", on_click=following, key="results-next",
              shortcut="ArrowRight")
    view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="leads",
                                required=True, key="results_view", label_visibility="collapsed", **KEPT)
    stage, below = st.container(), st.expander("Data, methods and n", icon=":material/tune:")
    with below:
        chosen = choose(study, CHOICES.get(view, ()))
    with stage:
        st.markdown(f"# {VIEWS[view][0]}")
        VIEWS[view][1](chosen)


def choose(study: dict, choices: tuple[str, ...]) -> views.Chosen:
    """The set, n and the methods that are looked at, of which ``choices`` can be chosen."""
    sets = study["sets"]
    if st.session_state.get("results-set") not in sets:
        st.session_state.pop("results-set", None)
    row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    name, n = next(iter(sets)), 1
    if "set" in choices:
        name = row.selectbox("Data", list(sets), key="results-set", format_func=lambda i: sets[i]["title"], width=WIDE,
                             **KEPT)
    if "n" in choices:
        n = row.segmented_control("Sequences observed, n", [1, 2, 3, 4, 5], default=1, key="n", required=True,
                                  width="content", help=help_for("n"), **KEPT)
    elif "one or five" in choices:
        n = row.segmented_control("Sequences observed, n", [1, 5], default=1, key="results-n", required=True,
                                  width="content", help=help_for("n"), **KEPT)
    here = [each for each in study["verification"] if each["set"] == name]
    methods = list(dict.fromkeys(each["method"] for each in here))
    chosen = methods
    if "methods" in choices:
        with row.popover("Methods", icon=":material/checklist:"):
            chosen = st.multiselect("Methods", methods, methods, key=f"results-methods-{name}", **KEPT,
                                    format_func=lambda m: study["methods"][m], placeholder="all of them") or methods
    return views.Chosen(study, name, chosen, n, pd.DataFrame([each for each in here if each["method"] in chosen]))


def no_study() -> None:
    """What to do where no study was run, and the paper's figures until then."""
    st.info("No study has been run here yet. It trains every method on every data set, tests them on people they never "
            "saw and writes what this page shows. In a terminal, in the folder of the project:",
            icon=":material/science:")
    st.code("python -m qpwl_core study --preset smoke     # a minute, on what ships\n"
            "python -m qpwl_core study --list             # how many trainings the real sets take, and how long\n"
            "python -m qpwl_core study                    # all of them; it goes on where it was stopped",
            language=None)
    st.subheader("Until then, what the paper reports")
    domain = st.segmented_control("Data of the paper", list(paper.DATA), default="eye", key="results-domain",
                                  required=True, format_func=lambda d: plain(paper.DATA[d].name), **KEPT)
    table(views.paper_table(domain), "AUC in the paper, a row per method")
    data = paper.DATA[domain]
    st.caption(f"{plain(data.name)}: {data.people} people, {data.train} of them to train; {data.sequences}. "
               f"{plain(paper.TABLE)}.")
    statements()


def statements() -> None:
    """What the paper says in words."""
    with st.expander("What the paper says", icon=":material/menu_book:"):
        st.markdown("\n".join(f"- {plain(text)} *{plain(place)}*" for place, text in paper.STATEMENTS))
