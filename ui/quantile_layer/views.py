"""The four views of the Quantile layer page: each takes samples, shows its controls, its formula and its pictures."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from qpwl_core.transport.approximation import (
    approximation_error,
    error_bound,
    even_levels,
    gradient_weights,
    quantile_knots,
    quantiles_at,
)
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.divergences import jensen_shannon, transport_cost, transport_plan
from ui.library.models import Entry
from ui.quantile_layer import figures
from ui.quantile_layer.figures import STEPS
from ui.quantile_layer.levels import MOST, TRY_LEVELS, choose_levels
from ui.quantile_layer.samples import Samples, choose_samples, try_this
from ui.shell.charts import chart
from ui.shell.controls import choose_p
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS

BESIDE = [1, 1.3]                         # a column of controls and formulas, and its picture


def formula(*lines: str) -> None:
    """A formula of several lines, aligned at their &."""
    st.latex(r"\footnotesize\begin{aligned}" + r" \\[2pt] ".join(lines) + r"\end{aligned}")


def steps(one: Samples, model: Entry | None) -> None:
    """Samples, sorted, Q̂, Q̃, Q̄: one step more a click, with the numbers at the level r that is looked at."""
    words, picture = st.columns(BESIDE, gap="medium")
    with picture:
        step = STEPS.index(st.segmented_control("Step by step", STEPS, default=STEPS[4], required=True, key="ql_step",
                                                **KEPT))
    with words:
        levels = choose_levels(one.entry or model)
        r = st.slider("Look at level r", 0.01, 1.0, 0.3, 0.01, key="ql_r", disabled=step < 2, **KEPT)
        kept = quantiles_at(torch.from_numpy(one.values), levels)
        explain(step, np.sort(one.values), one.values, levels.numpy(), kept.numpy(), r)
    with picture:
        n = len(one.values)
        chart(figures.steps(one.values, levels.numpy(), kept.numpy(), step, r, one.unit), "ql-steps",
              f"{n} samples in time on the left; on the right, at the same height, step {step + 1}: {STEPS[step]}.",
              pd.DataFrame({"time": np.arange(n), "value": one.values,
                            "level": np.argsort(np.argsort(one.values, kind="stable")) / n}))


def explain(step: int, ranked: np.ndarray, x: np.ndarray, levels: np.ndarray, kept: np.ndarray, r: float) -> None:
    """A step in words and in a formula, with its numbers at r."""
    n, m = len(x), len(levels) - 2
    if step == 0:
        st.markdown(f"A filter says one number per moment, here **N = {n}** of them. Colour is time.")
        formula(rf"\mathcal X &= (x_1, \dots, x_{{{n}}})", rf"x_1 &= {x[0]:.4g}", rf"x_{{{n}}} &= {x[-1]:.4g}")
    elif step == 1:
        st.markdown("Sorting forgets *when* and keeps *how much*: π puts the smallest first.")
        formula(r"x_{\pi(1)} &\le x_{\pi(2)} \le \dots \le x_{\pi(N)}",
                rf"{ranked[0]:.4g} &\le \dots \le {ranked[-1]:.4g}")
    elif step == 2:
        rank = max(math.ceil(r * n - 1e-9), 1)                # 1e-9: 0.07 · 100 is a little more than 7
        st.markdown("A share r of all samples is at most Q̂(r): a staircase, without a slope to learn from.")
        formula(r"\hat Q(r) &= x_{\pi(\lceil rN \rceil)}",
                rf"\hat Q({r:g}) &= x_{{\pi({rank})}} = {ranked[rank - 1]:.4g}")
    elif step == 3:
        below = min(int(r * n + 1e-9), n - 1)                 # the sample at or below r has rank below + 1
        t, low, high = max(r * n - below, 0.0), ranked[below], ranked[min(below + 1, n - 1)]
        st.markdown("Lines in place of stairs: the n-th smallest of N stands at (n − 1)/N; after the last it is flat.")
        formula(r"\tilde Q(r) &= (1-t)\,x_{\pi(n)} + t\,x_{\pi(n+1)}",
                rf"n &= {below + 1}, \; t = rN - n + 1 = {t:.3g}",
                rf"\tilde Q({r:g}) &= {1 - t:.3g}\cdot({low:.4g})", rf"&\quad + {t:.3g}\cdot({high:.4g})",
                rf"&= {(1 - t) * low + t * high:.4g}")
    else:
        i = min(int(np.searchsorted(levels, r, side="right")) - 1, m)
        t = (r - levels[i]) / (levels[i + 1] - levels[i])
        st.markdown(f"Of Q̃ the layer keeps **M + 2 = {m + 2}** values and joins them by lines: {n} samples became "
                    f"{m + 2} numbers.")
        formula(r"\bar Q(r) &= (1-t)\,\tilde Q(r_i)", r"&\quad + t\,\tilde Q(r_{i+1})",
                rf"r_{{{i}}} &= {levels[i]:.3g}, \; t = {t:.3g}", rf"r_{{{i + 1}}} &= {levels[i + 1]:.3g}",
                rf"\bar Q({r:g}) &= {1 - t:.3g}\cdot({kept[i]:.4g})", rf"&\quad + {t:.3g}\cdot({kept[i + 1]:.4g})",
                rf"&= {(1 - t) * kept[i] + t * kept[i + 1]:.4g}")


@st.cache_data(max_entries=64, show_spinner=False)
def error_curve(x: np.ndarray) -> dict[str, list[float]]:
    """The error of Q̄ at even levels over M: points, area, largest, bound."""
    samples, points = torch.from_numpy(x), [*range(1, 17), *range(18, MOST + 1, 2)]
    area, largest = zip(*(approximation_error(samples, even_levels(m)) for m in points), strict=True)
    return {"points": points, "area": list(area), "largest": list(largest),
            "bound": [float(np.ptp(x)) / (2 * (m + 1)) for m in points]}


def points(one: Samples, model: Entry | None) -> None:
    """How much is lost by keeping M + 2 numbers, and which samples can be learned from."""
    try_this(TRY_LEVELS)
    words, picture = st.columns(BESIDE, gap="medium")
    x, n = torch.from_numpy(one.values), len(one.values)
    with words:
        levels = choose_levels(one.entry or model)
    kept, (knots, at) = quantiles_at(x, levels), quantile_knots(x)
    (area, largest), bound, m = approximation_error(x, levels), error_bound(kept, levels), len(levels) - 2
    with words:
        formula(r"\int_0^1 |\tilde Q - \bar Q|\,dr &\le \tfrac12 \sum_i \Delta r_i\,\Delta\tilde Q_i",
                rf"{area:.3g} &\le {bound:.3g}", rf"\max |\tilde Q - \bar Q| &= {largest:.3g}")
        st.caption("Between two knots both lines stay in one box, and Q̄ is its diagonal. With even levels the bound is "
                   "(max − min) / (2(M + 1)).")
    with picture:
        chart(figures.approximation((knots.numpy(), at.numpy()), levels.numpy(), kept.numpy()), "ql-approximation",
              f"Q̃ of {n} samples and Q̄ through {m + 2} knots; the area between them is {area:.3g}.",
              pd.DataFrame({"level": levels, "value": kept}))
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**How many points?** Lines: even levels. Dots: yours.")
        curve = error_curve(one.values)
        chart(figures.error_over_points(curve, m, (area, largest)), "ql-error",
              f"Error over M; at M = {m} its area is {area:.3g} and its largest value {largest:.3g}.",
              pd.DataFrame(curve))
    with right:
        weights = gradient_weights(x, levels).numpy()
        reached = np.count_nonzero(weights)
        st.markdown(f"**{reached} of {n} samples get gradient:** the two around each level.")
        chart(figures.gradient_reach(one.values, weights, one.unit), "ql-gradient",
              f"The samples in time; {reached} of {n} get gradient and stand out.",
              pd.DataFrame({"time": np.arange(n), "value": one.values, "gradient": weights}))


def distance(one: Samples, model: Entry | None) -> None:
    """W_p as the area between two quantile functions, where it comes from, and the transport plan behind it."""
    st.markdown("**And the second**")
    two = choose_samples(one.source, model, which=1)
    x, y = torch.from_numpy(one.values), torch.from_numpy(two.values)
    colours = (one.colour, two.colour if two.colour != one.colour else COLOURS[7])
    words, picture = st.columns(BESIDE, gap="medium")
    with words:
        p, levels = choose_p(), choose_levels(one.entry or model)
        a, b = quantiles_at(x, levels), quantiles_at(y, levels)
        (knots, at), (knots_b, at_b), plan = quantile_knots(x), quantile_knots(y), transport_plan(x, y)
        w = wasserstein(a[None], b[None], levels, p).item()
        exact = wasserstein(knots[None], knots_b[None], at, p, levels_b=at_b).item()
        slack = sum(wasserstein(q[None], kept[None], where, p, levels_b=levels).item()
                    for q, where, kept in ((knots, at, a), (knots_b, at_b, b)))
        formula(rf"W_{{{p:g}}} &= \Big(\int_0^1 |\bar Q_1 - \bar Q_2|^{{{p:g}}}\,dr\Big)^{{1/{p:g}}}", rf"&= {w:.4f}")
        st.caption(f"From Q̃ it would be {exact:.4f}, which by the triangle inequality is at most {slack:.3g} away; "
                   f"from the samples themselves, by the plan below, {transport_cost(x, y, plan, p):.4f}.")
    with picture:
        chart(figures.area_between(a.numpy(), b.numpy(), levels.numpy(), colours), "ql-area",
              f"Two quantile functions and the area between them; W of order {p:g} is {w:.4f}.",
              pd.DataFrame({"level": levels, "first": a, "second": b}))
    over_p_and_m(x, y, levels, p, w, exact)
    which_levels(a.numpy(), b.numpy(), levels, p, w)
    st.markdown("**The transport plan.** W is the price of moving q₁ until it is q₂. On a line the cheapest plan never "
                "crosses: smallest to smallest, largest to largest, whatever p. Each line is a sixtieth of the mass.")
    start, end = one.values[plan[0]], two.values[plan[1]]
    chart(figures.transport(a.numpy(), b.numpy(), levels.numpy(), (start, end, plan[2].numpy()), colours), "ql-plan",
          "The density of q₁ above, of q₂ below, and lines that never cross from where mass is to where it goes.",
          pd.DataFrame({"from": start, "to": end, "mass": plan[2]}))


def over_p_and_m(x: Tensor, y: Tensor, levels: Tensor, p: float, w: float, exact: float) -> None:
    """What p and M do to this pair: its distance over either, the present setting marked; a click goes there."""
    st.markdown("**What p and M do to this pair.** Click a point to go there; on *Distances* and *Verification* the "
                "same p and M are turned for all people.")

    def to_p(point: dict) -> None:
        st.session_state["p"] = float(point["x"])

    def to_points(point: dict) -> None:
        st.session_state.update(M=int(point["x"]), ql_levels="even")

    left, right = st.columns(2, gap="large")
    orders, points = np.linspace(1, 8, 15), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    pair = [quantiles_at(each, levels) for each in (x, y)]
    largest = float(np.abs(np.subtract(*(each.numpy() for each in pair))).max())
    over_p = np.array([wasserstein(pair[0][None], pair[1][None], levels, float(order)).item() for order in orders])
    over_m = [wasserstein(*(quantiles_at(each, even_levels(m))[None] for each in (x, y)), even_levels(m), p).item()
              for m in points]
    with left:
        st.markdown("**W over p.** It never falls, and ends at the largest difference.")
        chart(figures.order_curve(orders, over_p, largest, p, w), "ql-orders",
              f"W over p from 1 to 8, rising from {over_p[0]:.4g} to {over_p[-1]:.4g}.",
              pd.DataFrame({"p": orders, "distance": over_p}), on_click=to_p)
    with right:
        st.markdown("**W over M**, even levels. The more points, the nearer to what Q̃ gives.")
        chart(figures.points_curve(points, over_m, exact, len(levels) - 2, w), "ql-points",
              f"W over M from 1 to 64, {over_m[0]:.4g} to {over_m[-1]:.4g}; from Q̃ it is {exact:.4g}.",
              pd.DataFrame({"M": points, "distance": over_m}), on_click=to_points)


def which_levels(a: np.ndarray, b: np.ndarray, levels: Tensor, p: float, w: float) -> None:
    """Where along the levels a distance w comes from."""
    grid = np.union1d(np.linspace(0, 1, 401), levels.numpy())
    difference = np.abs(np.interp(grid, levels, a) - np.interp(grid, levels, b))
    share = (difference / w) ** p if w else np.zeros_like(grid)
    st.markdown("**Where it comes from.** With a large p, from the peak alone.")
    chart(figures.cost_by_level(grid, share, p), "ql-cost", f"Share of the cost over the level, for p = {p:g}.",
          pd.DataFrame({"level": grid, "difference": difference, "share": share}))


def slide(one: Samples, model: Entry | None) -> None:
    """The paper's point, live: Jensen–Shannon and W while q₂, a copy of q₁, is slid away from it."""
    words, picture = st.columns(BESIDE, gap="medium")
    with words:
        shift = st.slider("Slide q₂ away, in widths of q₁", 0.0, 3.0, 1.5, 0.05, key="ql_shift", **KEPT)
        p, levels = choose_p(), choose_levels(one.entry or model)
    a = quantiles_at(torch.from_numpy(one.values), levels)
    width = (a[-1] - a[0]).item() or 1.0
    shifts = torch.linspace(0, 3, 241, dtype=torch.float64)
    moved = a + width * shifts[:, None, None]                 # (241, 1, M+2)
    curves = jensen_shannon(a[None], moved, levels).numpy(), wasserstein(a[None], moved, levels, p).numpy()
    now = a + width * shift
    here = jensen_shannon(a[None], now[None], levels).item(), wasserstein(a[None], now[None], levels, p).item()
    # Slopes are taken a hair to the right: where the supports touch, and at zero, the curves have a kink.
    place = torch.tensor(width * (shift + 1e-9), dtype=torch.float64, requires_grad=True)
    near = (a + place)[None]
    slopes = [round(torch.autograd.grad(value, place)[0].item(), 6) + 0.0 for value in (
        jensen_shannon(a[None], near, levels), wasserstein(a[None], near, levels, p))]
    apart = bool(now[0] > a[-1])
    with words:
        formula(rf"J &= {here[0]:.4f} & \tfrac{{dJ}}{{ds}} &= {slopes[0]:.4f}",
                rf"W_{{{p:g}}} &= {here[1]:.4f} & \tfrac{{dW}}{{ds}} &= {slopes[1]:.4f}")
    with picture:
        reach = figures.span(a.numpy(), (a + 3 * width).numpy())
        colours = (one.colour, COLOURS[7])
        chart(figures.two_densities(a.numpy(), now.numpy(), levels.numpy(), colours, reach), "ql-slide",
              f"The densities of q₁ and of q₂, slid by {shift:g} widths; they {'do not ' if apart else ''}overlap.",
              pd.DataFrame({"level": levels, "first": a, "second": now}))
        if apart:
            st.info("Apart: J is log 2 = 0.6931, near or far, so its gradient is 0 and there is nothing to learn from. "
                    "W still says which way and how far.", icon=":material/arrow_range:")
        else:
            st.info("They overlap: both have a gradient. Slide on, until they do not: J then stays at log 2 = 0.6931, "
                    "and W goes on.", icon=":material/join_inner:")
    chart(figures.over_shift(shifts.numpy(), *curves, shift, here, p), "ql-shift",
          "Left, Jensen–Shannon over the shift: it stays at log 2 once the two are apart. Right, W: it grows. "
          f"At {shift:g} widths they are {here[0]:.4f} and {here[1]:.4f}.",
          pd.DataFrame({"shift": shifts, "jensen_shannon": curves[0], "wasserstein": curves[1]}))
