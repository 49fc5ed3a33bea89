"""Which filters tell people apart: all of them ranked, one of them large, and where in a recording it fires."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ui.filters.responses import show_firing
from ui.filters.views import all_of_them, one_large
from ui.library.comparisons import filter_interval, ranking_of
from ui.library.models import choose_model, gallery_or_stop
from ui.shell.controls import EXTREMES, WIDE, choose_p, choose_people, choose_points, forget_unknown, try_presets
from ui.shell.frame import KEPT, setup_page
from ui.shell.refusals import in_a_sentence
from ui.shell.text import plain
from ui.shell.words import AUC_KINDS, glossary, why_aucs_differ

VIEWS = {"all": "All filters", "one": "One filter, large", "fires": "Where it fires"}


def show() -> None:
    """The whole page."""
    setup_page("Filters", "Which filters tell people apart?")
    entry = choose_model()
    if entry is None:
        return
    gallery = gallery_or_stop(entry)
    test = gallery.part("test")
    people = test.people
    glossary("AUC", "genuine", "imposter", "gallery", "Q̄", "M", "p")

    @st.fragment
    @in_a_sentence()
    def explore() -> None:
        """All that follows p, M and the people; of the page only this is drawn again."""
        row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
        of_filter, of_view = row.container(width=150), row.container(width="content")
        row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
        with row:
            p = choose_p(gallery.p, width=WIDE)
            points = choose_points(gallery, width=WIDE)
        with row.popover("People", icon=":material/group:"):
            chosen = choose_people("People in colour", people, people[:5], "filters_people", max_selections=8,
                                   help="None of them was seen in training. The ranking uses all test people.")
        try:
            found = ranking_of(str(entry.folder), entry.card["sha256"], points, p, test)
        except ValueError as error:
            st.info(f"Filters cannot be ranked on this gallery: {plain(str(error))}.", icon=":material/group:")
            return
        if not chosen:
            st.info("Choose a person or more to draw.", icon=":material/group:")
            return
        with row:
            best, weakest = int(found.aucs.argmax()) + 1, int(found.aucs.argmin()) + 1
            try_presets({"The best filter": {"filter": best, "filters_view": "one"},
                         "The weakest filter": {"filter": weakest, "filters_view": "one"}} | EXTREMES)
        best_first = np.argsort(-found.aucs, kind="stable")
        options = (best_first + 1).tolist()
        forget_unknown("filter", options)
        number = of_filter.selectbox("Filter, best first", options, key="filter", **KEPT, format_func=(
            lambda each: str(each) if gallery.pyramid == "1" else gallery.filter_name(each - 1)))
        view = of_view.segmented_control("View", list(VIEWS), format_func=VIEWS.get, default="all", required=True,
                                         key="filters_view", label_visibility="collapsed", width="content", **KEPT)
        if view == "all":
            all_of_them(gallery, found, chosen, best_first, points, p)
        elif view == "one":
            st.subheader(f"{gallery.filter_name(number - 1).capitalize()}: AUC {found.aucs[number - 1]:.3f} over all "
                         f"pairs, number {options.index(number) + 1} of {len(options)}")
            low, high = filter_interval(str(entry.folder), entry.card["sha256"], points, p, number - 1, test)
            st.caption(f"With other people in place of these {found.people} it could have been {low:.3f} to {high:.3f} "
                       f"(95 % interval, people resampled). {AUC_KINDS['all pairs']}")
            one_large(gallery, number, chosen, points)
        else:
            of_network = (number - 1) % gallery.filters           # of a pyramid the same filter looks at every piece
            st.subheader(f"Where filter {of_network + 1} fires")
            show_firing(entry, of_network)

    explore()
    why_aucs_differ()
