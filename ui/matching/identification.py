"""The three views of the page Identification and imposters."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.evaluation.explain import explain_pair
from qpwl_core.evaluation.trials import attack, confusion
from ui.library.models import gallery_of
from ui.matching import identification_figures as figures
from ui.matching.compared import (
    Compared,
    calibrated_threshold,
    choose_focus,
    choose_target,
    filters_of,
    fractions_of,
    set_by_hand,
    tell_promise,
    threshold_slider,
)
from ui.shell.charts import chart, table
from ui.shell.controls import choose_person
from ui.shell.curves import over_fractions
from ui.shell.palette import colours_of
from ui.shell.people import called, named
from ui.shell.text import plain


def enrolled(models: list[Compared], n: int, draw: int | None) -> None:
    """Accuracy and imposter AUC over the fraction of people enrolled."""
    found = {model.label: fractions_of(model.key, n) for model in models}
    looks = {model.label: model.look for model in models}
    left, right = st.columns(2, gap="large")
    for column, place, measure, title in ((left, 0, "accuracy", "named rightly"), (right, 1, "auc", "imposter AUC")):
        tables = {label: each[place] for label, each in found.items()}
        with column:
            chart(over_fractions(tables, looks, measure, title, shares=place == 0),
                  f"identification-{measure}", f"{title} over the fraction of people enrolled, with standard errors",
                  pd.concat([each.assign(model=label) for label, each in tables.items()]))
    left.caption("Only enrolled people come. " + " ".join(
        f"{plain(model.label)}: {len(model.trials.people)} people come in each of ten draws when all are enrolled."
        for model in models))
    right.caption("Half of the people are never enrolled: are those who are nearer than those who are not? " + " ".join(
        f"{plain(label)}: {each['enrolled'].iloc[-1]} enrolled and {each['imposters'].iloc[-1]} imposters at most."
        for label, (_, each, _) in found.items()))


def mistaken(models: list[Compared], n: int, draw: int | None) -> None:
    """The confusion matrix of one model, the CMC of all, and why one was taken for another."""
    model = choose_focus(models)
    people, scores = model.trials.people, model.trials.scores[:, n - 1]                   # (S,), (R, S, S)
    shares, over = confusion(scores if draw is None else scores[draw]), "ten draws"
    if draw is not None:
        over = f"draw {draw + 1}"

    def clicked(point: dict) -> None:
        for key, value in zip(("who", "as"), point["customdata"], strict=True):
            st.session_state[key] = people[int(value)]

    left, right = st.columns(2, gap="large")
    with left:
        label, short = named(gallery_of(model.entry).people), called(gallery_of(model.entry).people)
        chart(figures.confusion(shares, [escape(short[person]) for person in people]), "identification-confusion",
              "Confusion matrix: how often each person was taken for each other person",
              lambda: pd.DataFrame(shares, index=people, columns=people).rename_axis("who came").reset_index(),
              on_click=clicked)
        st.caption(f"{np.trace(shares) / len(people):.1%} of {len(people) * (len(scores) if draw is None else 1)} who "
                   f"came in {over} were named rightly; the stronger the blue, the more often. Click one to see why.")
    with right:
        found = {each.label: fractions_of(each.key, n)[2] for each in models}
        curves = {label: each if draw is None else each[draw:draw + 1] for label, each in found.items()}
        chart(figures.cmc(curves, {each.label: each.look for each in models}), "identification-cmc",
              "How often the right person is among the k nearest",
              lambda: pd.DataFrame([{"model": label, "k": k, "share": share} for label, curve in curves.items()
                                    for k, share in enumerate(curve.mean(0), 1)]))
        st.caption("Not first, but among the first k? The mean over the draws, shaded: ± one standard error.")
    others = np.where(np.eye(len(people), dtype=bool), -np.inf, shares - scores.mean(0) / np.abs(scores).max() / 1e3)
    first, second = np.unravel_index(others.argmax(), others.shape)               # most often; if never, the nearest
    left, right = st.columns(2)
    who = choose_person("Who came", people, "who", left, int(first))
    taken_for = choose_person("Taken for", people, "as", right, int(second))
    happened = np.flatnonzero(scores[:, people.index(who)].argmin(1) == people.index(taken_for))
    st.caption(f"{plain(label[who])} was taken for {plain(label[taken_for])} in {len(happened)} of {len(scores)} "
               "draws.")
    one_of_them = int(happened[0]) if len(happened) else 0
    why(model, n, who, taken_for, one_of_them if draw is None else draw, "why")


def the_attack(models: list[Compared], n: int, draw: int | None) -> None:
    """Every person knocks as an imposter at the chosen threshold: who gets in as whom, and why."""
    st.markdown("Every person knocks as a stranger: all *others* are enrolled, and the door opens if the nearest of "
                "them is near enough. A stranger who need not say who they are has as many tries as there are people.")
    controls, picture = st.columns([1, 1.4], gap="medium")
    with controls:
        model = choose_focus(models)
        try:
            target = None if set_by_hand() else choose_target()
            threshold = (threshold_slider("threshold", model, n) if target is None else
                         calibrated_threshold(model, n, target))
        except ValueError as error:
            st.warning(f"{plain(error)}.", icon=":material/straighten:")
            return
        people, scores, shown = model.trials.people, model.trials.scores[:, n - 1], draw or 0
        knocks = [attack(each, threshold, people) for each in scores]
        inside = [int(each["gets_in"].sum()) for each in knocks]
        st.info(f"At a distance of {threshold:.4g}, **{inside[shown]} of {len(people)} imposters get in** in draw "
                f"{shown + 1}, and {sum(inside)} of {len(people) * len(scores)} in all ten.",
                icon=":material/door_open:")
        if target is not None:
            low, high = tell_promise([model], n, {model.label: threshold}, target)[model.label]
            st.caption(f"Aimed at {100 * target:g} % of imposters at *one* person's door, which could be "
                       f"{100 * low:.0f} to {100 * high:.0f} % (95 % interval, calibration people resampled). Here "
                       f"each stands before {len(people) - 1} doors at once.")
        sent = [(each.diagonal() > threshold).sum() for each in scores]
        st.caption(f"The same threshold sends {sent[shown]} of {len(people)} owners away in draw {shown + 1}, and "
                   f"{sum(sent)} of {len(people) * len(scores)} in all ten.")
        nearest = knocks[shown].set_index("imposter")["nearest"]
        imposter = choose_person("Why? Look into", nearest.index.tolist(), "knocks")
    with picture:
        label = called(gallery_of(model.entry).people)
        safe = {person: escape(label[person]) for person in people}
        colours = {safe[person]: colour for person, colour in colours_of(gallery_of(model.entry).people).items()
                   if person in safe}
        knocking = knocks[shown].assign(**{name: knocks[shown][name].map(safe) for name in ("imposter", "nearest")})

        def picked(point: dict) -> None:
            st.session_state["knocks"] = next(person for person in people if safe[person] == point["y"])

        chart(figures.attack(knocking, threshold, colours), "identification-attack",
              "Every person as an imposter: the distance to the nearest enrolled person, and the threshold",
              lambda: pd.concat([each.assign(draw=i + 1) for i, each in enumerate(knocks)]), on_click=picked)
        st.caption("Click a person to see why they came so near.")
    st.latex(rf"\min_{{j \neq i}} d_j({n}) \;\le\; {threshold:.4g} \;\Rightarrow\; \text{{the door opens}}")
    why(model, n, imposter, nearest[imposter], shown, "attack")


def why(model: Compared, n: int, who: str, taken_for: str, repeat: int, key: str) -> None:
    """Which sequences met, and which filters made them alike."""
    people = model.trials.people
    one, other = people.index(who), people.index(taken_for)
    sequences, by_filter = explain_pair(model.trials, filters_of(model.key, n, repeat), n, repeat, one, other)
    names = [gallery_of(model.entry).filter_name(int(k)) for k in by_filter["filter"]]
    by_filter = by_filter.assign(name=names, filter=by_filter["filter"] + 1)  # people count from 1, on all pages
    total, typical, first = by_filter["pair"].sum(), by_filter["typical"].sum(), by_filter.head(3)
    closer, most = (first["typical"] - first["pair"]).sum(), ", ".join(map(str, first["filter"]))
    share = (f"{closer / (typical - total):.0%} of that difference" if typical - total > closer > 0 else
             "more than all of it: others are farther apart than usual" if typical > total else
             "while others are farther apart than usual")
    label = named(gallery_of(model.entry).people)
    st.markdown(f"In draw {repeat + 1}, **{plain(label[who])}** came as near as **{total:.4g}** to "
                f"{plain(label[taken_for])}, where "
                f"two people are typically {typical:.4g} apart: {typical - total:.3g} less. Filters {most} alone are "
                f"{closer:.3g} less, {share}.")
    short = called(gallery_of(model.entry).people)
    who, taken_for = short[who], short[taken_for]
    names = ("two typical strangers", f"{escape(who)} to themselves", f"{escape(who)} to {escape(taken_for)}")
    chart(figures.filters(by_filter.head(10), names), f"identification-{key}-filters",
          f"What the ten filters that matched most add to the distance of {who} to {taken_for}", by_filter)
    described = pd.DataFrame({
        "observed": describe(model, sequences["observed"]), f"nearest of {taken_for}": describe(
            model, sequences["nearest"]), "distance": sequences["distance"].map("{:.4g}".format),
        f"nearest of {who}, themselves": describe(model, sequences["genuine"]),
        "their distance": sequences["genuine_distance"].map("{:.4g}".format)})
    table(described if one != other else described.iloc[:, :3], "What was observed, and the nearest that was enrolled")


def describe(model: Compared, index) -> list[str]:
    """Sequences by their numbers, what was seen or done in them, and the recordings they may be cut from."""
    gallery = gallery_of(model.entry).part("test")
    done = [""] * len(gallery) if gallery.stimuli is None else [f", {name}" for name in gallery.stimuli]
    cut = len(set(gallery.sources)) < len(gallery)
    return [f"sequence {i}{done[i]}{f', recording {gallery.sources[i]}' if cut else ''}" for i in index]
