"""Does the Wasserstein distance see more than cosine: three distances on one embedding, and what decides a pair."""

from __future__ import annotations

import streamlit as st

from qpwl_core.models.methods import METHODS
from ui.distances import views
from ui.library.comparisons import comparison_of
from ui.library.models import choose_model, gallery_or_stop
from ui.shell.controls import EXTREMES, choose_p, choose_points, try_presets
from ui.shell.frame import KEPT, setup_page
from ui.shell.text import plain

MOST = 400               # sequences in a picture
VIEWS = {"histograms": ("Histograms", views.as_histograms), "matrices": ("Matrices", views.as_matrices),
         "maps": ("Maps", views.as_maps), "disagree": ("Where they disagree", views.disagree)}


def show() -> None:
    """The whole page."""
    setup_page("Distances", "Does the Wasserstein distance see more than cosine?")
    entry = choose_model()
    if entry is None:
        return
    gallery = gallery_or_stop(entry)
    test = gallery.part("test")
    st.markdown("The same people, the same embeddings, three ways to compare them. Move p and M: nothing is "
                "trained again.")

    @st.fragment
    def explore() -> None:
        """All that follows p and M; of the page only this is drawn again."""
        order, levels_of, how_many, presets = st.columns([1, 1.2, 1, 0.9], gap="large")
        with order:
            p = choose_p(gallery.p)
        with levels_of:
            points = choose_points(gallery)
        with how_many:
            most = max(3, min(30, MOST // len(test.people)))
            each = st.slider("Sequences of each person", 2, most, min(8, most), key="distances_each", **KEPT)
        with presets:
            try_presets({"Only the largest differences: p = 8": {"p": 8.0}} | EXTREMES)
        try:
            found = comparison_of(str(entry.folder), entry.card["sha256"], each, points, p, test)
        except ValueError as error:
            st.info(f"This gallery has nothing to compare: {plain(str(error))}.", icon=":material/group:")
            return
        shown = views.Shown(entry, gallery, found, points, p, each)
        formula(shown)
        view = st.segmented_control("View", list(VIEWS), format_func=lambda name: VIEWS[name][0], default="histograms",
                                    required=True, key="distances_view", label_visibility="collapsed", **KEPT)
        VIEWS[view][1](shown)

    explore()


def formula(shown: views.Shown) -> None:
    """The three distances, and which of them tells these people apart best."""
    p, (filters, knots) = shown.p, shown.seen.values.shape[1:]
    power, root = ("", "") if p == 1 else (f"^{{{p:g}}}", f"^{{1/{p:g}}}")
    st.latex(rf"W = \sum_{{k=1}}^{{{filters}}} \Big(\int_0^1 \big|\bar Q_k^a(r) - \bar Q_k^b(r)\big|{power}\,dr\Big)"
             rf"{root}\qquad \cos = \frac{{a \cdot b}}{{|a|\,|b|}}\qquad |a - b|\qquad a, b \in "
             rf"\mathbb{{R}}^{{{filters} \times {knots - 2}}}")
    aucs, method = shown.found.aucs, METHODS[shown.gallery.method]
    better = aucs["wasserstein"] > aucs["cosine"]
    verdict = "tells these people apart better than" if better else "is no better here than"
    st.markdown(
        f"**{shown.names['wasserstein']} {verdict} cosine**: AUC {aucs['wasserstein']:.3f} against "
        f"{aucs['cosine']:.3f}, Euclidean {aucs['euclidean']:.3f}, over {shown.genuine:,} genuine and "
        f"{shown.imposters:,} imposter pairs of {len(shown.subjects)} sequences of {len(set(shown.subjects))} test "
        f"people. This model, {method.title}, was trained to be compared by "
        f"{method.distance.replace('w', 'W')}"
        f"{'' if shown.gallery.own is not None else ', on another summary of its filters than quantiles'}.")
