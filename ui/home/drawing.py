"""Pictures as HTML and SVG made on the server: there at once, with no plotly.js, in the colours of the theme.

Lines are drawn in a square that is stretched to whatever room there is, their widths are not; words are HTML, so they
keep their size on a phone. A panel has room, or goes below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import streamlit as st

CSS = """
.drawing { margin: 0; font-family: var(--st-font, sans-serif); font-size: 14px; color: var(--st-text-color, #0b0d12); }
.drawing .panels { display: flex; flex-wrap: wrap; gap: 12px 28px; }
.drawing .panel { flex: 1 1 240px; min-width: 0; padding-right: 12px; }
.drawing .title { text-align: center; font-size: 16px; margin: 0 0 6px 58px; }
.drawing .body { display: flex; }
.drawing .upright { writing-mode: vertical-rl; transform: rotate(180deg); text-align: center; width: 20px; }
.drawing .y { position: relative; width: 38px; flex: none; }
.drawing .y span { position: absolute; right: 8px; transform: translateY(50%); white-space: nowrap; font-size: 13px; }
.drawing .area { flex: 1; min-width: 0; }
.drawing svg { display: block; width: 100%; overflow: visible; }
.drawing svg path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.drawing svg .bar { vector-effect: none; }              /* as wide as there is room */
.drawing .grid { stroke: var(--st-border-color-light, #d9d9d9); stroke-width: 1; }
.drawing .x { position: relative; height: 22px; font-size: 13px; }
.drawing .x span { position: absolute; top: 5px; transform: translateX(-50%); white-space: nowrap; }
.drawing .x .start { transform: translateX(-6px); }
.drawing .below { text-align: center; margin: 4px 0 0 58px; }
.drawing .legend { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 6px 0 0 58px; }
.drawing .legend svg { display: inline-block; width: 34px; height: 10px; margin-right: 6px; }
"""
JS = """export default ({data, parentElement}) => {
  const box = parentElement.querySelector(".drawing");
  if (box.drawn === data.html) return;
  box.innerHTML = box.drawn = data.html;
  box.setAttribute("aria-label", data.alt);
};"""
DASHES = {"solid": "", "dot": "1 6", "dash": "9 6"}
FIGURE = '<figure class="drawing" role="figure"></figure>'
_mount = st.components.v2.component("qpwl-drawing", html=FIGURE, css=CSS, js=JS, isolate_styles=False)


def show(html: str, key: str, alt: str) -> None:
    """A picture on the page; ``alt`` says what it shows."""
    _mount(key=key, height="content", data={"html": html, "alt": alt})


def as_web_page(html: str, alt: str) -> str:
    """The same to take away, on white."""
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(alt)}</title><style>{CSS}</style>"
            f"<figure class=drawing role=figure aria-label=\"{escape(alt)}\">{html}</figure></html>")


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two, about so many.

    >>> ticks(-0.1, 1.9)
    [0.0, 0.5, 1.0, 1.5]
    """
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= count)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Panel:
    """Two axes and what is drawn between them; all that is added is escaped here."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], height: int):
        self.x, self.y, self.height, self.parts = x, y, height, []                    # parts: SVG
        self.bar_width = 60 / (x[1] - x[0])                                           # of 100: 0.6 of a step of x

    def across(self, value: float) -> float:
        """Where x stands, in % from the left."""
        return round(100 * (value - self.x[0]) / (self.x[1] - self.x[0]), 3)

    def up(self, value: float) -> float:
        """Where y stands, in % from below."""
        return round(100 * (value - self.y[0]) / (self.y[1] - self.y[0]), 3)

    def at(self, x: float, y: float) -> str:
        return f"{self.across(x):g} {100 - self.up(y):g}"

    def area(self, x: Sequence[float], one: Sequence[float], other: Sequence[float], colour: str) -> None:
        """What lies between two lines."""
        points = [self.at(a, b) for a, b in zip(x, one, strict=True)]
        back = [self.at(a, b) for a, b in zip(x, other, strict=True)][::-1]
        self.parts.append(f'<path d="M{"L".join(points + back)}Z" style="fill:{colour};fill-opacity:.18"/>')

    def line(self, x: Sequence[float], y: Sequence[float], colour: str, dash: str, words: Sequence[str]) -> None:
        """A line with its knots, each of which says something where one points at it."""
        points = [self.at(a, b) for a, b in zip(x, y, strict=True)]
        self.parts.append(f'<path d="M{"L".join(points)}" {stroke(colour, 2.5, dash)}/>')
        self.parts += [f'<path d="M{point}h0" {stroke(colour, 6)}><title>{escape(text)}</title></path>'
                       for point, text in zip(points, words, strict=True)]

    def bar(self, x: float, low: float, high: float, colour: str, words: str) -> None:
        """An upright stroke."""
        line = stroke(colour, self.bar_width, cap="butt")
        self.parts.append(f'<path d="M{self.at(x, low)}L{self.at(x, high)}" class="bar" {line}>'
                          f"<title>{escape(words)}</title></path>")

    def html(self, title: str = "", y_name: str = "", x_name: str = "", x_marks: dict[float, str] | None = None,
             mark: tuple[float, str] | None = None) -> str:
        """The panel with its words; ``mark``: a place below the axis that has a name."""
        rows = ticks(*self.y)
        grid = "".join(f'<path class="grid" d="M0 {100 - self.up(y):g}H100"/>' for y in rows)
        names = "".join(f'<span style="bottom:{self.up(y):g}%">{y:g}</span>' for y in rows)
        marks = "".join(f'<span style="left:{self.across(x):g}%">{escape(text)}</span>'
                        for x, text in (x_marks or {}).items())
        if mark:
            marks += f'<span class="start" style="left:{self.across(mark[0]):g}%">{escape(mark[1])}</span>'
        return (f'<div class="panel">{f"<div class=title>{escape(title)}</div>" if title else ""}<div class="body">'
                f'<div class="upright">{y_name}</div><div class="y" style="height:{self.height}px">{names}</div>'
                f'<div class="area"><svg viewBox="0 0 100 100" preserveAspectRatio="none" height="{self.height}">{grid}'
                f'{"".join(self.parts)}</svg><div class="x">{marks}</div></div></div>'
                f'<div class="below">{escape(x_name)}</div></div>')


def stroke(colour: str, width: float, dash: str = "solid", cap: str = "round") -> str:
    dashes = f";stroke-dasharray:{DASHES[dash]}" if DASHES[dash] else ""
    return f'style="stroke:{colour};stroke-width:{width:g};stroke-linecap:{cap}{dashes}"'


def legend(entries: Sequence[tuple[str, str, str]], width: float = 2.5) -> str:
    """Names of lines: (name, colour, dash) each."""
    return '<div class="legend">' + "".join(
        f'<span><svg viewBox="0 0 34 10" aria-hidden="true"><path d="M2 5H32" {stroke(colour, width, dash)}/></svg>'
        f"{escape(name)}</span>" for name, colour, dash in entries) + "</div>"
