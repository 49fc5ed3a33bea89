"""The last section of the Filters page: run the network on one recording and mark where a filter fires."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.common.bounds import DRAWN_SAMPLES as LONGEST
from qpwl_core.common.child import in_child
from qpwl_core.common.files import FileError
from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.model import Model
from qpwl_core.models.responses import shortened
from ui.filters.figures import firing
from ui.library import elsewhere
from ui.library.data import available_data, domain_for, recordings_for, short_name, title_of
from ui.library.models import Entry, model_of
from ui.shell.charts import chart
from ui.shell.controls import WIDE, choose_person, forget_unknown
from ui.shell.frame import KEPT
from ui.shell.text import plain

CHANNELS = 6             # drawn at first


def show_firing(entry: Entry, k: int) -> None:
    """Controls and picture for filter k of a model; where no fitting recording is at hand, say so and what to do."""
    try:
        model = model_of(entry)
        fits = fitting_data(model)
        if not fits:
            st.info("The recordings that this model was made with do not ship, and no others that fit are at hand. "
                    "Download them, or upload your own with the same channels, on the Data page; what the filter saw "
                    "in them is under *One filter, large*.", icon=":material/database:")
            st.page_link("pages/data.py", label="Get recordings", icon=":material/database:")
            return
        one, name, r, channels = _controls(entry, model, fits)
        response = in_child(elsewhere.responses, str(entry.folder), one)
    except (FileError, ValueError) as error:
        st.info(f"{plain(str(error))[:1].upper()}{plain(str(error))[1:]}.", icon=":material/info:")
        return
    one = shortened(one)
    raw = one.sequences[0]
    seconds = np.arange(len(raw)) / one.rate
    fires, threshold = response.above(k, r, seconds), response.threshold(k, r)
    strongest = response.seconds[response.values[k].argmax()]
    field = (max(0.0, strongest - response.field / 2), min(seconds[-1], strongest + response.field / 2))
    drawn = {channel: raw[:, one.channels.index(channel)] for channel in channels}
    chart(firing(seconds, drawn, fires, response.seconds, response.values[k], threshold, field), "filters-firing",
          f"{len(channels)} raw channels over {seconds[-1]:.0f} seconds, marked where filter {k + 1} fires",
          lambda: pd.DataFrame({"seconds": seconds, "fires": fires} | drawn))
    st.latex(rf"\text{{fires where}}\quad \Gamma_{{{k + 1}}}(t) \ge \tilde Q_{{{k + 1}}}({r:g}) = {threshold:.3g}")
    st.caption(f"One frame every {response.step * 1000:.0f} ms, each sees {response.field:.2f} s.")
    remark = " **These recordings are simulated**; the model was trained on real ones." if one.simulated else ""
    long = f" Only the first {LONGEST} samples are looked at." if len(raw) == LONGEST else ""
    st.caption(f"Orange lines: where the filter is in the top {1 - r:.0%} of its values in this recording. Shaded: all "
               f"that the strongest frame sees, its receptive field.{long}{remark} Data: {plain(name)}.")


def fitting_data(model: Model) -> dict[str, str]:
    """Data at hand that the network can read, id to title: the same domain, and all channels that it wants."""
    wanted, found = set(model.recipe.channels), {}
    for data in available_data():
        if domain_for(data) == model.config.domain:
            given = set(DATASETS[data].channels if data in DATASETS else recordings_for(data).channels)
            if wanted == given or (wanted <= given and model.recipe.recipe.picks):
                found[data] = title_of(data)
    return found


def _controls(entry: Entry, model: Model, fits: dict[str, str]) -> tuple[Recordings, str, float, list[str]]:
    """One recording, where it is from, the quantile r and the channels to draw."""
    row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    forget_unknown("filters_data", list(fits))
    data = row.selectbox("Recordings", list(fits), format_func=short_name, key="filters_data", width=WIDE, **KEPT)
    recordings = recordings_for(data)
    split = entry.card.get("split") or {}
    people = sorted(recordings.people, key=lambda person: (person not in split.get("test", []), person))
    person = choose_person("Person", people, "filters_person", row, width=WIDE)
    own = recordings.select(subjects=person)
    names = [f"{i + 1}" + (f" · {stimulus}" if own.stimuli is not None else "")
             for i, stimulus in enumerate(own.stimuli if own.stimuli is not None else own.subjects)]
    forget_unknown("filters_sequence", names)
    sequence = row.selectbox("Recording", names, key="filters_sequence", width=WIDE, **KEPT)
    r = row.slider("Fires above its quantile r", 0.5, 0.99, 0.9, 0.01, key="filters_r", width=WIDE, **KEPT)
    channels = list(model.recipe.channels)
    with st.expander("Channels", icon=":material/tune:"):
        forget_unknown("filters_channels", channels)
        drawn = st.multiselect("Channels to draw", channels, channels[:CHANNELS], key="filters_channels",
                               max_selections=16, **KEPT)
    kind = next((part for part in ("train", "validation", "test") if person in split.get(part, [])), None)
    known = {"train": "a person it was trained on", "validation": "a person it was validated on",
             "test": "a person it never saw in training", None: "a person of another set"}[kind]
    return own.select(index=[names.index(sequence)]), f"{fits[data]}; {known}", r, drawn or channels[:CHANNELS]
