"""Which filters tell people apart: all of them ranked, one of them large, and where in a recording it fires."""

import numpy as np
import pandas as pd
import streamlit as st
import torch

from qpwl_core.quantiles import density
from ui.comparing import Ranking, ranking_of
from ui.controls import EXTREMES, choose_p, choose_points, forget_unknown, gallery_or_stop, try_presets
from ui.figures.filters import large, overview
from ui.firing import show_firing
from ui.library import choose_model
from ui.page import KEPT, chart, colours_of, plain, setup_page

BEST = 12
VIEWS = {"all": "All filters", "one": "One filter, large", "fires": "Where it fires"}
THIN = 40                # sequences of one person that are drawn

setup_page("Filters", "Which filters tell people apart?")
entry = choose_model()
if entry is None:
    st.stop()
gallery = gallery_or_stop(entry)
test = gallery.part("test")
colours, people = colours_of(gallery.people), test.people


@st.fragment
def explore() -> None:
    """All that follows p, M and the people; of the page only this is drawn again."""
    who, order, levels_of, beside = st.columns([1.7, 1, 1.2, 0.8], gap="large")
    with who:
        forget_unknown("filters_people", people)
        chosen = st.multiselect("People in colour", people, people[:5], key="filters_people", max_selections=8, **KEPT,
                                help="None of them was seen in training. The ranking uses all test people.")
    with order:
        p = choose_p(gallery.p)
    with levels_of:
        points = choose_points(gallery)
    try:
        found = ranking_of(str(entry.folder), entry.card["sha256"], points, p, test)
    except ValueError as error:
        st.info(f"Filters cannot be ranked on this gallery: {plain(str(error))}.", icon=":material/group:")
        return
    if not chosen:
        st.info("Choose a person or more to draw.", icon=":material/group:")
        return
    with beside:
        best, weakest = int(found.aucs.argmax()) + 1, int(found.aucs.argmin()) + 1
        try_presets({"The best filter": {"filter": best, "filters_view": "one"},
                     "The weakest filter": {"filter": weakest, "filters_view": "one"}} | EXTREMES)
    best_first = np.argsort(-found.aucs, kind="stable")
    options = (best_first + 1).tolist()
    forget_unknown("filter", options)
    pick, look = st.columns([1, 4], gap="large", vertical_alignment="bottom")
    view = look.segmented_control("View", list(VIEWS), format_func=VIEWS.get, default="all", required=True,
                                  key="filters_view", label_visibility="collapsed", **KEPT)
    number = pick.selectbox("Filter, best first", options, key="filter", **KEPT)
    if view == "all":
        all_of_them(found, chosen, best_first, points, p)
    elif view == "one":
        st.subheader(f"Filter {number}: AUC {found.aucs[number - 1]:.3f}, number {options.index(number) + 1} of "
                     f"{len(options)}")
        one_large(number, chosen, points)
    else:
        st.subheader(f"Where filter {number} fires")
        show_firing(entry, number - 1)


def all_of_them(found: Ranking, chosen: list[str], best_first: np.ndarray, points: int | None, p: float) -> None:
    """Every filter's AUC, and small pictures of the best; a click shows one large."""
    st.markdown("The network turns a recording into filters; of each we keep the whole distribution over the "
                "recording, as a quantile function. A filter is good where lines of different colours lie apart.")
    st.latex(rf"\mathrm{{AUC}}_k = P\big(W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, "
             rf"\bar Q_k^{{\,\text{{same person}}}}) < "
             rf"W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, \bar Q_k^{{\,\text{{another}}}})\big)")
    shown = best_first[:BEST] if st.toggle(f"Only the best {BEST}", True, key="filters_best", **KEPT) else best_first
    seen = test.embeddings(points)
    values, levels = seen.values.numpy(), seen.levels.numpy()
    means = {person: values[test.subjects == person].mean(0) for person in chosen}            # (K, L)

    def means_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "filter": i + 1, "auc": found.aucs[i], "level": levels,
                                        "value": means[person][i]}) for i in best_first for person in chosen])

    def picked(point: dict) -> None:
        st.session_state.update(filter=int(np.ravel(point["customdata"])[0]), filters_view="one")

    chart(overview(found.aucs, shown, means, levels, colours), "filters-all",
          f"Bars: AUC of each of {len(best_first)} filters alone. Small pictures of {len(shown)} filters: the mean "
          f"quantile function of {len(chosen)} people in each", means_table, on_click=picked)
    st.caption(f"Measured on {found.sequences} sequences of {found.people} test people, {found.genuine:,} genuine and "
               f"{found.imposters:,} imposter pairs; 0.5 is guessing. The best filter alone reaches "
               f"{found.aucs.max():.3f}, the middle one {np.median(found.aucs):.3f}. Above each picture its number and "
               "AUC; it is scaled to its own range, and a line is a person's mean. Click a bar or a picture.")


def one_large(number: int, chosen: list[str], points: int | None) -> None:
    """One filter: quantile functions of every sequence, and the densities behind their means."""
    seen = test.embeddings(points)
    values, levels = seen.values[:, number - 1].numpy(), seen.levels.numpy()
    functions = {person: values[test.subjects == person] for person in chosen}                # (n, L)
    heights = {person: density(torch.from_numpy(x.mean(0)), seen.levels)[1].numpy() for person, x in functions.items()}

    def functions_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "sequence": i + 1, "level": levels, "value": line})
                          for person, lines in functions.items() for i, line in enumerate(lines)])

    few = {person: lines[:THIN] for person, lines in functions.items()}
    chart(large(few, levels, heights, colours), "filters-one",
          f"Filter {number}: quantile functions of {len(chosen)} people, each sequence thin and the means bold, and "
          "the densities behind the means", functions_table)
    where = "learned by the model" if points is None and gallery.own is not None else "evenly spaced"
    left, right = st.columns(2, gap="large")
    left.caption("Thin: one sequence; bold: the person's mean, which is the Wasserstein barycentre of their "
                 f"distributions. Dotted: the {len(levels) - 2} levels, {where}.")
    right.caption("The means read the other way round: between two levels lies a known share of all frames, so the "
                  "density is that share over the distance of the two quantiles.")
    st.latex(r"q(x) = \frac{r_{i+1} - r_i}{\bar Q(r_{i+1}) - \bar Q(r_i)} \quad\text{for}\quad "
             r"\bar Q(r_i) \le x < \bar Q(r_{i+1})")


explore()
