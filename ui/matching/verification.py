"""The three views of the Verification page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.trials import RATES, at_threshold, same_fmr
from ui.library.models import gallery_of
from ui.library.tuning import has_order, over_p, over_points, without_p
from ui.matching import verification_figures as figures
from ui.matching.compared import (
    Compared,
    calibrated_threshold,
    card_auc,
    choose_focus,
    choose_target,
    intervals_of,
    paper_auc,
    paper_notes,
    set_by_hand,
    span,
    summary_of,
    tell_promise,
    threshold_slider,
)
from ui.matching.tried import curves_against, has_forgeries, say_tried, tried_at
from ui.shell.charts import chart, table
from ui.shell.curves import auc_over_n, over_setting
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.shell.words import AUC_KINDS

Lists = dict[str, tuple]              # label -> distances of owners and of imposters


def line(models: list[Compared], n: int, draw: int | None) -> None:
    """One threshold, in a sentence, a histogram, a table, and on both curves."""
    lists: Lists = {model.label: model.trials.of(n, draw) for model in models}
    controls, picture = st.columns([1, 1.5], gap="medium")
    with controls:
        focus = choose_focus(models)
        by_hand = set_by_hand()
        target = None if by_hand else choose_target()
        thresholds = by_hand_of(focus, lists, n) if by_hand else calibrated_of(models, n, target)
        came = {label: at_threshold(*lists[label], threshold) for label, threshold in thresholds.items()}
        tried = tried_at(focus.key, n, draw) if has_forgeries(focus) else None
        if out := came.get(focus.label):
            say(out, thresholds[focus.label], n, draw)
            if tried is not None:
                say_tried(tried, thresholds[focus.label])
    with picture:
        if out:
            genuine, imposter = lists[focus.label]
            low, high, _ = span(focus.trials)
            chart(figures.histogram(genuine, imposter, thresholds[focus.label], low, high, tried),
                  "verification-histogram",
                  f"Histogram of the distances of owners and of imposters for {focus.label}, with the threshold",
                  lambda: pd.DataFrame({"distance": [*genuine, *imposter],
                                        "genuine": [True] * len(genuine) + [False] * len(imposter)}))
    if came:
        promised = {} if by_hand else tell_promise(models, n, thresholds, target)
        aimed = {label: f"{100 * target:g} %" if not by_hand else "set by hand" if label == focus.label else "the same"
                 for label in came}
        table(pd.DataFrame([
            {"model": label, "threshold": f"{thresholds[label]:.4g}", "aimed at": aimed[label],
             **({} if by_hand else {"could be": f"{100 * promised[label][0]:.0f} to {100 * promised[label][1]:.0f} %"}),
             "imposters let in": f"{each['let_in']:,} of {each['imposters']:,}", "FMR": f"{each['fmr']:.2%}",
             "owners sent away": f"{each['sent_away']:,} of {each['owners']:,}", "FNMR": f"{each['fnmr']:.2%}"}
            for label, each in came.items()]), "Errors of both kinds at the threshold, a row per model")
        if by_hand:
            st.caption("Each model's distance has a scale of its own. The threshold is that of the model shown; the "
                       "others stand where the same share of imposters gets in.")
        else:
            st.caption("*Could be*: the 95 % interval of the false match rate at this threshold, with the calibration "
                       "people resampled; of fewer than ten people even the interval is rough. FMR and FNMR came out "
                       "on the test people, who had no part in it.")
    if out:
        st.latex(rf"\begin{{aligned}} d_j({n}) &= \tfrac1{{{n}}}\textstyle\sum_{{i=1}}^{{{n}}} \min_{{s \in E_j}} "
                 rf"d(s_i, s) \\ &\le {thresholds[focus.label]:.4g} \;\Rightarrow\; \text{{accepted as }} j "
                 r"\end{aligned}")
        st.caption("The n observed sequences against the nearest enrolled one of person j, on average.")
    curves_of(models, lists, {label: (each["fmr"], each["fnmr"]) for label, each in came.items()}, n, draw)


def over_p_and_m(models: list[Compared], n: int, draw: int | None) -> None:
    """AUC over p and over M of all models chosen, with intervals over people; a click goes there."""
    st.markdown("AUC of verification for every p and every M, from the galleries: nothing is trained again. Shaded: "
                "the 95 % interval over people. **Click a point to go there.**")
    looks = {model.label: model.look for model in models}
    able = [model for model in models if gallery_of(model.entry).model_levels is not None]
    orders = [model for model in able if has_order(model.entry)]
    if left_out := [plain(model.label) for model in models if model not in orders]:
        st.caption(f"A cosine has no p, so its line is level: {', '.join(left_out)}. Only quantiles have an M.")
    now = {model.label: summary_of(model.key, n)[0]["auc"][n - 1] for model in models}
    learned = {model.label: len(gallery_of(model.entry).model_levels) - 2 for model in able}

    def to_p(point: dict) -> None:
        st.session_state.update(live=True, p=float(point["x"]), M=st.session_state.get("M", 16))

    def to_points(point: dict) -> None:
        st.session_state.update(live=True, M=int(point["x"]))

    left, right = st.columns(2, gap="medium")
    with left:
        tables = {model.label: over_p(*model.key[:2], None, model.points, n) if model in orders else
                  without_p(*model.key[:2], None, model.points, n=n) for model in models}
        if orders:
            st.markdown("**AUC over p**")
            present = {model.label: (model.p or gallery_of(model.entry).p, now[model.label]) for model in orders}
            chart(over_setting(tables, looks, "p", "order p", present), "verification-over-p",
                  f"AUC over p of {len(tables)} models, n = {n}", on_click=to_p, data=lambda: pd.concat(
                      [each.assign(model=label) for label, each in tables.items()]))
    with right:
        st.markdown("**AUC over M**, even levels")
        of_points = {model.label: over_points(*model.key[:2], None, model.p, True, n) for model in able}
        present = {model.label: (model.points or learned[model.label], now[model.label]) for model in able}
        chart(over_setting(of_points, looks, "M", "sampling points M", present), "verification-over-m",
              f"AUC over M of {len(of_points)} models, n = {n}", on_click=to_points, data=lambda: pd.concat(
                  [each.assign(model=label) for label, each in of_points.items()]))
    st.caption(f"Nearest of the enrolled, n = {n}, mean of ten draws, the test people beside each model. A diamond is "
               "the model as it is set now; unless *Change p and M* is on, at the levels it learned.")


def by_hand_of(focus: Compared, lists: Lists, n: int) -> dict[str, float]:
    """The threshold of the slider for the model shown; for the others, the one that lets in as many imposters."""
    threshold = threshold_slider("threshold", focus, n)
    rate = at_threshold(*lists[focus.label], threshold)["fmr"]
    return {label: threshold if label == focus.label else same_fmr(imposter, rate)
            for label, (_, imposter) in lists.items()}


def calibrated_of(models: list[Compared], n: int, target: float) -> dict[str, float]:
    """Thresholds for a target, set on calibration people; one sentence where there are too few."""
    found = {}
    for model in models:
        try:
            found[model.label] = calibrated_threshold(model, n, target)
        except ValueError as error:
            st.warning(f"{plain(model.label)}: {plain(error)}.", icon=":material/straighten:")
    return found


def say(out: dict, threshold: float, n: int, draw: int | None) -> None:
    """What a threshold means, in a sentence."""
    st.info(f"At a distance of {threshold:.4g}, **{out['let_in']:,} of {out['imposters']:,} imposters get in** "
            f"({out['fmr']:.1%}), and **{out['sent_away']:,} of {out['owners']:,} owners are sent away** "
            f"({out['fnmr']:.1%}), {'in ten draws' if draw is None else f'in draw {draw + 1}'}.",
            icon=":material/door_front:")


def curves_of(models: list[Compared], lists: Lists, at: dict, n: int, draw: int | None) -> None:
    """ROC and DET, with the place of the threshold on each."""
    if draw is None:
        found = {model.label: summary_of(model.key, n) for model in models}
        roc, det = ({label: each[place] for label, each in found.items()} for place in (2, 3))
    else:
        roc = {label: metrics.roc(*each).assign(se=0.0) for label, each in lists.items()}
        det = {label: metrics.det(*each) for label, each in lists.items()}
    against = curves_against(models, n, draw)
    roc, det, looks = ({**own, **more} for own, more in
                       zip((roc, det, {model.label: model.look for model in models}), against, strict=True))
    corner = st.toggle("Look into the corner of the ROC", key="corner", **KEPT)
    chart(figures.roc_and_det(roc, det, at, looks, corner),
          "verification-curves", "ROC curves, with the standard error over draws shaded, and DET curves",
          lambda: pd.concat([curve.assign(model=label, curve=kind) for kind, curves in (("ROC", roc), ("DET", det))
                             for label, curve in curves.items()]))
    st.caption(f"ROC: {'mean over ten draws, shaded: ± one standard error' if draw is None else 'of one draw'}. DET: "
               "the same errors on normal deviate axes, where small rates have room; lower left is better.")
    if perfect := [label for label, curve in det.items() if curve.empty]:
        st.caption(f"No DET curve for {plain(', '.join(perfect))}: every owner is nearer than every imposter, and a "
                   "rate of zero lies at infinity.")


def as_the_paper(models: list[Compared], n: int, draw: int | None) -> None:
    """AUC over n, with the paper's figures beside ours."""
    ours = {model.label: summary_of(model.key, n)[0] for model in models}
    paper = {model.label: aucs for model in models if (aucs := paper_auc(model.entry)) is not None}
    rows = []
    for model in models:
        held = model.trials
        rows.append((f"{model.label}: {len(held.people)} people, {(held.drawn.owner >= 0).sum():,} sequences",
                     ours[model.label]))        # of the gallery
        if card := card_auc(model.entry):
            rows.append((f"{model.label}: {card[0]}", card[1]))
        if model.label in paper:
            rows.append((f"{model.entry.method_title}, the paper", paper[model.label]))
    table(pd.DataFrame([
        {"AUC": name, **{f"n = {row.n}": f"{row.auc:.4f} ± {row.se:.4f}" for row in aucs.itertuples()}}
        for name, aucs in rows]), "AUC of each model for one to five observed sequences, and the paper's")
    st.caption(f"{AUC_KINDS['nearest']} Mean ± standard error over ten draws. Where there are two rows of ours, the "
               "first is of the gallery beside the model, as all else on this page; the second of all that was tested, "
               "with the model's own M and p. " + " ".join(f"What differs: {plain(note)}"
                                    for note in paper_notes([model.entry for model in models])))
    chart(auc_over_n(ours, paper, {model.label: model.look for model in models}, 430), "verification-auc",
          "AUC over the number of observed sequences",
          pd.concat([aucs.assign(model=label, source=source) for source, each in (("ours", ours), ("paper", paper))
                     for label, aucs in each.items()]))


def how_sure(models: list[Compared], n: int, draw: int | None) -> None:
    """AUC, EER and FNMR at fixed FMR, each with an interval that resamples people."""
    bar, rows, short = st.progress(0.0, "Drawing people again and again …"), [], {}
    for done, model in enumerate(models):
        bar.progress(done / len(models), f"Drawing people again and again: {plain(model.label)}")
        sure, (aucs, errors, *_) = intervals_of(model.key, n), summary_of(model.key, n)
        measured = {"AUC": ("auc", aucs["auc"][n - 1]), "EER": ("eer", errors["eer"]),
                    **{f"FNMR at FMR {100 * rate:g} %": (rate, errors[rate]) for rate in RATES}}
        rows.append({"model": model.label, "owners": errors["genuine"], "imposters": errors["imposter"], **{
            name: "not measurable" if value is None else f"{value:.3f} ({sure[key][0]:.2f}–{sure[key][1]:.2f})"
            for name, (key, value) in measured.items()},
            "d′": "not measurable" if errors["d_prime"] is None else f"{errors['d_prime']:.2f}"})
        short |= {rate: min(errors["imposter"], short.get(rate, 10 ** 9)) for rate in RATES if errors[rate] is None}
    bar.empty()
    table(pd.DataFrame(rows), "AUC, EER and FNMR of each model with confidence intervals")
    st.caption(f"{AUC_KINDS['nearest']} n = {n}. Owners and imposters: trials in each of ten draws, of which these are "
               "means. In brackets: "
               "95 % intervals from resampling people 500 times, for other people would have given other figures.")
    if short:
        st.caption("Not measurable: a rate says nothing where fewer than three errors are expected. " + " ".join(
            f"An FMR of {100 * rate:g} % needs {round(3 / rate):,} imposter trials, and there are {trials:,}."
            for rate, trials in short.items()))
