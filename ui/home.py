"""The home page: what this is, shown on three real recordings."""

import streamlit as st
import torch

from qpwl_core.distances import pairwise_wasserstein
from qpwl_core.quantiles import QuantileLayer
from ui.figures.quantiles import quantile_functions
from ui.page import COLOURS, recordings_of, setup_page

setup_page("QP-WL Lab", "Can a person be told by the distribution of a signal?")
st.markdown("""
A recording of gait, gaze or EEG is a sequence of numbers. **QP-WL** keeps the whole distribution of what it
sees in one, as a *quantile function*, and compares two recordings by the *Wasserstein distance* between those
functions: how far the one distribution must be moved to become the other. Below are two walks of one person
and one of another, measured by a phone at the waist; no network is involved yet.
""")

walks = recordings_of("gait-hapt-30").select(stimuli=["walking@session1", "walking@session2"])
people = sorted(set(walks.subjects.tolist()))
units = {"acc": "g", "gyr": "rad/s"}

controls, picture = st.columns([1, 2.4], gap="large")
with controls:
    one = st.selectbox("One person", people, index=0, key="one", bind="query-params")
    other = st.selectbox("Another person", people, index=4, key="other", bind="query-params")
    channel = st.selectbox("Signal", walks.channels, index=0, key="signal", bind="query-params")
    points = st.slider("Sampling points M", 1, 64, 16, key="M", bind="query-params",
                       help="Q̄ is a line through the values at M levels between 0 and 1, and at both ends.")
    p = st.slider("Order p", 1.0, 8.0, 1.0, 0.5, key="p", bind="query-params",
                  help="p = 1 weighs all differences alike; a larger p looks at the largest ones.")

if one == other:
    picture.info("Choose two different people to compare.", icon=":material/group:")
    st.stop()

names = [f"Person {one}, first walk", f"Person {one}, second walk", f"Person {other}"]
own, foreign = walks.select(subjects=one).sequences, walks.select(subjects=other).sequences
if len(own) < 2:
    picture.info(f"Person {one} has only one walk; choose another.", icon=":material/directions_walk:")
    st.stop()
column = walks.channels.index(channel)
layer = QuantileLayer(points, learn_levels=False)
embeddings = torch.stack([layer(torch.from_numpy(s[None, :, column].copy())[None])[0]
                          for s in (own[0], own[1], foreign[0])])               # (3, 1, M+2)
distances = pairwise_wasserstein(embeddings, embeddings, layer.levels, p)       # (3, 3)
same, different = distances[0, 1].item(), distances[0, 2].item()

with picture:
    colours = dict(zip(names, (COLOURS[0], COLOURS[4], COLOURS[5]), strict=True))
    unit = units[channel[:3]]
    figure = quantile_functions(dict(zip(names, embeddings[:, 0].numpy(), strict=True)), layer.levels.numpy(), colours,
                                dashed=names[1:2], unit=unit)
    st.plotly_chart(figure, key="functions", config={"displaylogo": False})
    left, right = st.columns(2)
    left.metric(f"Person {one} to themselves", f"{same:.4f} {unit}", border=True)
    right.metric(f"Person {one} to person {other}", f"{different:.4f} {unit}", border=True)
    st.latex(rf"W_{{{p:g}}} = \Big(\int_0^1 \big|\bar Q_1(r) - \bar Q_2(r)\big|^{{{p:g}}}\,dr\Big)^{{1/{p:g}}}"
             rf"\qquad {same:.4f} \;\; \text{{against}} \;\; {different:.4f}")
    if same < different:
        st.success("The two walks of one person are closer: on this signal they could be told apart.",
                   icon=":material/check_circle:")
    else:
        st.warning("Here the stranger is closer. One raw signal is not enough: that is what the network is for.",
                   icon=":material/warning:")

st.caption("Real recordings: UCI HAPT (Reyes-Ortiz et al. 2015), CC BY 4.0. Method: Abdelwahab & Landwehr, Deep "
           "Distributional Sequence Embeddings Based on a Wasserstein Loss.")
