"""With no model at hand: the raw signals of two people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
import torch

from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from ui.library.data import recordings_of
from ui.shell.charts import chart
from ui.shell.controls import choose_p, choose_person
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS
from ui.shell.people import called, name_of, named
from ui.shell.text import plain


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
        st.latex(rf"\begin{{gathered}} W_{{{p:g}}} = \Big(\int_0^1 \big|\bar Q_1(r) - \bar Q_2(r)\big|^{{{p:g}}}\,dr"
                 rf"\Big)^{{1/{p:g}}} \\ {same:.4f} \; \text{{ against }} \; {different:.4f} \end{{gathered}}")
        if same < different:
            st.success("The two walks of one person are closer: on this signal they could be told apart.",
                       icon=":material/check_circle:")
        else:
            st.warning("Here the stranger is closer. One raw signal is not enough: that is what the network is for.",
                       icon=":material/warning:")


def quantile_functions(curves: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str],
                       dashed: tuple[str, ...] = (), unit: str = "") -> go.Figure:
    """Q̄ of several sequences, one line each, with its knots."""
    figure = go.Figure()
    for name, values in curves.items():
        figure.add_scatter(
            x=levels, y=values, name=name, mode="lines+markers", marker_size=5,
            line={"color": colours[name], "width": 2.5, "dash": "dot" if name in dashed else "solid"},
            hovertemplate=f"{name}<br>%{{x:.0%}} of all samples lie below %{{y:.3g}} {unit}<extra></extra>")
    figure.update_layout(
        margin={"l": 10, "r": 10, "t": 10, "b": 10}, height=420, legend={"orientation": "h", "y": 1.12},
        xaxis={"title": "level r", "tickformat": ".0%", "range": [-0.01, 1.01]},
        yaxis={"title": f"Q̄(r){f' in {unit}' if unit else ''}"}, hovermode="closest")
    return figure
