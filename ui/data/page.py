"""Data: who was recorded, one sequence beside another, the split, what the network sees, and one's own recordings."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.sheets import safe_of
from qpwl_core.data.datasets import DATASETS, datasets_table
from qpwl_core.data.errors import RecordingsError
from ui.data.own import own_view
from ui.data.views import people_view, recipe_view, sentence_of, sequences_view, split_view
from ui.library.data import OWN, choose_data, recordings_for
from ui.library.downloads import download_panel
from ui.shell.frame import KEPT, setup_page
from ui.shell.text import plain
from ui.shell.words import glossary

VIEWS = {"People": people_view, "Sequences": sequences_view, "Split": split_view, "Recipe": recipe_view}
STATES = {"shipped": "green", "downloaded": "green", "downloadable": "blue", "by hand": "orange"}
YOURS = "Your own"


def show() -> None:
    """The whole page."""
    setup_page("Data", "Who was recorded, for how long, and what does the network see of it?")
    data = choose_data(everything=True)
    dataset = DATASETS.get(data)
    every = st.sidebar.expander("All data sets", icon=":material/list:", on_change="rerun", key="data_all")
    if every.open:
        every.dataframe(safe_of(datasets_table())[["name", "subjects", "state"]], hide_index=True)

    glossary("sequence", "stimulus", "split", "validation", "recipe")
    view = st.segmented_control("View", [*VIEWS, YOURS], default="People", required=True, key="data_view",
                                label_visibility="collapsed", **KEPT)
    if view == YOURS:
        own_view()
        return

    recordings = None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(plain(dataset.title[0].upper() + dataset.title[1:]) if dataset else plain(data.removeprefix(OWN)),
                     width="content")
        st.badge(dataset.state if dataset else "yours", color=STATES[dataset.state] if dataset else "violet")
        if dataset and dict(dataset.info).get("simulated"):
            st.badge("simulated: no person was recorded", icon=":material/science:", color="orange")

    if dataset is not None and dataset.state not in ("shipped", "downloaded"):
        st.markdown(f"{dataset.subjects} people, {len(dataset.channels)} channels at {dataset.rate:g} Hz. "
                    "It is not on this computer yet.")
        download_panel(dataset)
    else:
        try:
            recordings = recordings_for(data)
        except RecordingsError as error:
            st.error(sentence_of(error), icon=":material/error:")

    if recordings is not None:
        VIEWS[view](data)

    st.divider()
    if dataset is not None:
        source = f"[Official source]({dataset.url})" if dataset.url.startswith("https://") else plain(dataset.url)
        st.caption(f"**Licence**: {plain(dataset.licence)}. **Cite**: {plain(dataset.citation)}. {source}")
    else:
        st.caption("Yours: it stays in this session, on this computer, and in a run that trains on it until that ends.")
