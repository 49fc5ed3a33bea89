"""The picture on the home page: what a shipped model saw in two people or, with no model, the raw signals."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import streamlit as st
import torch

from qpwl_core.evaluation.pairs import draw_triple, filter_aucs, pairs_of, strangers_nearer
from qpwl_core.transport.distances import pairwise_wasserstein, wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from ui.home.figures import all_filters, quantile_functions, two_pairs
from ui.library.data import recordings_of
from ui.library.models import Entry, entries, gallery_at, gallery_of
from ui.shell.charts import chart
from ui.shell.controls import WIDE, choose_p, choose_person
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS, colours_of
from ui.shell.people import called, name_of, named
from ui.shell.text import plain


def model_to_show() -> Entry | None:
    """The shipped EEG model of QP-WL, else another model of QP-WL with held-out people beside it."""
    found = [entry for entry in entries() if entry.method == "qp-wl" and entry.has_gallery]
    return min(found, key=lambda entry: (entry.kind != "ships", entry.card["config"]["domain"] != "eeg"), default=None)


@st.cache_data(max_entries=8, show_spinner=False)
def ranking(folder: str, checksum: str) -> pd.DataFrame:
    """Filters from best to worst, by AUC on the calibration people: nobody who is shown has a say. Columns filter, auc.

    Where there are none, the people shown decide.
    """
    gallery = gallery_at(folder, checksum)
    try:
        people = gallery.part("calibration")
        pairs = pairs_of(people.subjects, people.sources)
    except ValueError:                            # nobody, or nobody to compare with
        people = gallery.part("test")
        pairs = pairs_of(people.subjects, people.sources)
    seen = people.embeddings()
    scores = filter_aucs(seen.values, seen.levels, pairs, gallery.p)
    table = pd.DataFrame({"filter": range(len(scores)), "auc": scores})
    return table.sort_values("auc", ascending=False, kind="stable", ignore_index=True)


def ranked_on(gallery) -> str:
    """Who decides which filter is the best: calibration people, or the test people where there are too few others."""
    few = [part for part in ("calibration", "test") if len(gallery.part(part).people) > 1]
    return f"{len(gallery.part(few[0]).people)} {few[0]} people" if few else "nobody"


@st.cache_data(max_entries=8, show_spinner=False)
def typical_seed(folder: str, checksum: str, k: int, tries: int = 50) -> int:
    """The seed of a typical triple: in filter k the stranger is farther by as much as in the median of so many."""
    people = gallery_at(folder, checksum).part("test")
    seen = people.embeddings()
    triples = np.array([draw_triple(people.subjects, people.sources, seed) for seed in range(tries)])
    near, far = (wasserstein(seen.values[triples[:, 0], k:k + 1], seen.values[triples[:, i], k:k + 1], seen.levels,
                             people.p) for i in (1, 2))
    margin = (far - near).numpy()
    return int(np.abs(margin - np.median(margin)).argmin())


@st.cache_data(max_entries=64, show_spinner=False)
def failures(folder: str, checksum: str, p: float, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Triples in which the stranger is nearer, of how many: in filter k, and over all filters."""
    people = gallery_at(folder, checksum).part("test")
    seen = people.embeddings()
    one = seen.values[:, k:k + 1]
    return tuple(strangers_nearer(pairwise_wasserstein(x, x, seen.levels, p).numpy(), people.subjects, people.sources)
                 for x in (one, seen.values))


def learned(entry: Entry) -> None:
    """Three recordings of held-out people through the eyes of the best filter, and all filters together."""
    folder, checksum = str(entry.folder), entry.card["sha256"]
    people, table = gallery_of(entry).part("test"), ranking(folder, checksum)
    k = int(table["filter"][0])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button("Another pair", icon=":material/shuffle:", type="primary", on_click=_next_draw)
        number = st.number_input("Draw", 1, 9999, key="home_draw", width=130, **KEPT,
                                 help="People and recordings are drawn at random, the first time a typical case; the "
                                      "same number draws the same.")
        p = choose_p(people.p, width=WIDE)
    with st.container():
        index = list(draw_triple(people.subjects, people.sources,
                                 typical_seed(folder, checksum, k) + number - 1))
        one, other = people.subjects[index[0]], people.subjects[index[2]]
        st.caption(f"Draw {number}: two people, drawn at random; the same number shows the same two again. "
                   f"{plain(entry.title)}. The {len(people.people)} people here were never seen in training. "
                   f"Filter {k + 1} of {len(table)} is shown because it tells *other* people apart best: AUC "
                   f"{table['auc'][0]:.3f} over all pairs of sequences of {ranked_on(gallery_of(entry))}. The page "
                   "Filters ranks on the people here.")
    seen = people.embeddings()
    values = seen.values[index]                                                       # (3, K, M+2)
    same, different = (wasserstein(values[0], values[i], seen.levels, p, per_filter=True).numpy() for i in (1, 2))
    colour = colours_of(gallery_of(entry).people)
    colours = [colour[one], colour[one], colour[other]]
    name = named(gallery_of(entry).people)
    names = [name[one], f"{name[one]}, another recording", name[other]]
    with st.container():
        titles = [f"The same person: W = {same[k]:.3f}", f"Another person: W = {different[k]:.3f}"]
        curves = values[:, k].numpy()
        figure = two_pairs(seen.levels.numpy(), curves, [html.escape(name) for name in names], colours, titles)
        chart(figure, "home-pairs", f"Quantile functions of filter {k + 1}: two recordings of {name[one]}, "
              f"{same[k]:.3f} apart, and one of {name[other]}, {different[k]:.3f} away.",
              pd.DataFrame({"level": seen.levels.numpy()} | dict(zip(names, curves, strict=True))))
    _formula(p, same, different, k)
    _verdict(failures(folder, checksum, p, k), same, different, k, len(people.people))
    order = table["filter"].to_numpy()
    rows = pd.DataFrame({"filter": order + 1, "same_person": same[order], "another_person": different[order]})
    farther = int((same < different).sum())
    st.markdown(f"**All {len(order)} filters, the best first.** In {farther} of them the other person is farther away; "
                "the distance is the sum over all. A line leads from the distance to the same person to that to the "
                "other.")
    chart(all_filters(rows, k + 1), "home-filters",
          f"Distances in each of {len(order)} filters; in {farther} the other person is farther.", rows)


def _next_draw() -> None:
    st.session_state["home_draw"] = st.session_state["home_draw"] % 9999 + 1


def _formula(p: float, same: np.ndarray, different: np.ndarray, k: int) -> None:
    power, opening, closing = ("", "", "") if p == 1 else (f"^{{{p:g}}}", r"\Big(", rf"\Big)^{{1/{p:g}}}")
    st.latex(rf"W_{{{p:g}}} = {opening}\int_0^1 \big|\bar Q_1(r) - \bar Q_2(r)\big|{power}\,dr{closing}"
              rf" = {same[k]:.3f} \;\text{{ and }}\; {different[k]:.3f}")
    st.latex(rf"d_{{{p:g}}} = \sum_{{k=1}}^{{{len(same)}}} W_{{{p:g}}}\big(\bar Q^{{(k)}}_1, "
                      rf"\bar Q^{{(k)}}_2\big) = {same.sum():.2f} \;\text{{ and }}\; {different.sum():.2f}")


def _verdict(failed, same: np.ndarray, different: np.ndarray, k: int, people: int) -> None:
    """An honest sentence on this triple, and how it goes over all of them."""
    (in_one, triples), (in_all, _) = failed
    usual = (f"Over all {triples:,} such triples of these {people} people the stranger is nearer in "
             f"{in_all / triples:.1%}, in filter {k + 1} alone in {in_one / triples:.1%}.")
    if same.sum() < different.sum():
        alone = "" if same[k] < different[k] else f" Filter {k + 1} alone would be wrong: that is why there are many."
        st.success("The two recordings of one person are the nearer ones." + alone + " " + usual,
                   icon=":material/check_circle:")
    else:
        st.warning("Here the stranger is nearer: from these recordings alone they would be mistaken for each other. "
                   + usual, icon=":material/warning:")


def raw() -> None:
    """With no model at hand: the raw signals of two walks of one person and one of another."""
    st.markdown("Below are two walks of one person and one of another, measured by a phone at the waist; "
                "no network is involved yet.")
    walks = recordings_of("gait-hapt-30").select(stimuli=["walking@session1", "walking@session2"])
    people = sorted(set(walks.subjects.tolist()))
    controls, picture = st.columns([1, 2.4], gap="large")
    with controls:
        one = choose_person("One person", people, "one")
        other = choose_person("Another person", people, "other", index=4)
        channel = st.selectbox("Signal", walks.channels, key="signal", **KEPT)
        points = st.slider("Sampling points M", 1, 64, 16, key="M", **KEPT,
                           help="Q̄ is a line through the values at M levels between 0 and 1, and at both ends.")
        p = choose_p()
    own, foreign = walks.select(subjects=one).sequences, walks.select(subjects=other).sequences
    if one == other or len(own) < 2:
        picture.info("Choose two different people to compare." if one == other else
                     f"{plain(name_of(one))} has only one walk; choose another.", icon=":material/group:")
        return
    name = named(people)
    names = [f"{name[one]}, first walk", f"{name[one]}, second walk", name[other]]
    column, unit = walks.channels.index(channel), {"acc": "g", "gyr": "rad/s"}[channel[:3]]
    layer = QuantileLayer(points, learn_levels=False)
    embeddings = torch.stack([layer(torch.from_numpy(s[None, :, column].copy())[None])[0]
                              for s in (own[0], own[1], foreign[0])])               # (3, 1, M+2)
    same, different = (wasserstein(embeddings[0], embeddings[i], layer.levels, p).item() for i in (1, 2))
    with picture:
        colours = dict(zip(names, (COLOURS[0], COLOURS[4], COLOURS[5]), strict=True))
        curves = dict(zip(names, embeddings[:, 0].numpy(), strict=True))
        figure = quantile_functions(curves, layer.levels.numpy(), colours, dashed=names[1:2], unit=unit)
        chart(figure, "home-raw", f"Quantile functions of {channel}: {one} to themselves {same:.4f} {unit}, to {other} "
              f"{different:.4f} {unit}.", pd.DataFrame({"level": layer.levels.numpy()} | curves))
        left, right = st.columns(2)
        left.metric(f"{called(people)[one]} to themselves", f"{same:.4f} {unit}", border=True)
        right.metric(f"{called(people)[one]} to {called(people)[other]}", f"{different:.4f} {unit}", border=True)
        st.latex(rf"W_{{{p:g}}} = \Big(\int_0^1 \big|\bar Q_1(r) - \bar Q_2(r)\big|^{{{p:g}}}\,dr\Big)^{{1/{p:g}}}"
                 rf"\qquad {same:.4f} \;\; \text{{against}} \;\; {different:.4f}")
        if same < different:
            st.success("The two walks of one person are closer: on this signal they could be told apart.",
                       icon=":material/check_circle:")
        else:
            st.warning("Here the stranger is closer. One raw signal is not enough: that is what the network is for.",
                       icon=":material/warning:")
