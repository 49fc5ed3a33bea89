"""Which filters tell people apart: all of them ranked, one of them large, and where in a recording it fires."""

import numpy as np
import pandas as pd
import streamlit as st
import torch

from qpwl_core.quantiles import density
from ui.comparing import ranking_of
from ui.controls import KEPT, choose_p, choose_points, forget_unknown, gallery_or_stop
from ui.figures.filters import densities, grid, large, ranking
from ui.firing import show_firing
from ui.library import choose_model
from ui.page import chart, colours_of, plain, setup_page

BEST = 12
THIN = 40                # sequences of one person that are drawn

setup_page("Filters", "Which filters tell people apart?")
entry = choose_model()
if entry is None:
    st.stop()
gallery = gallery_or_stop(entry)
test = gallery.part("test")
colours, people = colours_of(gallery.people), test.people


def picked(key: str) -> None:
    """The filter that was clicked in a chart becomes the one that is shown large."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        st.session_state["filter"] = int(np.ravel(points[0]["customdata"])[0])


def set_state(**values) -> None:
    """What a preset does."""
    st.session_state.update(values)


who, order, levels_of, presets = st.columns([1.7, 1, 1.2, 0.8], gap="large")
with who:
    forget_unknown("filters_people", people)
    chosen = st.multiselect("People in colour", people, people[:5], key="filters_people", max_selections=8, **KEPT,
                            help="None of them was seen in training. The ranking uses all test people.")
with order:
    p = choose_p()
with levels_of:
    points = choose_points(gallery)
try:
    found = ranking_of(str(entry.folder), entry.card["sha256"], points, p, test)
except ValueError as error:
    st.info(f"Filters cannot be ranked on this gallery: {plain(str(error))}.", icon=":material/group:")
    st.stop()
if not chosen:
    st.info("Choose a person or more to draw.", icon=":material/group:")
    st.stop()

with presets, st.popover("Try this", icon=":material/lightbulb:", width="stretch"):
    st.button("The best filter", on_click=set_state, kwargs={"filter": int(found.aucs.argmax()) + 1})
    st.button("The weakest filter", on_click=set_state, kwargs={"filter": int(found.aucs.argmin()) + 1})
    st.button("Only smallest, middle, largest: M = 1", on_click=set_state, kwargs={"levels": "even", "M": 1})
    st.button("As in the paper: p = 1, learned levels", on_click=set_state, kwargs={"p": 1.0, "levels": "learned"})
seen = test.embeddings(points)
values, levels = seen.values.numpy(), seen.levels.numpy()
best_first = np.argsort(-found.aucs, kind="stable")
means = {person: values[test.subjects == person].mean(0) for person in chosen}            # (K, L)

st.subheader("Every filter is a distribution")
st.markdown("The network turns a recording into filters; of each filter we keep the whole distribution over the "
            "recording, as a quantile function. A filter is good where lines of different colours lie apart.")
st.latex(rf"\mathrm{{AUC}}_k = P\big(W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, \bar Q_k^{{\,\text{{same person}}}}) < "
         rf"W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, \bar Q_k^{{\,\text{{another}}}})\big)\qquad "
         rf"{found.genuine:,}".replace(",", r"\,") + r"\ \text{genuine},\ " +
         f"{found.imposters:,}".replace(",", r"\,") + r"\ \text{imposter pairs}")
left, right = st.columns([1, 1.7], gap="large")
with left:
    chart(ranking(found.aucs), "filters-ranking", f"Bars: AUC of each of {len(found.aucs)} filters alone, best first",
          pd.DataFrame({"filter": best_first + 1, "auc": found.aucs[best_first]}), on_select=lambda: picked(
              "filters-ranking"), selection_mode="points")
    st.caption(f"{found.sequences} sequences of {found.people} test people; 0.5 is guessing. The best filter alone "
               f"reaches {found.aucs.max():.3f}, the middle one {np.median(found.aucs):.3f}. Click a bar.")
with right:
    how_many = st.segmented_control("Show", ["best", "all"], default="best", required=True, key="filters_show", **KEPT,
                                    format_func={"best": f"the best {min(BEST, len(best_first))}",
                                                 "all": f"all {len(best_first)}"}.get, label_visibility="collapsed")
    shown = best_first[:BEST] if how_many == "best" else best_first

    def means_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "filter": k + 1, "level": levels, "value": means[person][k]})
                          for k in shown for person in chosen])

    chart(grid(means, levels, shown, found.aucs, colours), "filters-grid",
          f"Small pictures of {len(shown)} filters: the mean quantile function of {len(chosen)} people in each",
          means_table,
          on_select=lambda: picked("filters-grid"), selection_mode="points")
    st.caption("Above each its number and AUC; a person's line is the mean over their sequences. Each picture is "
               "scaled to its own range: click one to see the numbers.")

options = (best_first + 1).tolist()
forget_unknown("filter", options)
pick, title = st.columns([1, 4], gap="large", vertical_alignment="bottom")
number = pick.selectbox("Filter, best first", options, key="filter", **KEPT)
k = number - 1
title.subheader(f"Filter {number}: AUC {found.aucs[k]:.3f}, number {options.index(number) + 1} of {len(options)}")
functions = {person: values[test.subjects == person, k] for person in chosen}              # (n, L)
left, right = st.columns(2, gap="large")
with left:
    def functions_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "sequence": i + 1, "level": levels, "value": line})
                          for person, lines in functions.items() for i, line in enumerate(lines)])

    chart(large({person: lines[:THIN] for person, lines in functions.items()}, levels, colours), "filters-large",
          f"Quantile functions of filter {number}: each sequence of {len(chosen)} people thin, their means bold",
          functions_table)
    where = "learned by the model" if points is None and gallery.own is not None else "evenly spaced"
    st.caption(f"Thin: one sequence; bold: the person's mean, which is the Wasserstein barycentre of their "
               f"distributions. Dotted: the {len(levels) - 2} levels, {where}.")
with right:
    knots = {person: lines.mean(0) for person, lines in functions.items()}
    heights = {person: density(torch.from_numpy(x), seen.levels)[1].numpy() for person, x in knots.items()}
    chart(densities(knots, heights, colours), "filters-density", f"Densities of filter {number}, one a person",
          lambda: pd.concat([pd.DataFrame({"person": person, "from": knots[person][:-1], "to": knots[person][1:],
                                           "density": heights[person]}) for person in chosen]))
    st.caption("The same means read the other way round: between two levels lies a known share of all frames, so the "
               "density is that share over the distance of the two quantiles.")

st.subheader(f"Where filter {number} fires")
show_firing(entry, k)
