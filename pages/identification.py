from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.explaining import explain_pair
from qpwl_core.trials import attack, confusion
from ui.figures import identification as figures
from ui.library import gallery_of
from ui.page import chart, colours_of, plain, setup_page
from ui.trials import (
    KEPT,
    calibrated_threshold,
    choose_models,
    choose_target,
    compare,
    different_people,
    filters_of,
    fractions_of,
    settings,
    threshold_slider,
)

setup_page("Identification and imposters", "Who is it, and is it anyone we know?")

chosen = choose_models()
if not chosen:
    st.stop()
n, draw, points, p = settings()
models = compare(chosen, points, p)
if not models:
    st.stop()
looks = {model.label: model.look for model in models}
fractions = {model.label: fractions_of(model.key, n) for model in models}
if note := different_people(models):
    st.info(note, icon=":material/group_off:")

st.subheader("The more people are enrolled, the harder it gets")
left, right = st.columns(2, gap="large")
for column, place, measure, title in ((left, 0, "accuracy", "named rightly"), (right, 1, "auc", "imposter AUC")):
    tables = {label: each[place] for label, each in fractions.items()}
    with column:
        chart(figures.over_fractions(tables, looks, measure, title, shares=place == 0), f"identification-{measure}",
              f"{title} over the fraction of people enrolled, with standard errors",
              pd.concat([table.assign(model=label) for label, table in tables.items()]))
left.caption("Only enrolled people come. " + " ".join(
    f"{plain(model.label)}: {len(model.trials.people)} people come in each of ten draws when all are enrolled."
    for model in models))
right.caption("Half of the people are never enrolled: are those who are nearer than those who are not? " + " ".join(
    f"{plain(label)}: {table['enrolled'].iloc[-1]} enrolled and {table['imposters'].iloc[-1]} imposters at most."
    for label, (_, table, _) in fractions.items()))

labels = [model.label for model in models]
if st.session_state.get("focus") not in labels:
    st.session_state.pop("focus", None)
st.subheader("Who is taken for whom")
model = models[labels.index(st.segmented_control("Model shown", labels, default=labels[0], key="focus",
                                                 format_func=plain, required=True, **KEPT))]
people, scores = model.trials.people, model.trials.scores[:, n - 1]           # (S,), (R, S, S)
shares = confusion(scores if draw is None else scores[draw])
gallery, shown = gallery_of(model.entry).part("test"), 0 if draw is None else draw


def why(who: str, taken_for: str, repeat: int, key: str) -> None:
    """Which sequences met, and which filters made them alike."""
    one, other = people.index(who), people.index(taken_for)
    sequences, by_filter = explain_pair(model.trials, filters_of(model.key, n, repeat), n, repeat, one, other)
    total, typical, first = by_filter["pair"].sum(), by_filter["typical"].sum(), by_filter.head(3)
    closer, most = (first["typical"] - first["pair"]).sum(), ", ".join(map(str, first["filter"]))
    st.markdown(f"In draw {repeat + 1}, **{plain(who)}** came as near as **{total:.4g}** to {plain(taken_for)}, where "
                f"two people are typically {typical:.4g} apart: {typical - total:.3g} less, of which filters {most} "
                f"make up {closer:.3g}.")
    names = ("two typical strangers", f"{escape(who)} to themselves", f"{escape(who)} to {escape(taken_for)}")
    chart(figures.filters(by_filter.head(10), names), f"identification-{key}-filters",
          f"What the ten filters that matched most add to the distance of {who} to {taken_for}", by_filter)
    described = pd.DataFrame({
        "observed": [describe(i) for i in sequences["observed"]],
        f"nearest of {taken_for}": [describe(i) for i in sequences["nearest"]], "distance": sequences["distance"],
        f"nearest of {who}": [describe(i) for i in sequences["own"]], "their distance": sequences["own_distance"]})
    st.dataframe(described if one != other else described.iloc[:, :3], hide_index=True, key=f"identification-{key}-met")


def describe(index: int) -> str:
    """A sequence by its number, what was seen or done in it, and the recording it may be cut from."""
    done = "" if gallery.stimuli is None else f", {gallery.stimuli[index]}"
    cut = f", recording {gallery.sources[index]}" if len(set(gallery.sources)) < len(gallery) else ""
    return f"sequence {index}{done}{cut}"


def clicked(chart_key: str, *keys: str) -> None:
    """A click on a point chooses the people in its customdata."""
    for point in st.session_state[chart_key]["selection"]["points"][:1]:
        for key, value in zip(keys, point["customdata"], strict=False):
            st.session_state[key] = people[int(value)]


left, right = st.columns(2, gap="large")
with left:
    chart(figures.confusion(shares, [escape(person) for person in people]), "identification-confusion",
          "Confusion matrix: how often each person was taken for each other person",
          pd.DataFrame(shares, index=people, columns=people).rename_axis("who came").reset_index(),
          on_select=lambda: clicked("identification-confusion", "who", "as"), selection_mode="points")
    right_ones = float(np.trace(shares)) / len(people)
    over = "ten draws" if draw is None else f"draw {draw + 1}"
    st.caption(f"{right_ones:.1%} of {len(people) * (len(scores) if draw is None else 1)} who came in {over} were "
               "named rightly; the darker a cell, the more often. Click one to see why.")
with right:
    curves = {label: each[2] if draw is None else each[2][draw:draw + 1] for label, each in fractions.items()}
    chart(figures.cmc(curves, looks), "identification-cmc", "How often the right person is among the k nearest",
          pd.DataFrame([{"model": label, "k": k, "share": share} for label, curve in curves.items()
                        for k, share in enumerate(curve.mean(0), 1)]))
    st.caption("Not first, but among the first k? The mean over the draws, shaded: ± one standard error.")

mistaken = np.where(np.eye(len(people), dtype=bool), -np.inf, shares - scores.mean(0) / np.abs(scores).max() / 1e3)
first, second = np.unravel_index(mistaken.argmax(), mistaken.shape)           # most often; if never, the nearest
for key in ("who", "as"):
    if st.session_state.get(key) not in people:
        st.session_state.pop(key, None)
a, b = st.columns(2)
who = a.selectbox("Who came", people, index=int(first), key="who", **KEPT)
taken_for = b.selectbox("Taken for", people, index=int(second), key="as", **KEPT)
i, j = people.index(who), people.index(taken_for)
happened = np.flatnonzero(scores[:, i].argmin(1) == j)
st.caption(f"{plain(who)} was taken for {plain(taken_for)} in {len(happened)} of {len(scores)} draws.")
why(who, taken_for, shown if draw is not None or not len(happened) else int(happened[0]), "why")

st.subheader("The attack")
st.markdown("Every person knocks as a stranger: all *others* are enrolled, and the door opens if the nearest of them "
            "is near enough. A stranger who need not say who they are has as many tries as there are people.")
controls, picture = st.columns([1, 1.5], gap="large")
with controls:
    by_hand = st.segmented_control("The threshold is set", ["by hand", "for a target"], default="by hand", key="set",
                                   required=True, **KEPT) == "by hand"
    threshold = None
    if by_hand:
        threshold = threshold_slider("threshold", model, n)
    else:
        target = choose_target()
        try:
            threshold = calibrated_threshold(model, n, target)
        except ValueError as error:
            st.warning(f"{plain(error)}.", icon=":material/straighten:")
    if threshold is not None:
        knocks = [attack(each, threshold, people) for each in scores]
        inside = [int(each["gets_in"].sum()) for each in knocks]
        st.info(f"At a distance of {threshold:.4g}, **{inside[shown]} of {len(people)} imposters get in** in draw "
                f"{shown + 1}, and {sum(inside)} of {len(people) * len(scores)} in all ten.",
                icon=":material/door_open:")
        sent = [(each.diagonal() > threshold).sum() for each in scores]
        st.caption(f"The same threshold sends {sent[shown]} of {len(people)} owners away in draw {shown + 1}, and "
                   f"{sum(sent)} of {len(people) * len(scores)} in all ten.")
        st.latex(rf"\min_{{j \neq i}} d_j({n}) \;\le\; {threshold:.4g} \;\Rightarrow\; \text{{the door opens}}")
        if st.session_state.get("knocks") not in people:
            st.session_state.pop("knocks", None)
        nearest = knocks[shown].set_index("imposter")["nearest"]
        imposter = st.selectbox("Why? Look into", nearest.index.tolist(), key="knocks", **KEPT,
                                format_func=lambda who: f"{who}, nearest to {nearest[who]}")
with picture:
    if threshold is not None:
        safe = {person: escape(person) for person in people}
        colours = {safe[person]: colour for person, colour in colours_of(gallery_of(model.entry).people).items()
                   if person in safe}
        table = knocks[shown].assign(**{name: knocks[shown][name].map(safe) for name in ("imposter", "nearest")})
        chart(figures.attack(table, threshold, colours), "identification-attack",
              "Every person as an imposter: the distance to the nearest enrolled person, and the threshold",
              pd.concat([each.assign(draw=i + 1) for i, each in enumerate(knocks)]))
if threshold is not None:
    why(imposter, nearest[imposter], shown, "attack")
