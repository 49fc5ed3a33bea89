"""The levels of a quantile layer: even, those that a model has learned, or placed by hand."""

from __future__ import annotations

import numpy as np
import streamlit as st
import torch

from qpwl_core.common.bounds import LEVELS_BY_HAND as MOST
from qpwl_core.common.files import FileError
from qpwl_core.transport.approximation import even_levels
from ui.library.models import Entry, gallery_of, model_of
from ui.quantile_layer.samples import parse_numbers
from ui.shell.frame import KEPT
from ui.shell.text import plain

KINDS = ("even", "learned", "by hand")
CROWDED = {"Crowd the tails": "0.01, 0.03, 0.06, 0.1, 0.3, 0.5, 0.7, 0.9, 0.94, 0.97, 0.99",
           "Crowd the middle": "0.3, 0.35, 0.4, 0.44, 0.47, 0.5, 0.53, 0.56, 0.6, 0.65, 0.7"}
TRY_LEVELS = ({label: {"ql_levels": "by hand", "ql_hand": text} for label, text in CROWDED.items()}
              | {f"M = {m}": {"ql_levels": "even", "M": m} for m in (1, 4, MOST)})


def parse_levels(text: str) -> np.ndarray:
    """Levels placed by hand, both ends added; ValueError says what is wrong. (M+2,)"""
    values = parse_numbers(text, most=MOST)
    if not ((values > 0) & (values < 1)).all():
        raise ValueError("Levels must lie between 0 and 1; both ends are there already.")
    if not (np.diff(values) > 0).all():
        place = int(np.argmax(np.diff(values) <= 0))
        raise ValueError(f"Levels must rise, and {values[place]:g} is followed by {values[place + 1]:g}.")
    return np.concatenate([[0.0], values, [1.0]])


def choose_levels(entry: Entry | None) -> torch.Tensor:
    """The widgets that choose M and the levels; what cannot be used is said, and even levels stand in. (M+2,)"""
    kind = st.segmented_control("Levels", KINDS, default="even", required=True,
                                key="ql_levels", **KEPT)
    points = st.slider("Sampling points M", 1, MOST, 16, key="M", **KEPT, disabled=kind != "even",
                       help="Q̄ is a line through M inner knots and both ends." if kind == "even" else
                       "Only even levels have a free M.")
    even = even_levels(points)
    if kind == "by hand":
        text = st.text_input("Levels by hand", "0.05, 0.2, 0.5, 0.8, 0.95", key="ql_hand", **KEPT,
                             help=f"Up to {MOST} levels between 0 and 1, rising.")
        try:
            return torch.from_numpy(parse_levels(text))
        except ValueError as error:
            st.error(f"{plain(error)} Until then, the levels are even.")
    if kind == "learned":
        try:
            own = entry and (gallery_of(entry).model_levels if entry.has_gallery else model_of(entry).embedder.levels)
            if own is not None:
                st.caption(f"Learned by {plain(entry.title)}.")
                return torch.as_tensor(own).detach().double()
            st.info("This model has learned no levels; choose one with a quantile layer.")
        except FileError as error:
            st.error(f"This model cannot be read: {plain(error)}.")
    return even
