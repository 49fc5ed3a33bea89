"""Those who tried: people who imitated another, beside those who merely claim to be them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.common.child import ChildError
from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.evaluate import further_scenarios
from qpwl_core.evaluation.forgeries import KINDS, forged_scores
from qpwl_core.models.methods import METHODS
from ui.library import elsewhere
from ui.library.models import Entry, entries, gallery_of, worked
from ui.library.tuning import trials_by
from ui.matching import verification_figures as figures
from ui.matching.compared import Compared, choose_focus
from ui.shell.charts import chart, table
from ui.shell.frame import KEPT
from ui.visitors.kept import kept

TRIED = "those who tried"
ASK = "No forgery is in the galleries of these models: nobody tried. Models for signatures have people who did."
WORDS = {"random": "somebody else's signature", "skilled": TRIED, "mixed": "both together"}


def has_forgeries(model: Compared) -> bool:
    """Whether somebody imitates a test person of the model's gallery."""
    return bool(gallery_of(model.entry).part("test", forgeries=True).is_forgery.any())


@kept
def tried_at(key: tuple, n: int, draw: int | None) -> np.ndarray:
    """d_j(n) of forgeries against the person they imitate, in one draw or in all. -> (trials,)"""
    folder, checksum, points, p = key
    trials = trials_by(folder, checksum, "test", None, points, p)
    everything = _gallery(key).part("test", forgeries=True)
    forged = everything.select(everything.is_forgery)
    distances = worked(everything, elsewhere.distances_between, forged, _gallery(key).part("test"), points, p)
    return forged_scores(distances, forged.imitates, trials.drawn, n, draw)


@kept
def _everything(key: tuple) -> np.ndarray:
    """Distances between all sequences of the test people and the forgeries of them; nobody changes them. -> (n, n)"""
    held = _gallery(key).part("test", forgeries=True)
    found = worked(held, elsewhere.distances, held, None, *key[2:])
    found.flags.writeable = False
    return found


@kept
def attempts(key: tuple, enrolled: int) -> list:
    """The trials of every repeat with so many enrolled of the first session; empty where too few people have that."""
    held = _gallery(key).part("test", forgeries=True)
    try:
        return worked(held, elsewhere.forgery_trials, _everything(key), held.subjects, held.imitates, held.stimuli,
                      enrolled)
    except ChildError:
        raise
    except ValueError:
        return []


@st.cache_data(max_entries=64, show_spinner=False)
def errors_of(key: tuple, enrolled: int, normalised: bool) -> dict:
    """EER of each kind, mean over repeats, with its interval over people, None of both together. -> (eer, low, high)"""
    repeated = [each.normalised() if normalised else each for each in attempts(key, enrolled)]
    return worked(_gallery(key).part("test", forgeries=True), elsewhere.forgery_errors, repeated)


@st.cache_data(max_entries=64, show_spinner=False)
def days_of(key: tuple) -> dict:
    """Across and within sessions, as `evaluate` has them; empty where there is one session."""
    held = _gallery(key).part("test")
    distances = _everything(key)
    genuine = ~_gallery(key).part("test", forgeries=True).is_forgery
    return worked(held, further_scenarios, distances[np.ix_(genuine, genuine)], held.subjects, held.sources, 0,
                  held.stimuli)[0]


def those_who_tried(models: list[Compared], n: int, draw: int | None) -> None:
    """Forgers and others apart: how many get in, the curves, the errors, plain and normalised."""
    able = [model for model in models if has_forgeries(model)]
    if not able:
        st.info(ASK, icon=":material/draw:")
        of_signatures = [entry.id for entry in entries() if entry.kind == "ships" and entry.has_gallery
                         and entry.card["config"]["domain"] == "signature" and entry.method in ("qp-wl", "qp-npl")]
        if of_signatures and st.button("Show models for signatures", type="primary", icon=":material/draw:",
                                       key="tried-signatures", on_click=st.session_state.update,
                                       kwargs={"models": of_signatures}):
            st.rerun()                           # the models are chosen outside of what this button draws again
        days(models)
        return
    st.markdown("Everyone else on this page merely *is* another person. These people **tried**: they watched somebody "
                "sign, practised, and signed for them. Enrolled are signatures of the first day, observed is one of "
                "the second.")
    controls, picture = st.columns([1, 1.5], gap="medium")
    with controls:
        focus = choose_focus(able)
        most = [count for count in (1, 5, 10) if attempts(focus.key, count)]
        enrolled = st.segmented_control("Enrolled, E", most, default=most[-1], required=True, key="tried_enrolled",
                                        **KEPT)
        normalised = enrolled > 1 and st.toggle(
            "Held to their own spread", key="tried_normalised", **KEPT, help="Divide each distance by the median "
            "distance among the claimed person's enrolled signatures: who signs alike every time is held to it.")
        trials = [each.normalised() if normalised else each for each in attempts(focus.key, enrolled)]
        kinds = {kind: np.concatenate([each.against(kind) for each in trials]) for kind in ("random", "skilled")}
        genuine = np.concatenate([each.genuine for each in trials])
        threshold = equal_errors(genuine, kinds["random"])
        let_in = {kind: float((scores <= threshold).mean()) for kind, scores in kinds.items()}
        st.info(f"A door that errs alike on owners and on other people lets in **{let_in['random']:.1%} of the others "
                f"and {let_in['skilled']:.1%} of {TRIED}**.", icon=":material/door_front:")
    with picture:
        low, high = float(min(genuine.min(), kinds["skilled"].min())), float(np.quantile(kinds["random"], 0.9))
        chart(figures.histogram(genuine, kinds["random"], threshold, low, high, kinds["skilled"]), "tried-histogram",
              f"Distances of owners, of others and of {TRIED} for {focus.label}, with the threshold",
              lambda: pd.DataFrame([{"kind": kind, "distance": each} for kind, values in
                                    (("genuine", genuine), *kinds.items()) for each in values]))
    rows = []
    for model in able:
        for own in (False, True) if enrolled > 1 else (False,):
            if attempts(model.key, enrolled):
                errors = errors_of(model.key, enrolled, own)
                rows.append({"model": model.label, "distance": "by their own spread" if own else "plain", **{
                    f"EER, {WORDS[kind]}": f"{eer:.1%}" + ("" if low is None else f" ({low:.0%}–{high:.0%})")
                    for kind, (eer, low, high) in errors.items()}})
    table(pd.DataFrame(rows), "EER against others, against those who tried and both, a row per model and normalisation")
    st.caption(f"E = {enrolled}, {len(trials[0].people)} people, {len(trials[0].genuine)} genuine and "
               f"{len(trials[0].skilled)} forged signatures, ten draws of what is enrolled. In brackets: 95 % "
               "intervals over people. Few people, wide intervals: the study (Results) tests more.")
    without_training(able, enrolled)
    days(models)


def without_training(models: list[Compared], enrolled: int) -> None:
    """What a signature engineer would use instead, on all people to test, of whom a gallery holds some."""
    rows = []
    for model in (model for model in models if model.entry.kind == "ships"):       # a card that was uploaded may lie
        card = model.entry.card
        told = {model.label: card.get("results", {}).get("forgeries", []),
                **{METHODS[name].title: found for name, found in card.get("nothing_learned", {}).items()
                   if name in METHODS}}
        for label, found in told.items() if len(told) > 1 else ():
            for row in found:
                if row["enrolled"] == enrolled:
                    rows.append({"method": label, "distance": "by their own spread" if row["normalised"] else "plain",
                                 **{f"EER, {WORDS[kind]}": f"{row[f'{kind}_eer']:.1%}" for kind in KINDS},
                                 "people": row["subjects"]})
    if rows:
        st.markdown("**Is a network needed at all?** The same, on all people to test (a gallery holds some of them), "
                    "beside what learns nothing: dynamic time warping is what a signature engineer would use instead.")
        table(pd.DataFrame(rows).drop_duplicates(), "EER of the models and of methods without training, a row each")


def equal_errors(genuine: np.ndarray, imposter: np.ndarray) -> float:
    """The threshold at which owners sent away and imposters let in come nearest to each other, as shares."""
    curve = metrics.roc(genuine, imposter)
    return float(curve["threshold"][(curve["fpr"] - 1 + curve["tpr"]).abs().idxmin()])


def days(models: list[Compared]) -> None:
    """Known again on another day, beside the same day, where there are two sessions."""
    rows = []
    for model in models:
        found = days_of(model.key)
        for where in ("within", "across"):
            if cells := found.get(f"{where}_sessions"):
                rows.append({"model": model.label, "enrolled and observed": "the same day" if where == "within" else
                             "another day", **{f"n = {n}": f"{row['auc']:.4f}" for n, row in cells.items()}})
    if rows:
        st.markdown("**Known again on another day?** AUC of verification, the same people and the same enrolled "
                    "sequences.")
        table(pd.DataFrame(rows), "AUC within one session and across two, a row per model")


def say_tried(scores: np.ndarray, threshold: float) -> None:
    """How many of those who tried a threshold lets in, in a sentence."""
    let_in = int((scores <= threshold).sum())
    st.warning(f"And of {TRIED}, with a forged signature, **{let_in:,} of {len(scores):,} get in** "
               f"({let_in / len(scores):.1%}).", icon=":material/draw:")


def curves_against(models: list[Compared], n: int, draw: int | None) -> tuple[dict, dict, dict]:
    """ROC and DET of owners against those who tried, and how they are drawn, where somebody did: label -> each."""
    rocs, dets, looks = {}, {}, {}
    for model in models:
        if has_forgeries(model):
            label, lists = f"{model.label}, {TRIED}", (model.trials.of(n, draw)[0], tried_at(model.key, n, draw))
            rocs[label], dets[label] = metrics.roc(*lists).assign(se=0.0), metrics.det(*lists)
            looks[label] = model.look | {"dash": "dot"}
    return rocs, dets, looks


def _gallery(key: tuple):
    return gallery_of(Entry("", "", Path(key[0]), {"sha256": key[1]}))
