"""Does the Wasserstein distance see more than cosine: three distances on one embedding, and what decides a pair."""

from __future__ import annotations

import streamlit as st

from qpwl_core.evaluation.bootstrap import Resampled
from qpwl_core.models.methods import METHODS
from qpwl_core.transport.distances import MEASURES
from ui.distances import views
from ui.distances.over_p_and_m import over_p_and_m
from ui.library.comparisons import comparison_of
from ui.library.models import choose_model, gallery_or_stop
from ui.library.tuning import resampled_by
from ui.shell.controls import EXTREMES, WIDE, choose_p, choose_points, try_presets
from ui.shell.frame import KEPT, setup_page
from ui.shell.refusals import in_a_sentence
from ui.shell.text import plain
from ui.shell.words import glossary, why_aucs_differ

MOST = 400               # sequences in a picture
VIEWS = {"histograms": ("Histograms", views.as_histograms), "matrices": ("Matrices", views.as_matrices),
         "maps": ("Maps", views.as_maps), "disagree": ("Where they disagree", views.disagree),
         "tune": ("Over p and M", over_p_and_m)}
VALUES = {"all": "all M + 2 values, as W does", "inner": "as in the paper: the M inner ones"}


def show() -> None:
    """The whole page."""
    setup_page("Distances", "Does the Wasserstein distance see more than cosine?")
    entry = choose_model()
    if entry is None:
        return
    gallery = gallery_or_stop(entry)
    test = gallery.part("test")
    st.markdown("The same people, the same values of each filter, three ways to compare them. Move p and M: nothing is "
                "trained again.")
    glossary("genuine", "imposter", "AUC", "gallery", "draw", "n", "Q̄")

    @st.fragment
    @in_a_sentence()
    def explore() -> None:
        """All that follows p and M; of the page only this is drawn again."""
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
        with row:
            p = choose_p(gallery.p, width=WIDE)
            points = choose_points(gallery, width=WIDE)
        with row, st.popover("More", icon=":material/tune:"):        # what few will turn
            values = st.selectbox("Cosine and Euclid see", list(VALUES), format_func=VALUES.get, key="distances_values",
                                  width=WIDE, **KEPT,
                                  help="W compares whole functions: values at M levels and at both ends. The paper's "
                                       "QP-NPL gives cosine the M inner ones alone; to compare like with like, all "
                                       "three see the same.")
            most = max(3, min(30, MOST // len(test.people)))
            each = st.slider("Sequences per person, in pictures", 2, most, min(8, most), key="distances_each",
                             width=WIDE, **KEPT)
        with row:
            try_presets({"Only the largest differences: p = 8": {"p": 8.0}} | EXTREMES)
        inner = values == "inner"
        try:
            found = comparison_of(str(entry.folder), entry.card["sha256"], each, points, p, inner, test)
            sure = {measure: resampled_by(str(entry.folder), entry.card["sha256"], measure, points, p, inner)
                    for measure in MEASURES}
        except ValueError as error:
            st.info(f"This gallery has nothing to compare: {plain(str(error))}.", icon=":material/group:")
            return
        shown = views.Shown(entry, gallery, found, points, p, each, inner)
        verdict(shown, sure)
        view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="histograms",
                                    required=True, key="distances_view", label_visibility="collapsed", **KEPT)
        VIEWS[view][1](shown)
        formula(shown)

    explore()
    why_aucs_differ()


def formula(shown: views.Shown) -> None:
    """The three distances."""
    p, (filters, knots) = shown.p, shown.seen.values.shape[1:]
    power, root = ("", "") if p == 1 else (f"^{{{p:g}}}", f"^{{1/{p:g}}}")
    st.latex(rf"\begin{{gathered}} W = \sum_{{k=1}}^{{{filters}}} \Big(\int_0^1 \big|\bar Q_k^a(r) - \bar Q_k^b(r)\big|"
             rf"{power}\,dr\Big){root} \\ \cos = \frac{{a \cdot b}}{{|a|\,|b|}}\quad |a - b|\quad a, b \in "
             rf"\mathbb{{R}}^{{{filters} \times {knots - 2 * shown.inner}}} \end{{gathered}}")


def verdict(shown: views.Shown, sure: dict[str, Resampled]) -> None:
    """Which distance separates these people best, as far as these people can show it."""
    of_w, method = shown.names["wasserstein"], METHODS[shown.gallery.method]
    apart = sure["wasserstein"].minus(sure["cosine"])
    if apart["low"] <= 0 <= apart["high"]:
        says = f"{of_w}, against cosine: no difference that these people could show"
    elif apart["difference"] > 0:
        says = f"{of_w}, separates these people better than cosine"
    else:
        says = f"Cosine separates these people better than {of_w}"
    nearest = min(apart["low"], apart["high"], key=abs)
    barely = "" if apart["low"] <= 0 <= apart["high"] or round(nearest, 3) else (
        f"; its nearer end is {nearest:+.6f}, so only just")         # what decides is seen, also behind zeros
    aucs = {measure: f"{each.auc:.3f}" for measure, each in sure.items()}
    st.markdown(
        f"**{says}.** AUC {aucs['wasserstein']} against {aucs['cosine']}, Euclidean {aucs['euclidean']}; W minus "
        f"cosine is {apart['difference']:+.3f}, and with other people it could have been {apart['low']:+.3f} to "
        f"{apart['high']:+.3f} (95 % interval, people resampled{barely}).")
    other = "" if shown.gallery.model_levels is not None else ", on another summary of its filters than quantiles"
    st.caption(f"AUC of verification: nearest of the enrolled, n = 1, mean of ten draws, {len(shown.test.people)} test "
               f"people, all their {len(shown.test)} sequences. This model, {method.title}, was trained to be compared "
               f"by {method.distance.replace('w', 'W')}{other}.")
