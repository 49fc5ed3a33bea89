"""The views of the data page: people, sequences, the split, and what the network sees."""

from __future__ import annotations

import html
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.friendly import friendly_names
from qpwl_core.common.sheets import safe_of
from qpwl_core.common.text import duration
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.inspection import thinned
from qpwl_core.data.preprocessing import FittedRecipe
from qpwl_core.models.config import preset
from ui.data.figures import Curve, channel_by_channel, recorded_time, sequence_lengths, split_map
from ui.data.ink import MEANING as INK_MEANING
from ui.data.ink import changed_steps, ink, ink_after, is_ink
from ui.library import elsewhere
from ui.library.data import OWN, domain_for, recipe_of, recordings_for, split_of, token_of
from ui.shell.charts import chart, table
from ui.shell.controls import choose_person, forget_unknown
from ui.shell.frame import KEPT
from ui.shell.numbers import numbers as boxes
from ui.shell.palette import COLOURS, colours_of
from ui.shell.people import named
from ui.shell.text import plain

POINTS = 2000          # drawn of one channel: more than a screen has
MOST_CHANNELS = 8
MEANING = {            # of the options of all recipes
    "rate": "Hz that everything is resampled to; none is the rate of the training recordings",
    "seconds": "length of a window; a shorter sequence is kept whole",
    "keep": "windows of one sequence at most, those with the largest standard deviation",
    "channels": "names to keep; none is all",
    "baseline": "what is taken off each trial: its mean, or that of so many seconds at its start",
    "band": "lowest and highest Hz of a band-pass filter; none is no filter",
    "clip": "largest value, in spreads: eye blinks are ten times what the brain does",
    "change": "the step from each sample to the next instead of the sample: fast rhythms count as much as slow ones",
    "whiten": "channels made uncorrelated over the training people: each shows what the others do not",
    "equalise": "each trial divided by its root mean square over all channels: one loudness for all",
    "compress": "x becomes asinh(compress · x), nearly a logarithm on both sides; none leaves it",
    "screen": "px wide, px high, m wide, m high, m away: turns px into degrees of visual angle",
    "lost": "hold the last good position where the eye was lost, or drop those samples",
    "margin": "seconds around a lost sample that are lost too: the lid still covers the pupil",
    "saturation": "°/s at which the slow velocity channel, a tanh, begins to bend",
    "validity": "one channel per eye that is 1 where it was seen and 0 where it was lost",
    "gaze": "x and y are seen: where somebody looks, and not only how",
    "fine": "steps from sample to sample and how they change, as asinh: what an eye does while it rests",
    **INK_MEANING,
}
EEG_STEPS = {"Steps between samples": "change", "Whitened": "whiten", "One loudness": "equalise",
             "Compressed": "compress"}     # each an option of the recipe, on or off


def sentence_of(words) -> str:
    """What the core says, as a sentence in plain text."""
    return plain(f"{str(words)[0].upper()}{str(words)[1:]}.")


def say_remarks(said: list[str]) -> None:
    """What to mind, in one box."""
    if said:
        st.warning("\n\n".join(map(sentence_of, said)), icon=":material/info:")


def people_view(data: str) -> None:
    """Who was recorded, how often, for how long."""
    recordings = recordings_for(data)
    summary, said = facts(data, token_of(data))
    seconds, people = recordings.lengths / recordings.rate, summary["subject"].tolist()
    numbers = {"People": len(summary), "Sequences": f"{len(recordings):,}", "Recorded": duration(seconds.sum()),
               "Channels": len(recordings.channels), "Rate": f"{recordings.rate:g} Hz"}
    boxes(numbers)
    left, right = st.columns([1.7, 1], gap="large")
    with left:
        st.markdown("**How long each person was recorded**")
        chart(recorded_time(summary, colours_of(people), named(people)), "data-people",
              f"Seconds recorded of {len(summary)} people, {summary['seconds'].min():.1f} to "
              f"{summary['seconds'].max():.1f}.", summary)
    with right:
        st.markdown("**How long one sequence is**")
        chart(sequence_lengths(seconds, COLOURS[0]), "data-lengths", f"Lengths of {len(seconds)} sequences, "
              f"{seconds.min():.2f} to {seconds.max():.2f} s.", pd.DataFrame({"seconds": seconds}))
    say_remarks(said)
    each = st.expander("Person by person", icon=":material/table:", on_change="rerun", key="data_each")
    if each.open:
        summary.insert(1, "name", [friendly_names([person])[person] for person in people])
        each.dataframe(safe_of(summary.round({"seconds": 1})), hide_index=True)


def sequences_view(data: str) -> None:
    """Two sequences side by side: who, which, which channels, which stretch of time."""
    recordings = recordings_for(data)
    people = recordings.people
    colours = colours_of(people)
    sides = []
    for column, side, default in zip(st.columns(2, gap="large"), ("one", "other"), (0, 1), strict=True):
        with column:
            sides.append(_one_sequence(recordings, people, side, min(default, len(people) - 1)))
            if domain_for(data) == "signature" and is_ink(recordings):
                ink(recordings, sides[-1][1], f"data-ink-{side}")
    names = _channels(recordings.channels, "data_channels")
    if not names:
        st.info("Choose a channel to see.", icon=":material/show_chart:")
        return
    longest = max(len(recordings.sequences[i]) for _, i in sides) / recordings.rate
    start, end = _stretch(longest, recordings.rate)
    columns, name = [recordings.channels.index(channel) for channel in names], named(people)
    curves = [_curve(recordings.sequences[i], recordings.rate, columns, start, end, html.escape(name[person]),
                     colours[person]) for person, i in sides]
    chart(channel_by_channel(curves, [html.escape(name) for name in names]), "data-sequences",
          f"Channels {', '.join(names)} of {name[sides[0][0]]} beside {name[sides[1][0]]}, {start:g} to {end:g} s.",
          pd.concat([pd.DataFrame({"person": person, "seconds": curve.seconds} | dict(zip(names, curve.values.T,
                                                                                        strict=True)))
                     for (person, _), curve in zip(sides, curves, strict=True)]))
    units = recordings.info.get("units", "")
    st.caption((f"Units: {plain(units)}. " if units else "") + "Drag in the picture to zoom, double-click to go back; "
               "a channel has one scale for both people. Of a long stretch, the smallest and the largest value of each "
               "bit are drawn, so that no peak is lost.")


def _one_sequence(recordings, people, side, default) -> tuple[str, int]:
    """A person and one of their sequences. -> name, index"""
    row = st.container(horizontal=True, gap="small")
    person = choose_person("One person" if side == "one" else "Another", people, f"data_{side}", row, default,
                           width=208)
    own = np.flatnonzero(recordings.claims == person)              # and what imitates them
    labels = [str(n + 1) if recordings.stimuli is None else f"{n + 1} · {recordings.stimuli[i]}"
              for n, i in enumerate(own)]
    forget_unknown(f"data_{side}_sequence", labels)
    label = row.selectbox("Sequence", labels, key=f"data_{side}_sequence", width=208, **KEPT)
    return person, int(own[labels.index(label)])


def _channels(channels: tuple[str, ...], key: str) -> list[str]:
    forget_unknown(key, channels)
    return st.multiselect("Channels", channels, default=list(channels[:3]), max_selections=MOST_CHANNELS, key=key,
                          **KEPT)


def _stretch(longest: float, rate: float) -> tuple[float, float]:
    """The stretch of time to see, in seconds; of a short sequence all of it."""
    if longest * rate < 100:
        return 0.0, longest
    step = 10.0 ** math.floor(math.log10(longest / 50))
    last = math.ceil(longest / step) * step
    kept = st.session_state.get("data_stretch")
    if kept is not None and not 0 <= kept[0] <= kept[1] <= last:
        del st.session_state["data_stretch"]
    return st.slider("Stretch of time, s", 0.0, last, (0.0, last), step, key="data_stretch", **KEPT)


def _curve(values, rate, columns, start, end, title, colour) -> Curve:
    first, last = int(start * rate), max(int(start * rate) + 1, math.ceil(end * rate))
    samples, thin = thinned(np.asarray(values[first:last]), POINTS, columns)
    return Curve(title, (first + samples) / rate, thin, colour)


def split_view(data: str) -> None:
    """Who is in training, validation and test."""
    parts = _split(data)
    if parts is None:
        return
    recordings = parts.recordings
    of_part = np.empty(len(recordings), dtype="U10")
    for part, index in parts.index.items():
        of_part[index] = part
    stimuli = np.full(len(recordings), "all") if recordings.stimuli is None else recordings.stimuli
    shown = pd.DataFrame({"subject": recordings.subjects, "stimulus": stimuli, "part": of_part})
    shown = shown.groupby(["subject", "stimulus", "part"]).size().reset_index(name="sequences")
    st.markdown("Models learn from **training** people, are tuned on **validation** people and are judged on "
                "**test** people, whom nothing has seen. No person is in two parts.")
    counts = parts.table()
    st.dataframe(safe_of(counts)[["part", "subjects", "sequences", "stimuli"]], hide_index=True, width="content")
    if counts.set_index("part")["sequences"]["left out"] > 0:
        st.markdown("Here training and test share no **stimulus** either, so that nobody is known by what they "
                    "watched; sequences that would break this are left out.")
    chart(split_map(shown, named(recordings.people)), "data-split", "People by stimuli: " + ", ".join(
        f"{row.part} {row.subjects} people, {row.sequences} sequences" for row in counts.itertuples()) + ".", shown)
    st.caption("The split depends on the names and the seed alone.")


def _split(data):
    seed = st.number_input("Seed of the split", 0, 9999, key="data_seed", width=180, **KEPT,
                           help="Another number, another split; the Train page uses 0.")
    try:
        return split_of(data, seed)
    except RecordingsError as error:
        st.info(sentence_of(error), icon=":material/call_split:")
        return None


def recipe_view(data: str) -> None:
    """One sequence before and after preprocessing, with the options named."""
    recordings = recordings_for(data)
    people = recordings.people
    with st.container(width=700):
        person, i = _one_sequence(recordings, people, "one", 0)
    options = _changed(data)
    try:
        fitted = fitted_recipe(data, token_of(data), tuple(options.items()))
        one = recordings.select(index=[i])
        seen = in_child(elsewhere.applied, fitted, one) if data.startswith(OWN) else fitted.apply(one)
    except (RecordingsError, ChildError) as error:
        st.error(sentence_of(error), icon=":material/error:")
        return
    piece = 0
    if len(seen) > 1:
        forget_unknown("data_piece", range(1, len(seen) + 1))
        piece = st.slider("Window", 1, len(seen), key="data_piece", **KEPT) - 1
    left, right = st.columns(2, gap="large")
    colour = colours_of(people)[person]
    if domain_for(data) == "signature" and is_ink(recordings):
        with left:
            ink(recordings, i, "data-ink-before")
        with right:
            ink_after(recordings, i, options, "data-ink-after")
    with left:
        values = recordings.sequences[i]
        st.markdown(f"**Before**: {len(values) / recordings.rate:.2f} s, {len(recordings.channels)} channels at "
                    f"{recordings.rate:g} Hz")
        _drawn(values, recordings.channels, recordings.rate, colour, "data-before", _channels(recordings.channels,
                                                                                             "data_channels"))
    with right:
        values = seen.sequences[piece]
        st.markdown(f"**What the network sees**: {len(seen)} sequence{'s' if len(seen) > 1 else ''}, "
                    f"{len(values) / seen.rate:.2f} s, {len(seen.channels)} channels at {seen.rate:g} Hz")
        _drawn(values, seen.channels, seen.rate, colour, "data-after", _channels(seen.channels, "data_seen_channels"))
    st.markdown(f"**The {fitted.recipe.domain} recipe**: its statistics are those of the training people alone.")
    table(pd.DataFrame([{"option": name, "value": _said(value), "meaning": MEANING[name]}
                        for name, value in asdict(fitted.recipe).items()]), "The options of the recipe")


def _drawn(values, channels, rate, colour, key, names) -> None:
    if not names:
        st.info("Choose a channel to see.", icon=":material/show_chart:")
        return
    curve = _curve(values, rate, [channels.index(name) for name in names], 0, len(values) / rate, "", colour)
    chart(channel_by_channel([curve], [html.escape(name) for name in names]), key,
          f"{', '.join(names)}, {len(values) / rate:.2f} s.",
          pd.DataFrame({"seconds": curve.seconds} | dict(zip(names, curve.values.T, strict=True))))


def _changed(data: str) -> dict:
    """Options of the recipe that a person may turn here."""
    declared = asdict(recipe_of(data)) | preset("quick", domain_for(data)).recipe
    with st.expander("Change the recipe", icon=":material/tune:"):
        if "seconds" in declared:
            one, two = st.columns(2)
            seconds = one.slider("Seconds of a window", 1.0, 60.0, declared["seconds"], 0.5, key="data_seconds", **KEPT)
            keep = two.slider("Windows of a sequence", 1, 30, declared["keep"], key="data_keep", **KEPT)
            return {"seconds": seconds, "keep": keep}
        if "baseline" in declared:
            one, two = st.columns(2)
            baseline = one.segmented_control("Baseline", ("mean", "none"), default="mean", required=True,
                                             key="data_baseline", **KEPT)
            clip = two.slider("Clip, in spreads", 1.0, 20.0, 8.0, 0.5, key="data_clip", **KEPT)
            steps = st.pills("Then", EEG_STEPS, selection_mode="multi", key="data_steps", **KEPT,
                             default=[name for name, option in EEG_STEPS.items() if declared[option]],
                             help="  \n".join(f"{name}: {MEANING[option]}" for name, option in EEG_STEPS.items()))
            chosen = {option: name in steps for name, option in EEG_STEPS.items()}
            return {"baseline": None if baseline == "none" else baseline, "clip": clip,
                    **chosen, "compress": (declared["compress"] or 1.0) if chosen["compress"] else None}
        if "pen_up" in declared:
            return changed_steps(declared, recordings_for(data).channels)
        if "lost" in declared:
            one, two = st.columns(2)
            return {"lost": one.segmented_control("Lost samples", ("hold", "drop"), default="hold", required=True,
                                                  key="data_lost", **KEPT),
                    "margin": two.slider("Margin, s", 0.0, 0.5, 0.02, 0.01, key="data_margin", **KEPT)}
        st.markdown("The generic recipe standardises every channel: there is nothing to turn but the rate."
                    if domain_for(data) == "generic" else "There is nothing to turn here; the options are below.")
        return {}


def _said(value) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


@st.cache_resource(max_entries=16, scope="session", show_spinner="Measuring the training people …")
def fitted_recipe(data: str, token: str, options: tuple) -> FittedRecipe:
    """The recipe of an id with the statistics of its training people; a session's own, as uploads are."""
    recipe, learn = recipe_of(data, **dict(options)), split_of(data).train
    return in_child(elsewhere.fitted, recipe, learn) if data.startswith(OWN) else recipe.fit(learn)


@st.cache_data(max_entries=16, scope="session", show_spinner="Looking at the recordings …")
def facts(data: str, token: str) -> tuple[pd.DataFrame, list[str]]:
    """One row per person, and remarks."""
    recordings = recordings_for(data)
    return elsewhere.looked_over(recordings, data.startswith(OWN))
