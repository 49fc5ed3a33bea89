"""The quantile layer and the Wasserstein distance as pictures; their axes stay where they are while a slider moves.

Figures are made in one go from plain dictionaries: on a page of ten, adding trace by trace would take most of the time.
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from ui.shell.palette import COLOURS
from ui.shell.panels import figure

BLUE, ORANGE, GREEN, PINK, SKY, RED = COLOURS[:6]
FAINT = "rgba(128,128,128,0.55)"                    # readable on white and on black
SHADE, WRONG = "rgba(86,180,233,0.35)", "rgba(213,94,0,0.45)"
LEVEL = {"title": {"text": "level r"}, "range": [-0.02, 1.02]}
LINES = 60                                          # of a transport plan that are drawn
STEPS = ("Samples", "Sorted", "Q̂", "Q̃", "Q̄")


def span(*values: np.ndarray, room: float = 0.06) -> list[float]:
    """An axis that holds all values with room at both ends, also where they are all the same."""
    low, high = min(float(np.min(v)) for v in values), max(float(np.max(v)) for v in values)
    pad = (high - low) * room or max(abs(low), 1.0) * 0.1
    return [low - pad, high + pad]


def _axis(title: str, reach: list[float], **more) -> dict:
    return {"title": {"text": title}, "range": reach, **more}


def _figure(traces: list[dict], height: int, x: dict, y: dict, **layout) -> go.Figure:
    for trace in traces:                            # SVG up to a thousand points, then WebGL
        trace.setdefault("type", "scattergl" if len(trace["x"]) > 1000 and "fill" not in trace else "scatter")
    return figure(traces, height=height, margin={"l": 10, "r": 10, "t": 40, "b": 10}, xaxis=x, yaxis=y,
                  **{"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}, **layout})


def _line(x, y, name: str, colour: str, hover: str, width: float = 2.5, dash: str = "solid", knots: int = 0, **more):
    """A line, with knots of that size; ``hover`` says what a point means."""
    return {"x": x, "y": y, "name": name, "mode": "lines+markers" if knots else "lines", "marker": {"size": knots},
            "line": {"color": colour, "width": width, "dash": dash}, "hovertemplate": hover + "<extra></extra>", **more}


def _dots(x, y, name: str, marker: dict, hover: str, **more):
    return {"x": x, "y": y, "name": name, "mode": "markers", "marker": marker,
            "hovertemplate": hover + "<extra></extra>", **more}


def steps(x: np.ndarray, levels: np.ndarray, kept: np.ndarray, step: int, r: float, unit: str) -> go.Figure:
    """The layer in five steps: samples in time on the left, on the right what became of them at the same height.

    x (N,) in time; ``kept`` (M+2,) are the values of Q̃ at ``levels``; ``step`` counts from 0; r is the level looked at.
    """
    n, order, where = len(x), np.argsort(x, kind="stable"), {"xaxis": "x2"}
    dots = "lines+markers" if step < 2 else "lines"      # colours say which sample went where while they are sorted
    moment = {"cmin": 0, "cmax": max(n - 1, 1), "colorscale": "Viridis", "size": 6}
    traces = [
        _line(np.arange(n), x, "", FAINT, f"{unit} %{{x}}: %{{y:.4g}}", 1, mode=dots, showlegend=False,
              marker=moment | {"color": np.arange(n)}),
        _dots(np.arange(n) / n, x[order], "sorted samples", moment | {"color": order},
              f"%{{y:.4g}}, from {unit} %{{customdata}}", customdata=order, opacity=1 if step == 1 else 0.35, **where),
        _line(np.repeat(np.arange(n + 1) / n, 2)[1:-1], np.repeat(x[order], 2), "Q̂", ORANGE, "Q̂ = %{y:.4g}",
              3 if step == 2 else 1.5, **where),
        _line(np.arange(n + 1) / n, np.append(x[order], x[order[-1]]), "Q̃", GREEN, "Q̃(%{x:.3f}) = %{y:.4g}",
              3 if step == 3 else 1.5, **where),
        _line(levels, kept, f"Q̄, {len(levels)} knots", BLUE, "knot %{x:.3f}: %{y:.4g}", 3, knots=8, **where)]
    looked_at = {"type": "line", "xref": "x2", "x0": r, "x1": r, "yref": "paper", "y0": 0, "y1": 1,
                 "line": {"color": RED, "width": 1.5, "dash": "dot"}}
    return _figure(
        traces[:step + 1], 430, _axis(f"{unit}, in time", span(np.array([0, n - 1]), room=0.02), domain=[0, 0.485]),
        _axis("value", span(x)), xaxis2=LEVEL | {"domain": [0.515, 1]}, shapes=[looked_at] if step >= 2 else [])


def approximation(knots: tuple[np.ndarray, np.ndarray], levels: np.ndarray, kept: np.ndarray) -> go.Figure:
    """Q̃ (values, levels) against Q̄ through ``kept`` (M+2,) at ``levels``; what lies between them is shaded."""
    values, at = knots
    grid = np.union1d(at, levels)
    return _figure([
        _line(grid, np.interp(grid, levels, kept), "", BLUE, "", 0, showlegend=False, hoverinfo="skip", type="scatter"),
        _line(grid, np.interp(grid, at, values), "Q̃", GREEN, "Q̃(%{x:.3f}) = %{y:.4g}", 2, fill="tonexty",
              fillcolor=WRONG),
        _line(levels, kept, f"Q̄, {len(levels)} knots", BLUE, "knot %{x:.3f}: %{y:.4g}", knots=7),
    ], 430, LEVEL, _axis("value", span(values)))


def error_over_points(curve: dict[str, list[float]], points: int, here: tuple[float, float]) -> go.Figure:
    """Error over M with even levels; the dots are the present one. ``curve``: points, area, largest, bound."""
    lines = [_line(curve["points"], curve[name], title, colour, f"M = %{{x}}, {title}: %{{y:.3g}}", dash=dash)
             for name, title, colour, dash in (
                 ("largest", "largest error", PINK, "solid"), ("area", "∫ |Q̃ − Q̄|", RED, "solid"),
                 ("bound", "its bound", FAINT, "dot"))]
    now = _dots([points, points], here, "now", {"color": [RED, PINK], "size": 12, "line": {"width": 2, "color": FAINT}},
                "now, M = %{x}: %{y:.3g}", showlegend=False)
    y = _axis("error, in units of the value", [0, 1])
    if max(curve["largest"]) > 0:                   # on a logarithmic axis there is no place for zero
        low = math.log10(max(curve["bound"][-1] / 100, 1e-300))
        y = y | {"type": "log", "range": [low, math.log10(max(curve["largest"])) + 0.15], "exponentformat": "power",
                 "dtick": 1}
    return _figure([*lines, now], 360, _axis("sampling points M", [0, 65.5], tickvals=[1, *range(8, 65, 8)]), y)


def gradient_reach(x: np.ndarray, weights: np.ndarray, unit: str) -> go.Figure:
    """Samples in time; those that a gradient reaches stand out."""
    reached = np.flatnonzero(weights > 0)
    return _figure([
        _line(np.arange(len(x)), x, "no gradient", FAINT, f"{unit} %{{x}}: %{{y:.4g}}", 1, knots=4, opacity=0.6),
        _dots(reached, x[reached], "gets gradient", {"color": RED, "size": 8},
              f"{unit} %{{x}}: %{{y:.4g}}, weight %{{customdata:.2f}}", customdata=weights[reached]),
    ], 360, _axis(f"{unit}, in time", span(np.array([0, len(x) - 1]), room=0.02)), _axis("value", span(x)))


def area_between(a: np.ndarray, b: np.ndarray, levels: np.ndarray, colours: tuple[str, str]) -> go.Figure:
    """Two quantile functions (M+2,) and the area between them, which is W₁."""
    return _figure([
        _line(levels, a, "Q̄₁", colours[0], "Q̄₁(%{x:.3f}) = %{y:.4g}", knots=6),
        _line(levels, b, "Q̄₂", colours[1], "Q̄₂(%{x:.3f}) = %{y:.4g}", dash="dash", knots=6, fill="tonexty",
              fillcolor=SHADE),
    ], 430, LEVEL, _axis("value", span(a, b)), hovermode="x unified")


def cost_by_level(r: np.ndarray, share: np.ndarray, p: float) -> go.Figure:
    """Which levels the distance comes from: |Q̄₁ − Q̄₂|^p, scaled to an area of 1."""
    return _figure([_line(r, share, f"p = {p:g}", SKY, "r = %{x:.3f}: %{y:.3g} times the average", 2, fill="tozeroy",
                          fillcolor=SHADE, showlegend=True)],
                   360, LEVEL, _axis("share of the cost (average 1)", [0, max(3.0, float(share.max()) * 1.05)]))


def order_curve(orders: np.ndarray, distances: np.ndarray, largest: float, p: float, here: float) -> go.Figure:
    """W_p over p, with the present p, and the largest difference, which it grows towards."""
    return _figure([
        _line(orders, distances, "W", SKY, "p = %{x}: %{y:.4g}", knots=7),
        _line([1, 8], [largest, largest], "largest difference (p → ∞)", FAINT, "%{y:.4g}", 2, "dot"),
        _dots([p], [here], "now", {"color": RED, "size": 12}, "now: %{y:.4g}", showlegend=False),
    ], 360, _axis("order p", [0.9, 8.1]), _axis("distance", [0, (largest or 1.0) * 1.1]))


def points_curve(points: list[int], distances: list[float], exact: float, now: int, here: float) -> go.Figure:
    """W over M at even levels, with the present one, and what it comes to with all samples (from Q̃)."""
    ticks = [1, 2, 4, 8, 16, 32, 64]
    return _figure([
        _line(points, distances, "W", SKY, "M = %{x}: %{y:.4g}", knots=7),
        _line([1, 64], [exact, exact], "from Q̃", FAINT, "from Q̃: %{y:.4g}", 2, "dot"),
        _dots([now], [here], "now", {"color": RED, "size": 12}, "now, M = %{x}: %{y:.4g}", showlegend=False),
    ], 360, _axis("sampling points M", [-0.05, math.log10(70)], type="log", tickvals=ticks),
        _axis("distance", [0, (max(*distances, exact, here) or 1.0) * 1.1]))


def outline(values: np.ndarray, mass: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """The density behind Q̄ as a line to draw: steps over the knots' values, no higher than ``top`` (atoms are)."""
    rise = np.diff(values)
    height = np.minimum(np.divide(mass, rise, out=np.full(len(mass), np.inf), where=rise > 0), top)
    return np.repeat(values, 2), np.concatenate([[0.0], np.repeat(height, 2), [0.0]])


def usual_height(values: np.ndarray, mass: np.ndarray) -> float:
    """A height that shows a density well: of its tallest step, but not of needles far above all else."""
    rise = np.diff(values)
    height = np.sort(mass[rise > 0] / rise[rise > 0])
    return float(min(height[-1], 3 * height[int(0.75 * (len(height) - 1))])) if len(height) else 1.0


def transport(a: np.ndarray, b: np.ndarray, levels: np.ndarray, moves: tuple[np.ndarray, np.ndarray, np.ndarray],
              colours: tuple[str, str]) -> go.Figure:
    """Both densities, and lines from where mass is to where it goes. ``moves``: from (n,), to (n,), mass (n,)."""
    mass, (start, end, weight) = np.diff(levels), moves
    share = (np.arange(LINES) + 0.5) / LINES                                  # each line stands for the same mass
    shown = np.searchsorted(np.cumsum(weight), share).clip(max=len(weight) - 1)
    traces = [_line(np.stack([start[shown], end[shown], np.full(LINES, np.nan)], 1).ravel(),
                    np.tile([1.0, 0.0, np.nan], LINES), "moves", FAINT, "", 1, hoverinfo="skip")]
    top = max(usual_height(a, mass), usual_height(b, mass))
    for values, name, colour, base, sign in ((a, "q₁", colours[0], 1.0, 1), (b, "q₂", colours[1], 0.0, -1)):
        x, y = outline(values, mass, top)
        traces += [_line([x[0], x[-1]], [base, base], "", colour, "", 0, showlegend=False, hoverinfo="skip"),
                   _line(x, base + sign * y / top, name, colour, f"{name}: %{{x:.4g}}", 2, fill="tonexty")]
    return _figure(traces, 400, _axis("value", span(a, b)), {
        "tickvals": [-0.5, 1.5], "ticktext": ["q₂", "q₁"], "range": [-1.1, 2.1], "zeroline": False, "showgrid": False})


def two_densities(a: np.ndarray, b: np.ndarray, levels: np.ndarray, colours: tuple[str, str],
                  reach: list[float]) -> go.Figure:
    """q₁ and the q₂ that is slid away from it, over a value axis ``reach`` that stays where it is."""
    mass = np.diff(levels)
    top = max(usual_height(a, mass), usual_height(b, mass))
    return _figure([
        _line(*outline(values, mass, 1.2 * top), name, colour, f"{name}: density %{{y:.3g}} at %{{x:.4g}}", 2, dash,
              fill="tozeroy", opacity=0.8)
        for values, name, colour, dash in ((a, "q₁", colours[0], "solid"), (b, "q₂", colours[1], "dash"))
    ], 300, _axis("value", reach), _axis("density", [0, 1.1 * top]))


def over_shift(shifts: np.ndarray, divergence: np.ndarray, distance: np.ndarray, shift: float,
               here: tuple[float, float], p: float) -> go.Figure:
    """Jensen–Shannon and W_p over the shift (in widths of q₁), side by side, with the present place."""
    traces = []
    for name, curve, now, colour, axes in (
            ("Jensen–Shannon divergence", divergence, here[0], ORANGE, {"xaxis": "x", "yaxis": "y"}),
            (f"Wasserstein distance, p = {p:g}", distance, here[1], SKY, {"xaxis": "x2", "yaxis": "y2"})):
        traces += [_line(shifts, curve, name, colour, "shift %{x:.2f}: %{y:.4g}", 3, **axes),
                   _dots([shift], [now], "now", {"color": RED, "size": 13}, "now: %{y:.4g}", showlegend=False, **axes)]
    limit = _line(shifts[[0, -1]], [math.log(2)] * 2, "log 2", FAINT, "log 2", 2, "dot")
    title, reach = "shift, in widths of q₁", [float(shifts[0]) - 0.05, float(shifts[-1]) + 0.05]
    return _figure([limit, *traces], 340, _axis(title, reach, domain=[0, 0.46]), _axis("nats", [0, 0.8]),
                   xaxis2=_axis(title, reach, domain=[0.54, 1], anchor="y2"),
                   yaxis2=_axis("distance", [0, (float(distance.max()) or 1.0) * 1.1], anchor="x2"))
