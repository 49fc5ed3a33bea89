"""Where samples come from: a walk through the network, a filter in a gallery, a drawn mixture, pasted numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from qpwl_core.common.bounds import LINK_LENGTH as LINK
from qpwl_core.common.bounds import TYPED as MOST
from qpwl_core.common.bounds import TYPED_NUMBER as LARGEST
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.files import FileError
from qpwl_core.models.methods import METHODS
from qpwl_core.transport.toy_samples import SHAPES, Bump, draw_again, draw_mixture
from ui.library import elsewhere
from ui.library.data import recordings_of
from ui.library.models import Entry, entries, gallery_of, model_of
from ui.shell.controls import choose_person
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS, colours_of
from ui.shell.text import plain

WALKS = "gait-hapt-30"
SOURCES = ("Walk", "Filter", "Mixture", "Numbers")
EXAMPLES = ("3.1, 1.2, 2.7, 0.4, 5.0, 2.2, 1.9, 4.1", "4.0, 6.5, 5.2, 7.3, 5.9")
BUMPS = (((-2.0, 0.6, 0.6), (2.0, 1.0, 0.4), (0.0, 1.0, 0.0)),       # centre, spread, weight; of the first sample
         ((1.0, 0.8, 1.0), (4.0, 0.5, 0.3), (0.0, 1.0, 0.0)))        # and of the second


@dataclass(frozen=True, eq=False)
class Samples:
    """What the pictures are drawn from."""

    values: np.ndarray              # (N,) float64, in time
    about: str                      # one sentence, Markdown
    colour: str
    entry: Entry | None = None      # the model they come from
    unit: str = "frame"             # what one step in time is
    source: str = "Walk"


def parse_numbers(text: str, most: int = MOST) -> np.ndarray:
    """The numbers in a text, separated by blanks, commas, semicolons or lines; ValueError says what is wrong. (n,)

    >>> parse_numbers("1 2.5;-3e1")
    array([  1. ,   2.5, -30. ])
    """
    if len(text) > 40 * most:
        raise ValueError(f"This is far more than {most:,} numbers; paste fewer.")
    words = text.replace(",", " ").replace(";", " ").split()
    if not words:
        raise ValueError("There is no number yet: type or paste some, separated by blanks, commas or lines.")
    if len(words) > most:
        raise ValueError(f"These are {len(words):,} numbers, and at most {most:,} fit; paste fewer.")
    values = []
    for place, word in enumerate(words, 1):
        try:
            values.append(float(word))
        except ValueError:
            raise ValueError(f"Entry {place}, “{word[:20]}”, is not a number; write 1.5 or -2e3.") from None
        if not abs(values[-1]) <= LARGEST:
            raise ValueError(f"Entry {place} is {word[:20]}, and samples must be finite and not beyond {LARGEST:g}.")
    return np.array(values)


def walker(wanted: Entry | None) -> Entry | None:
    """The model that turns the walks that ship into filters: the chosen one where it can, else one that can."""
    channels = list(recordings_of(WALKS).channels)
    able = [entry for entry in entries() if METHODS[entry.method].network == "conv"
            and entry.card["recipe"].get("channels") == channels]
    able.sort(key=lambda entry: (wanted is None or entry.id != wanted.id, entry.method != "qp-wl"))
    return able[0] if able else None


@st.cache_data(max_entries=64, show_spinner=False)
def _walk_filters(folder: str, checksum: str, person: str, ships: bool, _model) -> tuple[list[np.ndarray], list[str]]:
    """What the network makes of a person's walks: a list of filters (K, T'), and what each walk was."""
    walks = recordings_of(WALKS).select(subjects=person)
    return elsewhere.filters_over_time(_model, walks) if ships else in_child(elsewhere.filters_of_model, folder, walks)


def try_this(states: dict[str, dict]) -> None:
    """A row of buttons, each of which sets the widgets with these keys."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Try this", width="content")
        for label, state in states.items():
            st.button(label, on_click=st.session_state.update, kwargs=state, key=f"try-{label}", type="tertiary")


def mixture(*bumps: tuple[float, float, float], shape: str = "Gaussian", count: int = 200) -> dict:
    """The state that draws these bumps (weight, centre, spread)."""
    state = {"ql_source": "Mixture", "ql_shape": shape, "ql_N": count}
    for i, values in enumerate([*bumps, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)][:3], 1):
        state |= {f"ql_{name}_{i}": value for name, value in zip(("weight", "centre", "spread"), values, strict=True)}
    return state


def choose_samples(source: str, model: Entry | None, which: int = 0) -> Samples:
    """The widgets of a source, and the samples they choose. ``which``: 0 for the first sample, 1 for the second.

    The second one of a filter is the same filter in another recording: only what one filter says can be compared.
    """
    if source == "Numbers":
        return _pasted(which)
    if source == "Mixture":
        return _drawn(which)
    entry = walker(model) if source == "Walk" else model
    try:
        if entry is not None:
            return _walked(which, entry) if source == "Walk" else _redrawn(which, entry)
        problem = "No model is at hand whose filters could be shown. Train one, it takes a minute."
    except FileError as error:
        problem = f"This model cannot be read: {plain(error)}."
    except ChildError as error:
        problem = f"This model cannot be used here: {plain(error)}."
    if which == 0:
        st.info(f"{problem} Until then, here is a drawn mixture.", icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
    return _drawn(which)


def _key(name: str, which: int) -> str:
    return f"ql_{name}{'2' if which else ''}"


def pick(label: str, options: list, key: str, index: int = 0, **more):
    """A select box whose remembered value is forgotten where it is no option any more."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    return st.selectbox(label, options, index=min(index, len(options) - 1), key=key, **KEPT, **more)


def _walked(which: int, entry: Entry) -> Samples:
    walks, model = recordings_of(WALKS), model_of(entry)
    recorded = set(walks.subjects.tolist())
    people = sorted(recorded & set(entry.card.get("split", {}).get("test", []))) or sorted(recorded)
    left, middle, right = st.columns(3)
    with left:
        person = choose_person("Person", people, _key("person", which), index=which)
    filters, names = _walk_filters(str(entry.folder), entry.card["sha256"], person, entry.kind == "ships", model)
    with middle:
        walk = names.index(pick("Walk", names, _key("walk", which)))
    with right:
        number = _filter(which, len(filters[walk]))
    known = gallery_of(entry).people if entry.has_gallery else []
    colour = colours_of(known if person in known else sorted(recorded))[person]
    about = (f"Real samples: what filter {number + 1} of {plain(entry.title)} made of five seconds of walking, one "
             "number per moment. Recordings: UCI HAPT (Reyes-Ortiz et al. 2015), CC BY 4.0.")
    return Samples(filters[walk][number], about, colour, entry)


def _redrawn(which: int, entry: Entry) -> Samples:
    gallery = gallery_of(entry)
    columns = st.columns(5 if which == 0 else 3)
    with columns[0]:
        person = choose_person("Person", gallery.people, _key("person", which), index=which)
    own = np.flatnonzero(gallery.subjects == person)
    with columns[1]:
        place = pick("Recording", [str(i + 1) for i in range(len(own))], _key("recording", which))
    with columns[2]:
        number = _filter(which, gallery.values.shape[1])
    if which == 0:
        with columns[3]:
            _count(0)
        with columns[4]:
            _seed(0)
    count, seed = st.session_state["ql_N"], st.session_state["ql_seed"] + which
    values = draw_again(gallery.values[own[int(place) - 1], number].astype(float), gallery.levels, count, seed)
    about = ("Of a recording the gallery keeps only the quantile function of each filter, so these samples are drawn "
             "again from it: their distribution is the filter's, their order in time is not.")
    return Samples(values, about, colours_of(gallery.people)[person], entry, "draw", "Filter")


def _filter(which: int, count: int) -> int:
    """The filter's place, shown from 1 on; the second sample has that of the first."""
    if which == 0:
        return int(pick("Filter", [str(k + 1) for k in range(count)], "ql_filter")) - 1
    chosen = st.session_state["ql_filter"]
    st.selectbox("Filter", [chosen], disabled=True,
                 help="The same as above: only what one filter says can be compared.")
    return int(chosen) - 1


def _count(which: int) -> int:
    return st.slider("Samples N", 1, 2000, 200, key=_key("N", which), **KEPT)


def _seed(which: int) -> int:
    return st.number_input("Seed", 0, 9999, which, key=_key("seed", which), **KEPT,
                           help="Another seed, another draw from the same distribution.")


def _drawn(which: int) -> Samples:
    columns = st.columns(4, gap="medium")
    with columns[0]:
        shape = st.segmented_control("Shape", SHAPES, default=SHAPES[0], required=True, key=_key("shape", which),
                                     **KEPT)
        count, seed = _count(which), _seed(which)
    bumps = []
    for i, (column, (centre, spread, weight)) in enumerate(zip(columns[1:], BUMPS[which], strict=True), 1):
        with column:
            weight = st.slider(f"Weight of bump {i}", 0.0, 1.0, weight, 0.05, key=_key(f"weight_{i}", which), **KEPT)
            centre = st.slider("Centre", -10.0, 10.0, centre, 0.1, key=_key(f"centre_{i}", which), **KEPT,
                               disabled=weight == 0)
            spread = st.slider("Spread", 0.0, 5.0, spread, 0.05, key=_key(f"spread_{i}", which), **KEPT,
                               disabled=weight == 0)
        bumps.append(Bump(centre, spread, weight, shape))
    if not any(bump.weight for bump in bumps):
        st.error("All weights are 0, so there is nothing to draw from; the first bump is taken alone.")
        bumps = [Bump(bumps[0].centre, bumps[0].spread, 1.0, shape)]
    about = f"{count} samples of the mixture, in the order in which they were drawn."
    return Samples(draw_mixture(bumps, count, seed), about, COLOURS[(0, 5)[which]], None, "draw", "Mixture")


def _pasted(which: int) -> Samples:
    key = _key("text", which)
    short = len(st.session_state.get(key, "")) <= LINK
    text = st.text_area("Numbers", EXAMPLES[which], height=100, key=key, persist_state="session",
                        bind="query-params" if short else None,
                        help=f"Up to {MOST:,}, separated by blanks, commas or lines, in the order of time.")
    try:
        values, about = parse_numbers(text), "Your numbers, in the order in which you wrote them."
        if not short:
            about += " They are too many for the link: whoever opens it will see the example."
    except ValueError as error:
        st.error(f"{plain(error)} Until then, the example is shown.", icon=":material/edit:")
        values, about = parse_numbers(EXAMPLES[which]), "The example."
    return Samples(values, about, COLOURS[(0, 5)[which]], None, "number", "Numbers")
