"""How the page says what it found: the verdict, the formula with its numbers, and what the line rests on."""

from __future__ import annotations

import numpy as np
import streamlit as st

from qpwl_core.models.gallery import Gallery
from ui.library.comparisons import ranking_of
from ui.library.models import Entry, gallery_of
from ui.sign.judging import Judged, Settings

YOU = ("check_circle", "green"), ("help", "orange")            # looks of a verdict on the owner: in, out
OTHER = ("lock_open", "red"), ("lock", "green")                # and on somebody else, whom one wants out


def show_verdict(judged: Judged, i: int, yes: str, no: str, looks=YOU) -> None:
    """In or out, large, and the formula with its numbers."""
    accepted = bool(judged.accepted[i])
    (mark, colour), text = (looks[0], yes) if accepted else (looks[1], no)
    st.markdown(f"## :{colour}[:material/{mark}: {text}]")
    sign = r"\le" if accepted else ">"
    st.latex(rf"d = {judged.d[i]:.3g} \;{sign}\; {judged.threshold:.3g} = \theta s")


def show_line(judged: Judged, settings: Settings) -> None:
    """What the line is and what it rests on."""
    rule = judged.rule
    rates = rule.rates(judged.theta)
    said = {"owners": "of owners are sent away", "forgers": "of skilled forgers get in",
            "strangers": "of strangers get in"}
    shares = ", ".join(f"{rates[kind]:.0%} {words}" for kind, words in said.items() if rates[kind] is not None)
    with st.expander("What is the line?", icon=":material/straighten:"):
        st.latex(rf"\theta \cdot s = {judged.theta:.2f} \cdot {judged.spread:.3g} = {judged.threshold:.3g}")
        st.latex(r"d(n) = \frac1n \sum_{i=1}^{n} \min_{j} \; d_p(s_i, e_j) \;\le\; \theta \cdot s")
        own = ("the geometric mean of how much *your* signatures differ from each other and how much a typical "
               "person's do, so few signatures do not fool it" if rule.own else
               "how much a typical person's signatures differ from each other")
        st.markdown(f"$d_p$ is the sum over filters of Wasserstein distances, here with p = {settings.p:g}. $e_j$ are "
                    f"the enrolled signatures, $s_i$ the last n of whoever tries, n = {rule.n}. $s$ = "
                    f"{judged.spread:.3g} is {own} (typical: {rule.typical:.3g}). $\\theta$ = {judged.theta:.2f} was "
                    f"set on {rule.people} people whom the model never learned from, with {rule.enrolled} signatures "
                    f"enrolled: there {shares}.")


def best_filters(entry: Entry, count: int = 3) -> np.ndarray:
    """The filters that tell the model's held-out people apart best, by their AUC alone. (count,)"""
    gallery = gallery_of(entry)
    found = ranking_of(str(entry.folder), entry.card["sha256"], None, gallery.p, gallery.part("test"))
    return np.argsort(-found.aucs, kind="stable")[:count]


def at_levels(gallery: Gallery, settings: Settings, filters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantile functions of some filters as they are compared, and their levels. -> (n, F, L), (L,)"""
    seen = gallery.embeddings(settings.points)
    return seen.values.numpy()[:, filters], seen.levels.numpy()
