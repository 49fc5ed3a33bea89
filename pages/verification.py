import pandas as pd
import streamlit as st

from qpwl_core import metrics
from qpwl_core.trials import RATES, at_threshold, same_fmr
from ui.figures import verification as figures
from ui.page import chart, plain, setup_page
from ui.trials import (
    KEPT,
    calibrated_threshold,
    card_auc,
    choose_models,
    choose_target,
    compare,
    different_people,
    intervals_of,
    paper_auc,
    paper_notes,
    settings,
    span,
    summary_of,
    threshold_slider,
)

setup_page("Verification", "Is this the person they claim to be?")

chosen = choose_models()
if not chosen:
    st.stop()
n, draw, points, p = settings()
models = compare(chosen, points, p)
if not models:
    st.stop()
looks = {model.label: model.look for model in models}
lists = {model.label: model.trials.of(n, draw) for model in models}          # genuine and imposter distances
summaries = {model.label: summary_of(model.key, n) for model in models}
if note := different_people(models):
    st.info(note, icon=":material/group_off:")

st.subheader("Where to draw the line")
controls, picture = st.columns([1, 1.5], gap="large")
with controls:
    labels = [model.label for model in models]
    if st.session_state.get("focus") not in labels:
        st.session_state.pop("focus", None)
    focus = models[labels.index(st.segmented_control(
        "Model shown", labels, default=labels[0], key="focus", format_func=plain, required=True, **KEPT))]
    by_hand = st.segmented_control("The threshold is set", ["by hand", "for a target"], default="by hand", key="set",
                                   required=True, **KEPT) == "by hand"
    thresholds = {}
    if by_hand:
        threshold = threshold_slider("threshold", focus, n)
        rate = at_threshold(*lists[focus.label], threshold)["fmr"]
        thresholds = {label: threshold if label == focus.label else same_fmr(imposter, rate)
                      for label, (_, imposter) in lists.items()}
    else:
        target = choose_target()
        for model in models:
            try:
                thresholds[model.label] = calibrated_threshold(model, n, target)
            except ValueError as error:
                st.warning(f"{plain(model.label)}: {plain(error)}.", icon=":material/straighten:")
    came = {label: at_threshold(*lists[label], threshold) for label, threshold in thresholds.items()}
    if out := came.get(focus.label):
        st.info(f"At a distance of {thresholds[focus.label]:.4g}, **{out['let_in']:,} of {out['imposters']:,} "
                f"imposters get in** ({out['fmr']:.1%}), and **{out['sent_away']:,} of {out['owners']:,} owners are "
                f"sent away** ({out['fnmr']:.1%}), {'in ten draws' if draw is None else f'in draw {draw + 1}'}.",
                icon=":material/door_front:")
        st.latex(rf"\begin{{aligned}} d_j({n}) &= \tfrac1{{{n}}}\textstyle\sum_{{i=1}}^{{{n}}} \min_{{s \in E_j}} "
                 rf"d(s_i, s) \\ &\le {thresholds[focus.label]:.4g} \;\Rightarrow\; \text{{accepted as }} j "
                 r"\end{aligned}", help="The n observed sequences against the nearest enrolled one of person j, on "
                                        "average.")
with picture:
    if out:
        genuine, imposter = lists[focus.label]
        low, high, _ = span(focus.trials)
        chart(figures.histogram(genuine, imposter, thresholds[focus.label], low, high), "verification-histogram",
              f"Histogram of the distances of owners and of imposters for {focus.label}, with the threshold",
              pd.DataFrame({"distance": [*genuine, *imposter],
                            "genuine": [True] * len(genuine) + [False] * len(imposter)}))
if came:
    st.dataframe(pd.DataFrame([
        {"model": label, "threshold": f"{thresholds[label]:.4g}",
         "aimed at": f"{100 * target:g} %" if not by_hand else "set by hand" if label == focus.label else "the same",
         "imposters let in": f"{each['let_in']:,} of {each['imposters']:,}", "FMR": f"{each['fmr']:.2%}",
         "owners sent away": f"{each['sent_away']:,} of {each['owners']:,}", "FNMR": f"{each['fnmr']:.2%}"}
        for label, each in came.items()]), hide_index=True, key="verification-decisions")
    if by_hand:
        st.caption("Each model's distance has a scale of its own. The threshold is that of the model shown; the others "
                   "stand where the same share of imposters gets in.")
    elif out:
        people, imposter = focus.calibration().people, focus.calibration().of(n)[1]
        st.caption(f"Set on {len(people)} calibration people ({len(imposter):,} imposter distances in ten draws); FMR "
                   "and FNMR came out on the test people. With so few people, that may lie well beside the aim.")

st.subheader("Every threshold at once")
at = {label: (each["fmr"], each["fnmr"]) for label, each in came.items()}
left, right = st.columns(2, gap="large")
with left:
    curves = {label: curve if draw is None else metrics.roc(*lists[label]).assign(se=0.0)
              for label, (_, _, curve) in summaries.items()}
    chart(figures.roc(curves, at, looks, st.session_state.get("corner", False)), "verification-roc",
          "ROC curves: owners who get in over imposters who get in, with the standard error over draws shaded",
          pd.concat([curve.assign(model=label) for label, curve in curves.items()]))
    st.caption("Mean over ten draws, shaded: ± one standard error." if draw is None else "The curve of one draw.")
    st.toggle("Look into the corner", key="corner", **KEPT)
with right:
    curves = {label: metrics.det(*each) for label, each in lists.items()}
    chart(figures.det(curves, at, looks), "verification-det",
          "DET curves: owners sent away over imposters let in, on normal deviate axes",
          pd.concat([curve.assign(model=label) for label, curve in curves.items()]))
    st.caption("The same errors on normal deviate axes, where small rates have room; lower left is better.")
    if perfect := [label for label, curve in curves.items() if curve.empty]:
        st.caption(f"No curve for {plain(', '.join(perfect))}: every owner is nearer than every imposter, and a rate "
                   "of zero lies at infinity.")

st.subheader("As the paper tells it")
ours = {label: table for label, (table, _, _) in summaries.items()}
paper = {model.label: table for model in models if (table := paper_auc(model.entry)) is not None}
rows = []
for model in models:
    held = model.trials
    rows.append((f"{model.label}: {len(held.people)} people, {(held.drawn.owner >= 0).sum():,} sequences",
                 ours[model.label]))
    if card := card_auc(model.entry):
        rows.append((f"{model.label}: {card[0]}", card[1]))
    if model.label in paper:
        rows.append((f"{model.entry.method_title}, the paper", paper[model.label]))
st.dataframe(pd.DataFrame([
    {"AUC": name, **{f"n = {row.n}": f"{row.auc:.4f} ± {row.se:.4f}" for row in table.itertuples()}}
    for name, table in rows]), hide_index=True, key="verification-auc-table")
st.caption("Mean ± standard error over ten draws. Where there are two rows of ours, the first is of the gallery beside "
           "the model, as all else on this page; the second of all that was tested, with the model's own M and p. "
           + " ".join(f"What differs: {plain(note)}" for note in paper_notes(chosen)))
chart(figures.auc(ours, paper, looks), "verification-auc", "AUC over the number of observed sequences",
      pd.concat([table.assign(model=label, source=source) for source, tables in (("ours", ours), ("paper", paper))
                 for label, table in tables.items()]))

st.subheader("Errors, and how sure they are")
bar, rows, short = st.progress(0.0, "Drawing people again and again …"), [], {}
for done, model in enumerate(models):
    bar.progress(done / len(models), f"Drawing people again and again: {plain(model.label)}")
    sure, (table, errors, _) = intervals_of(model.key, n), summaries[model.label]
    measured = {"AUC": ("auc", table["auc"][n - 1]), "EER": ("eer", errors["eer"]),
                **{f"FNMR at FMR {100 * rate:g} %": (rate, errors[rate]) for rate in RATES}}
    rows.append({"model": model.label, "owners": errors["genuine"], "imposters": errors["imposter"], **{
        name: "not measurable" if value is None else f"{value:.3f} ({sure[key][0]:.2f}–{sure[key][1]:.2f})"
        for name, (key, value) in measured.items()},
        "d′": "not measurable" if errors["d_prime"] is None else f"{errors['d_prime']:.2f}"})
    short |= {rate: min(errors["imposter"], short.get(rate, 10 ** 9)) for rate in RATES if errors[rate] is None}
bar.empty()
st.dataframe(pd.DataFrame(rows), hide_index=True, key="verification-errors")
st.caption(f"n = {n}. Owners and imposters: trials in each of ten draws, of which these are means. In brackets: 95 % "
           "intervals from resampling people 500 times, for other people would have given other figures.")
if short:
    st.caption("Not measurable: a rate says nothing where fewer than three errors are expected. " + " ".join(
        f"An FMR of {100 * rate:g} % needs {round(3 / rate):,} imposter trials, and there are {trials:,}."
        for rate, trials in short.items()))


def preset(**values) -> None:
    st.session_state.update(values)


st.subheader("Try this")
a, b, c = st.columns(3)
a.button("One sequence observed, or five?", on_click=preset, kwargs={"n": 5 if n == 1 else 1},
         icon=":material/filter_5:", width="stretch")
b.button("Only the largest differences: p = 8", on_click=preset, kwargs={"live": True, "p": 8.0},
         icon=":material/vertical_align_top:", width="stretch")
c.button("A single level, the median: M = 1", on_click=preset, kwargs={"live": True, "M": 1, "p": 1.0},
         icon=":material/density_small:", width="stretch")
