"""The picture on the home page: what a shipped model saw in two people. It needs neither PyTorch nor plotly.js."""

from __future__ import annotations

import numpy as np
import streamlit as st

from qpwl_core.evaluation.first_look import FirstLook, first_look, nearer
from qpwl_core.evaluation.pairs import draw_triple
from qpwl_core.models.gallery import resampled
from qpwl_core.transport.measures import wasserstein_of_few
from ui.home.drawing import as_web_page, show
from ui.home.figures import all_filters, two_pairs
from ui.library.models import Entry, entries, gallery_at, gallery_of
from ui.shell.charts import exports
from ui.shell.controls import WIDE, choose_p
from ui.shell.frame import KEPT
from ui.shell.palette import colours_of
from ui.shell.people import named
from ui.shell.text import plain


def model_to_show() -> Entry | None:
    """The shipped EEG model of QP-WL, else another model of QP-WL with held-out people beside it."""
    found = [entry for entry in entries() if entry.method == "qp-wl" and entry.has_gallery]
    return min(found, key=lambda entry: (entry.kind != "ships", entry.card["config"]["domain"] != "eeg"), default=None)


@st.cache_data(max_entries=8, show_spinner=False)
def look_of(folder: str, checksum: str) -> FirstLook:
    """The ranking of the filters, a typical draw, and how often it fails at the model's p."""
    return first_look(folder)


@st.cache_data(max_entries=64, show_spinner=False)
def failures(folder: str, checksum: str, p: float, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Triples in which the stranger is nearer, of how many: in filter k, and over all filters."""
    return nearer(gallery_at(folder, checksum), p, k)


def learned(entry: Entry) -> None:
    """Three recordings of held-out people through the eyes of the best filter, and all filters together."""
    folder, checksum = str(entry.folder), entry.card["sha256"]
    gallery, look = gallery_of(entry), look_of(folder, checksum)
    people, order = gallery.part("test"), look.order
    k = int(order[0])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button("Another pair", icon=":material/shuffle:", type="primary", on_click=_next_draw)
        number = st.number_input("Draw", 1, 9999, key="home_draw", width=130, **KEPT,
                                 help="People and recordings are drawn at random, the first time a typical case; the "
                                      "same number draws the same.")
        p = choose_p(people.p, width=WIDE)
    index = list(draw_triple(people.subjects, people.sources, look.seed + number - 1))
    one, other = people.subjects[index[0]], people.subjects[index[2]]
    levels = people.levels_at()
    values = resampled(people.values[index], people.levels, levels)                   # (3, K, M+2)
    same, different = (wasserstein_of_few(values[0], values[i], levels, p) for i in (1, 2))
    _verdict(same, different, k)                  # under the button that was pressed, on the same screen
    colour = colours_of(gallery.people)
    colours = [colour[one], colour[one], colour[other]]
    name = named(gallery.people)
    names = [name[one], f"{name[one]}, another recording", name[other]]
    with st.container():
        titles = [f"The same person: W = {same[k]:.3f}", f"Another person: W = {different[k]:.3f}"]
        curves, alt = values[:, k], (f"Quantile functions of filter {k + 1}: two recordings of {name[one]}, "
                                     f"{same[k]:.3f} apart, and one of {name[other]}, {different[k]:.3f} away.")
        _picture(two_pairs(levels, curves, names, colours, titles), "home-pairs", alt,
                 lambda: {"level": levels} | dict(zip(names, curves, strict=True)))
    st.caption(f"Draw {number}: two people, drawn at random; the same number shows the same two again. "
               f"{plain(entry.title)}. The {len(people.people)} people here were never seen in training. "
               f"Filter {k + 1} of {len(order)} is shown because it tells *other* people apart best: AUC "
               f"{look.aucs[k]:.3f} over all pairs of sequences of {len(gallery.part(look.ranked_on).people)} "
               f"{look.ranked_on} people. The page Filters ranks on the people here.")
    _formula(p, same, different, k)
    _usual(look.nearer if p == people.p else failures(folder, checksum, p, k), k, len(people.people))
    farther = int((same < different).sum())
    st.markdown(f"**All {len(order)} filters, the best first.** In {farther} of them the other person is farther away; "
                "the distance is the sum over all. A line leads from the distance to the same person to that to the "
                "other.")
    _picture(all_filters(order, same, different), "home-filters",
             f"Distances in each of {len(order)} filters; in {farther} the other person is farther.",
             lambda: {"filter": order + 1, "same_person": same[order], "another_person": different[order]})


def _picture(html: str, key: str, alt: str, columns) -> None:
    """A picture, and what it shows to take away; pandas is loaded when that is asked for."""
    def data():
        import pandas as pd

        return pd.DataFrame(columns())

    show(html, key, alt)
    exports(key, data, lambda: as_web_page(html, alt))


def _next_draw() -> None:
    st.session_state["home_draw"] = st.session_state["home_draw"] % 9999 + 1


def _formula(p: float, same: np.ndarray, different: np.ndarray, k: int) -> None:
    """The distance in one filter and over all, to the same person and to the other; broken so that a phone has room."""
    power, opening, closing = ("", "", "") if p == 1 else (f"^{{{p:g}}}", r"\Big(", rf"\Big)^{{1/{p:g}}}")
    st.latex(rf"\begin{{aligned}} W_{{{p:g}}} &= {opening}\int_0^1 \big|\bar Q_1(r) - \bar Q_2(r)\big|{power}\,dr"
             rf"{closing} \\ &= {same[k]:.3f} \;\text{{ and }}\; {different[k]:.3f} \end{{aligned}}")
    st.latex(rf"\begin{{aligned}} d_{{{p:g}}} &= \sum_{{k=1}}^{{{len(same)}}} W_{{{p:g}}}\big(\bar Q^{{(k)}}_1, "
             rf"\bar Q^{{(k)}}_2\big) \\ &= {same.sum():.2f} \;\text{{ and }}\; {different.sum():.2f} "
             r"\end{aligned}")


def _verdict(same: np.ndarray, different: np.ndarray, k: int) -> None:
    """An honest sentence on this triple."""
    distances = f"{same.sum():.2f} to themselves, {different.sum():.2f} to the other"
    if same.sum() < different.sum():
        alone = "" if same[k] < different[k] else f" Filter {k + 1} alone would be wrong: that is why there are many."
        st.success(f"**The person is nearer to themselves**: {distances}.{alone}", icon=":material/check_circle:")
    else:
        st.warning(f"**Here the stranger is nearer**: {distances}. From these recordings alone they would be mistaken "
                   "for each other.", icon=":material/warning:")


def _usual(failed, k: int, people: int) -> None:
    """How it goes over all of them."""
    (in_one, triples), (in_all, _) = failed
    st.markdown(f"**How often does it fail?** Over all {triples:,} such triples of these {people} people the stranger "
                f"is nearer in {in_all / triples:.1%}, in filter {k + 1} alone in {in_one / triples:.1%}.")
