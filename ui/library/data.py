"""The data at hand: registered sets that ship or were downloaded, and what this session uploaded.

An id is the registered name, or ``own:<name>`` for an upload; the pages share the chosen one under the key ``data``.
"""

from __future__ import annotations

import re
from pathlib import PurePath

import numpy as np
import streamlit as st

from qpwl_core.common import bounds
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.text import shown
from qpwl_core.data.datasets import DATASETS, load_dataset
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.domains import DOMAINS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.preprocessing import Recipe, recipe_for
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import Split, split, split_dataset
from ui.library import elsewhere
from ui.library.spaces import uploads_folder
from ui.library.totals import hold
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.visitors.arriving import refusal
from ui.visitors.uploads import Own, Uploads, of_visitor
from ui.visitors.who import visitor

OWN = "own:"
MAX_FILES, MAX_BYTES = bounds.UPLOADS, bounds.VALUES_BYTES_SESSION


def uploads() -> dict[str, Own]:
    """What this session uploaded, by name; in a class what its visitor did."""
    who = visitor()
    if "own_data" not in st.session_state:
        st.session_state["own_data"] = of_visitor(uploads_folder(who), hold) if who else Uploads()
    return st.session_state["own_data"]


def available_data() -> dict[str, str]:
    """What can be used at once, id to title: sets that ship, sets downloaded, this session's uploads."""
    at_hand = {name: title_of(name) for name, dataset in DATASETS.items() if dataset.state in ("shipped", "downloaded")}
    return at_hand | {OWN + name: title_of(OWN + name) for name in uploads()}


def choose_data(everything: bool = False) -> str:
    """The id chosen in the sidebar, kept across pages and in the link; with ``everything`` also what is not at hand.

    Ids are shown as they are, because the link carries what is shown.
    """
    options = [*(DATASETS if everything else ()), *available_data()]
    options = list(dict.fromkeys(options))
    if st.session_state.get("data", options[0]) not in options:
        del st.session_state["data"]
    untouched = "data" not in st.session_state and "data" not in st.query_params
    chosen = st.sidebar.selectbox("Data set", options, key="data", on_change=chosen_by_hand, **KEPT)
    if untouched:
        st.session_state["data_by_default"] = chosen
    st.sidebar.caption(plain(title_of(chosen).partition(" · ")[2]))
    return chosen


def chosen_by_hand() -> None:
    """Callback: what is chosen now holds on all pages; what one page merely opened with does not."""
    st.session_state.pop("data_by_default", None)


def title_of(data: str) -> str:
    """The name a person sees; simulated data says so."""
    if data.startswith(OWN):
        return f"{data.removeprefix(OWN)} · yours"
    dataset = DATASETS[data]
    return f"{data} · {dataset.title}" + (" · SIMULATED" if dict(dataset.info).get("simulated") else "")


def short_name(data: str) -> str:
    """The first word of the title, for where there is little room."""
    return title_of(data).partition(" · ")[0]


def recordings_for(data: str) -> Recordings:
    """The Recordings of an id; nobody changes them. What is not at hand is a RecordingsError that says what to do."""
    if not data.startswith(OWN):
        return recordings_of(data)
    return _own(data).recordings


@st.cache_resource(max_entries=8, show_spinner="Reading the recordings …")
def recordings_of(name: str) -> Recordings:
    """A data set, read once for all sessions; nobody changes it."""
    return load_dataset(name)


def domain_for(data: str) -> str:
    """Eye, gait, eeg or generic: which recipe an id gets."""
    return _own(data).domain if data.startswith(OWN) else _registered(data).domain


def token_of(data: str) -> str:
    """What caches add to an id, so that an upload is never mistaken for another one, or for one treated otherwise."""
    return f"{_own(data).token} {domain_for(data)}" if data.startswith(OWN) else ""


def recipe_of(data: str, **options) -> Recipe:
    """The preprocessing recipe of an id, not fitted yet: as its declaration says, with these options changed."""
    declared = {} if data.startswith(OWN) else dict(_registered(data).recipe_options)
    return recipe_for(domain_for(data), **{**declared, **options})


def split_of(data: str, seed: int = 0) -> Split:
    """The split that a registered set declares; of an upload one half of the people each."""
    recordings = recordings_for(data)
    return split(recordings, seed=seed) if data.startswith(OWN) else split_dataset(_registered(data), recordings, seed)


def people_in(parts: Split) -> dict[str, int]:
    """How many people are learned from and validated on (two sequences make a pair), and tested on."""
    of_part = {part: parts.recordings.subjects[parts.index[part]] for part in ("train", "validation", "test")}
    counts = {part: np.unique(names, return_counts=True)[1] for part, names in of_part.items()}
    return {part: int((each >= (1 if part == "test" else 2)).sum()) for part, each in counts.items()}


def training_problem(data: str) -> str:
    """Why these recordings cannot be trained on, in a sentence; empty where they can."""
    try:
        people = people_in(split_of(data))
    except RecordingsError as error:
        return f"Train cannot use these recordings: {error}."
    if people["train"] >= 2 and people["validation"]:
        return ""
    return ("Train cannot use these recordings: half of the people are held out for the test, and of the others two "
            f"with two sequences each must be left to learn from and one to validate on; here {people['train']} "
            f"{'is' if people['train'] == 1 else 'are'} left to learn from and {people['validation']} to validate on.")


def take_upload(file, filename: str, rate: float | None = None, domain: str | None = None) -> str:
    """Read an uploaded file and keep it in this session; returns its id. A RecordingsError says what is wrong."""
    if filename != PurePath(filename).name or "\\" in filename or filename.startswith("."):
        raise RecordingsError(f"a file must have a plain name, without a path, not {shown(filename)}")
    name = re.sub(r"[^\w.-]+", "-", PurePath(filename).stem)[:60] or "upload"
    if why := refusal(file):
        raise RecordingsError(why)
    kept = uploads()
    if name not in kept and len(kept) >= MAX_FILES:
        raise RecordingsError(f"a session keeps at most {MAX_FILES} uploads: remove one first")
    try:
        file.seek(0)
        content = np.frombuffer(file.read(), np.uint8)                   # an array is handed over without a copy
        found = in_child(elsewhere.read, content, filename, rate, MAX_BYTES)
    except ChildError as error:
        raise RecordingsError(f"{shown(filename)} cannot be read here: {error}") from None
    except RecordingsError as error:           # on a page nobody passes an argument
        raise RecordingsError(str(error).replace(
            "or pass rate=250", "or give its rate on the page Data, under Your own")) from None
    hold(found, [own.recordings for key, own in kept.items() if key != name])
    if domain is None:
        says = found.info.get("domain", "")
        of_file = "eeg" if filename.lower().endswith((".edf", ".bdf", ".fif")) else "generic"
        domain = says if says in DOMAINS else of_file
    kept[name] = Own(name, found, domain, filename)
    return OWN + name


def _own(data: str) -> Own:
    name = data.removeprefix(OWN)
    if name not in uploads():
        raise RecordingsError(f"{shown(name)} was uploaded in another session, or removed: upload it again")
    return uploads()[name]


def _registered(data: str) -> Dataset:
    if data not in DATASETS:
        raise RecordingsError(f"there is no data set {shown(data)}")
    return DATASETS[data]


def fits(data: str, card: dict) -> bool:
    """Whether a model with this card can read a data set at hand: the same domain, and all channels that it wants."""
    channels = _own(data).recordings.channels if data.startswith(OWN) else _registered(data).channels
    return domain_for(data) == card["config"]["domain"] and set(card["recipe"].get("channels") or ()) <= set(channels)
