"""What Verification and Identification share: the models compared, n, p and M, and the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.evaluation.bootstrap import fmr_interval, subject_intervals, too_few_people
from qpwl_core.evaluation.explain import match_by_filter
from qpwl_core.evaluation.metrics import cmc, smallest_rate, threshold_at_fmr
from qpwl_core.evaluation.trials import RATES, Trials, summed_up
from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.palette import look_of
from ui.library import elsewhere
from ui.library.models import Entry, distances_of, distinct_titles, entries, gallery_of, worked
from ui.library.tuning import part_of, trials_by
from ui.shell.controls import choose_p
from ui.shell.frame import KEPT
from ui.shell.palette import DASHES
from ui.shell.text import plain
from ui.shell.words import help_for
from ui.visitors.kept import kept

TARGETS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)                   # false match rates to aim at


def choose_models(place=None) -> list[Entry]:
    """The models compared, chosen in the sidebar or at ``place``; those for the same data as the first one first."""
    at_hand = {entry.id: entry for entry in entries() if entry.has_gallery}
    if not at_hand:
        st.info("No model with held-out people is at hand. Train one, it takes a minute.",
                icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
        return []
    kept = [i for i in st.session_state.get("models", []) if i in at_hand]
    if "models" in st.session_state and kept != st.session_state["models"]:
        st.session_state["models"] = kept                       # one of them is no longer there
    first = at_hand.get(kept[0] if kept else st.session_state.get("model"), next(iter(at_hand.values())))
    order = list(METHODS)
    alike = sorted((i for i, entry in at_hand.items() if _data_of(entry) == _data_of(first)),
                   key=lambda i: order.index(at_hand[i].method))
    ours = [i for i in alike if at_hand[i].method in ("qp-wl", "qp-npl") and at_hand[i].kind == "ships"]
    default = ours if ours and first.kind == "ships" else [first.id, *ours]   # what others brought is no default
    options, labels = alike + [i for i in at_hand if i not in alike], distinct_titles(at_hand.values())
    chosen = (place or st.sidebar).multiselect("Models", options, default[:2], key="models",
                                               format_func=labels.__getitem__, **KEPT,
                                               help="Any number together. Those for the same data are offered first.")
    if not chosen:
        st.info("Choose one or more models in the sidebar.", icon=":material/checklist:")
    return [at_hand[i] for i in chosen]


def _data_of(entry: Entry) -> tuple:
    return entry.card.get("set"), entry.card["config"]["domain"]


def settings(chosen: list[Entry], row) -> tuple[int, int | None, int | None, float | None]:
    """n, the draw (None is all), and M and p where they are changed (None is each model's own)."""
    own = next((entry.card["config"]["p"] for entry in chosen if METHODS[entry.method].distance == "wasserstein"), 1.0)
    points = p = None
    with row:
        n = st.segmented_control("Sequences observed, n", [1, 2, 3, 4, 5], default=1, key="n", required=True, **KEPT,
                                 width="content", help=help_for("n"))
        drawn = st.selectbox("Draw", range(11), key="draw", format_func=lambda i: f"only {i}" if i else "all ten",
                             width=130, help=help_for("draw"), **KEPT)
        live = st.toggle("Change p and M", key="live", width="content", **KEPT,
                         help="Else every model is used with the levels it learned and the p it was trained with.")
        if live:                                     # else they would take a row of the screen and do nothing
            points = st.slider("Even levels M", 1, 64, 16, key="M", width=160, help=help_for("M"), **KEPT)
            p = choose_p(own, width=160)
    return n, drawn - 1 if drawn else None, points, p


@dataclass(frozen=True)
class Compared:
    """One of the models on a page: how it is drawn, and its trials with the M and p that mean something to it."""

    entry: Entry
    label: str                  # safe in a picture: title, and folder where two have the same title
    look: dict                  # colour and dash of its lines
    points: int | None
    p: float | None
    trials: Trials

    @property
    def key(self) -> tuple:
        """Whose distances these are."""
        return str(self.entry.folder), self.entry.card["sha256"], self.points, self.p

    def calibration(self) -> Trials:
        """The trials of the calibration people; ValueError where there are too few."""
        return _trials(*self.key, "calibration")


def compare(chosen: list[Entry], points: int | None, p: float | None) -> list[Compared]:
    """The models with their trials; one sentence on each that has none.

    A method has its colour on all pages, other data another dash. Without quantiles M means nothing, to a cosine p.
    """
    data, found = list(dict.fromkeys(map(_data_of, chosen))), []
    labels = distinct_titles(chosen)
    for entry in chosen:
        try:
            own = (points, p if METHODS[entry.method].distance == "wasserstein" else None)
            own = (None, None) if gallery_of(entry).model_levels is None else own
            trials = _trials(str(entry.folder), entry.card["sha256"], *own, "test")
        except ValueError as error:
            st.error(f"{plain(entry.title)} is left out: {plain(error)}", icon=":material/error:")
            continue
        colour = look_of(entry.method)["color"]
        alike = sum(other.look["color"] == colour for other in found)
        look = {"color": colour, "dash": DASHES[max(data.index(_data_of(entry)), alike) % len(DASHES)]}
        found.append(Compared(entry, escape(labels[entry.id]), look, *own, trials))
    return found


def _trials(folder: str, checksum: str, points: int | None, p: float | None, part: str) -> Trials:
    return trials_by(folder, checksum, part, None, points, p)


@kept
def summary_of(key: tuple, n: int) -> tuple:
    """AUC over n, the error rates, the mean ROC curve and the DET curve of one model, kept for whoever asks next."""
    return worked(_gallery_part(key, "test"), summed_up, _trials(*key, "test"), n)


@st.cache_data(max_entries=256, show_spinner=False)
def intervals_of(key: tuple, n: int) -> dict:
    """Confidence intervals of what can be measured of one model: the slowest of all, kept for whoever asks next."""
    scores, rates = _trials(*key, "test").scores[:, n - 1], summary_of(key, n)[1]
    return worked(_gallery_part(key, "test"), subject_intervals, scores,
                  [rate for rate in RATES if rates[rate] is not None])


@kept
def fractions_of(key: tuple, n: int) -> tuple:
    """Accuracy and imposter AUC over the fraction enrolled (tidy, with standard errors), and the CMC of every draw."""
    (folder, checksum, points, p), trials, held = key, _trials(*key, "test"), _gallery_part(key, "test")
    distances, groups = distances_of(folder, checksum, "test", None, points, p), trials.drawn.groups
    identified, unknown = worked(held, elsewhere.over_fractions, distances, held.subjects, n, groups)
    return identified, unknown, np.stack([cmc(scores) for scores in trials.scores[:, n - 1]])


@kept
def filters_of(key: tuple, n: int, repeat: int) -> np.ndarray:
    """What each filter adds to d_j(n) of everyone to everyone, in one draw. (S, S, K)"""
    held = _gallery_part(key, "test")
    return worked(held, match_by_filter, held, _trials(*key, "test"), n, repeat, *key[2:])


@st.cache_data(max_entries=256, show_spinner=False)
def promised_fmr(key: tuple, n: int, threshold: float) -> tuple[float, float]:
    """The interval of the false match rate that a threshold set on the calibration people can promise."""
    scores = _trials(*key, "calibration").scores[:, n - 1]
    return worked(_gallery_part(key, "calibration"), fmr_interval, scores, threshold)


def tell_promise(models: list[Compared], n: int, thresholds: dict[str, float], target: float) -> dict[str, tuple]:
    """Warn where calibration people are too few to promise a target; returns what can be promised, by label."""
    promised = {model.label: promised_fmr(model.key, n, thresholds[model.label]) for model in models
                if model.label in thresholds}
    people = {model.label: len(model.calibration().people) for model in models if model.label in promised}
    few = [f"{plain(label)}: set on {count} people, {100 * target:g} % of imposters may as well be "
           f"{100 * promised[label][0]:.0f} to {100 * promised[label][1]:.0f} %." for label, count in people.items()
           if too_few_people(count, promised[label], target)]
    if few:
        st.warning("**Too few calibration people to promise this.** " + " ".join(few), icon=":material/warning:")
    return promised


def _gallery_part(key: tuple, part: str):
    return part_of(*key[:2], part)


def models_and_settings(chosen: list[Entry], row) -> tuple[list[Compared], int, int | None]:
    """The widgets on top of both pages, in a row: the models with their trials, n and the draw (None is all)."""
    n, draw, points, p = settings(chosen, row)
    models = compare(chosen, points, p)
    if note := different_people(models):
        st.info(note, icon=":material/group_off:")
    return models, n, draw


def choose_focus(models: list[Compared]) -> Compared:
    """The one of the models that a picture shows."""
    labels = [model.label for model in models]
    if st.session_state.get("focus") not in labels:
        st.session_state.pop("focus", None)
    if st.session_state.get("focus", labels[0]) not in labels:
        st.session_state.pop("focus")
    return models[labels.index(st.selectbox("Model shown", labels, key="focus", **KEPT))]


def different_people(models: list[Compared]) -> str:
    """A sentence where models were tested on different people, else nothing."""
    if len({tuple(model.trials.people) for model in models}) < 2:
        return ""
    return (f"These models were tested on different people ({', '.join(str(len(m.trials.people)) for m in models)} of "
            "them), so their figures do not compare the methods. Choose models for the same data for that.")


def calibrated_threshold(model: Compared, n: int, fmr: float) -> float:
    """The threshold for a target FMR on the calibration people, all draws together."""
    _, imposter = model.calibration().of(n)
    if fmr < smallest_rate(len(imposter)):
        raise ValueError(f"{len(imposter)} imposter distances of the calibration people cannot measure a rate below "
                         f"{smallest_rate(len(imposter)):.2g} (three errors must be expected); aim higher")
    return threshold_at_fmr(imposter, fmr)


def first_threshold(model: Compared, n: int) -> float:
    """Where a threshold by hand starts: for one imposter in ten, or halfway where there is nobody to calibrate on."""
    try:
        return calibrated_threshold(model, n, 0.1)
    except ValueError:
        return float(sum(np.median(kind) for kind in model.trials.of(n)) / 2)


def set_by_hand() -> bool:
    """Whether the threshold is set by hand, or for a target."""
    return st.segmented_control("The threshold is set", ["by hand", "for a target"], default="by hand", key="set",
                                required=True, **KEPT) == "by hand"


def choose_target() -> float:
    """A false match rate to aim at."""
    return st.select_slider("Imposters that may get in (FMR)", TARGETS, 0.1, key="target", **KEPT,
                            format_func=lambda rate: f"{100 * rate:g} %",
                            help="The threshold is set on the calibration people, and then applied to the test "
                                 "people, who had no part in it.")


def threshold_slider(key: str, model: Compared, n: int) -> float:
    """A threshold by hand, in the units of the model's distance; it starts again where those are another's."""
    (low, high, step), scale = span(model.trials), model.key
    changed, linked = st.session_state.get(f"{key}-of", scale) != scale, key in st.query_params
    if changed or (key not in st.session_state and not linked):
        st.session_state[key] = float(np.clip(low + round((first_threshold(model, n) - low) / step) * step, low, high))
    st.session_state[f"{key}-of"] = scale
    digits = max(0, -math.floor(math.log10(step)))
    return st.slider("Threshold", low, high, step=step, key=key, format=f"%.{digits}f", **KEPT,
                     help="A claim is accepted where the distance is at most this.")


def span(trials: Trials) -> tuple[float, float, float]:
    """From and to where a threshold makes a difference, whatever n and draw, in steps of a round number.

    Beyond the farthest owner it makes none; some imposters may be much farther.
    """
    owners = np.diagonal(trials.scores, axis1=2, axis2=3)
    least, most = float(trials.scores.min()), float(max(owners.max(), np.quantile(trials.scores, 0.75)))
    step = 10.0 ** math.floor(math.log10(max(most - least, 1e-9) / 100))
    return math.floor(least / step) * step, math.ceil(most / step) * step, step


def paper_auc(entry: Entry) -> pd.DataFrame | None:
    """The paper's AUC for this method on its own data of this kind: n, auc, se; None where it has none."""
    table = paper.VERIFICATION.get(entry.card["config"]["domain"], {}).get(entry.method)
    return table and pd.DataFrame([(n, *row) for n, row in enumerate(table, 1)], columns=["n", "auc", "se"])


def card_auc(entry: Entry) -> tuple[str, pd.DataFrame] | None:
    """Who, and their AUC (n, auc, se), where the card tells of more sequences than the gallery beside it holds."""
    results = entry.card.get("results")
    if not results or not entry.card.get("gallery") or results["sequences"] == len(gallery_of(entry).part("test")):
        return None
    table = pd.DataFrame([(int(n), row["auc"], row["se"]) for n, row in results["verification"].items()],
                         columns=["n", "auc", "se"])
    return f"{results['subjects']} people, {results['sequences']:,} sequences", table


def paper_notes(chosen: list[Entry]) -> list[str]:
    """What differs from the paper in the data of these models, a sentence each."""
    return [paper.DIFFERS[name] for name in dict.fromkeys(entry.card.get("set") for entry in chosen)
            if name in paper.DIFFERS]
