"""The home page's pictures: two pairs of quantile functions with the area between them, and all filters at once."""

from __future__ import annotations

import numpy as np

from ui.home.drawing import Panel, legend

LINES = ("solid", "dot", "dash")
FARTHER, NEARER = "#0072B2", "#D55E00"


def two_pairs(levels: np.ndarray, curves: np.ndarray, names: list[str], colours: list[str], titles: list[str]) -> str:
    """Q̄ of a recording beside one of the same person (left) and one of another (right); the area between is shaded.

    ``curves`` (3, M+2): the recording, the same person's other one, the stranger's. -> HTML
    """
    low, high = curves.min(), curves.max()
    margin = 0.06 * ((high - low) or 1)
    drawn = []
    for other, title in zip((1, 2), titles, strict=True):
        panel = Panel((-0.02, 1.02), (low - margin, high + margin), height=300)
        panel.area(levels, curves[0], curves[other], colours[other])
        for i in (0, other):
            panel.line(levels, curves[i], colours[i], LINES[i],
                       [f"{names[i]}: {x:.0%} of what the filter gave lies below {y:.3g}"
                        for x, y in zip(levels, curves[i], strict=True)])
        drawn.append(panel.html(title, "Q̄(r)", "level r", {r: f"{r:.0%}" for r in (0, 0.25, 0.5, 0.75, 1)}))
    lines = legend(list(zip(names, colours, LINES, strict=True)))
    return f'<div class="panels">{"".join(drawn)}</div>{lines}'


def all_filters(order: np.ndarray, same: np.ndarray, other: np.ndarray) -> str:
    """W_p of both pairs in every filter, a line from the one to the other: how much farther or nearer the stranger is.

    ``order`` (K,): filters as drawn, from 0; ``same``, ``other`` (K,): the distances, by filter. -> HTML
    """
    panel = Panel((-1, len(order)), (0, 1.05 * (max(same.max(), other.max()) or 1)), height=220)
    for place, k in enumerate(order):
        panel.bar(place, same[k], other[k], FARTHER if other[k] >= same[k] else NEARER,
                  f"filter {k + 1}: {same[k]:.3g} to the same person, {other[k]:.3g} to the other")
    names = {"the other person is farther": FARTHER, "the other person is nearer": NEARER}
    lines = legend([(name, colour, "solid") for name, colour in names.items()], width=6)
    return lines + panel.html("", "W<sub>p</sub>", "filters, the best first", mark=(0, f"▲ filter {order[0] + 1}"))
