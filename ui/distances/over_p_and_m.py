"""AUC over p and over M: three distances on one model, other models beside, the present setting marked."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from ui.distances.views import Shown
from ui.library.models import Entry, distinct_titles, entries, gallery_of
from ui.library.tuning import has_order, over_p, over_points, resampled_by, without_p
from ui.shell.charts import chart
from ui.shell.controls import forget_unknown
from ui.shell.curves import over_setting
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS
from ui.shell.quoted import what_the_study_found

MOST = 4                                     # other models in one picture


def over_p_and_m(shown: Shown) -> None:
    """Two curves with their intervals over people; a click goes there."""
    st.markdown("AUC of verification for every p and every M, from the galleries: nothing is trained again. Shaded: "
                "the 95 % interval over people; where the bands overlap widely, these people cannot rank the settings. "
                "**Click a point to go there.**")
    others = choose_beside(shown)
    by_w = shown.names["wasserstein"]
    looks = dict(zip((by_w, "Cosine", "Euclidean"), ({"color": c} for c in COLOURS[:3]), strict=True))
    looks |= {label: {"color": COLOURS[3 + i], "dash": "dot"} for i, label in enumerate(others)}
    learned = shown.points is None and shown.gallery.model_levels is not None
    m_now = shown.points or (len(shown.gallery.model_levels) - 2 if learned else 16)
    now = resampled_by(*shown.key, "wasserstein", shown.points, shown.p).auc
    theirs = {label: resampled_by(*key_of(entry), None, None, None).auc for label, entry in others.items()}

    def to_p(point: dict) -> None:
        st.session_state["p"] = float(point["x"])

    def to_points(point: dict) -> None:
        st.session_state.update(M=int(point["x"]), levels="even")

    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**AUC over p**, at {'the learned levels' if learned else f'M = {m_now}'}")
        tables = {by_w: over_p(*shown.key, "wasserstein", shown.points)}
        tables |= {name: without_p(*shown.key, name.lower(), shown.points, shown.inner)
                   for name in ("Cosine", "Euclidean")}
        tables |= {label: (over_p if has_order(entry) else without_p)(*key_of(entry), None, None)
                   for label, entry in others.items()}
        present = {by_w: (shown.p, now)} | {label: (gallery_of(entry).p, theirs[label])
                                            for label, entry in others.items() if has_order(entry)}
        chart(over_setting(tables, looks, "p", "order p", present), "distances-over-p",
              f"AUC over p from 1 to 8; now p = {shown.p:g}, {now:.3f}", lambda: together(tables), on_click=to_p)
    with right:
        st.markdown(f"**AUC over M**, even levels, at p = {shown.p:g}")
        of_points = {by_w: over_points(*shown.key, "wasserstein", shown.p),
                     "Cosine": over_points(*shown.key, "cosine", shown.p, shown.inner),
                     "Euclidean": over_points(*shown.key, "euclidean", shown.p, shown.inner)}
        of_points |= {label: over_points(*key_of(entry), None, None) for label, entry in others.items()}
        present = {by_w: (m_now, now)} | {label: (len(gallery_of(entry).model_levels) - 2, theirs[label])
                                          for label, entry in others.items()}
        chart(over_setting(of_points, looks, "M", "sampling points M", present), "distances-over-m",
              f"AUC over M from 1 to 64 by three distances and {len(others)} other models; now M = {m_now}",
              lambda: together(of_points), on_click=to_points)
    if learned:
        st.caption("A diamond on the right: a model as it is, at the levels it learned; the curve is at even ones.")
    st.caption("Nearest of the enrolled, n = 1, mean of ten draws, all test people and their sequences. Other models: "
               "dotted, by the distance that each was trained for, with its own p. What has no p is a level line.")
    what_the_study_found("no")


def choose_beside(shown: Shown) -> dict[str, Entry]:
    """Other models of quantiles, tested on the same people: what a picture calls them -> entry."""
    alike = {entry.id: entry for entry in entries() if entry.id != shown.entry.id and entry.has_gallery
             and entry.card.get("set") == shown.entry.card.get("set") and gallery_of(entry).model_levels is not None
             and gallery_of(entry).part("test").people == shown.test.people}
    if not alike:
        return {}
    titles = distinct_titles(alike.values())
    forget_unknown("distances_beside", list(alike))
    shipped = [name for name, entry in alike.items() if entry.kind == "ships"]
    chosen = st.multiselect("Other models beside", list(alike), shipped[:1], key="distances_beside", **KEPT,
                            max_selections=MOST, format_func=titles.__getitem__,
                            help="Models tested on the same people.")
    return {escape(titles[name]): alike[name] for name in chosen}


def key_of(entry: Entry) -> tuple[str, str]:
    """Whose gallery."""
    return str(entry.folder), entry.card["sha256"]


def together(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """All curves of a picture as one table."""
    return pd.concat([each.assign(curve=name) for name, each in tables.items()])
