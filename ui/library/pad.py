"""The signing pad on a page: `pad.js`, and the one place that takes what it hands over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st

from qpwl_core.data.capture import RATE, Capture, CaptureError, captured

YOURS, THEIRS = "#0072B2", "#D55E00"         # ink of whoever owns a signature, and of whoever tries
LABEL = ("A pad to sign on with a mouse, a finger or a pen. Enter hands the drawing over, Escape clears it. It needs a "
         "pointer; without one, recordings can be uploaded on the page Data.")
HTML = """
<div class="pad">
  <div class="bar above"><button type="button" class="watch" hidden>▶ Watch it signed</button></div>
  <canvas class="ink" role="img" tabindex="0"></canvas>
  <p class="says" role="status"></p>
  <div class="bar">
    <button type="button" class="undo" aria-label="Undo stroke">Undo</button>
    <button type="button" class="clear">Clear</button>
    <button type="button" class="done">Done</button>
  </div>
</div>
"""
CSS = """
.pad { max-width: 680px; font-family: var(--st-font); color: var(--st-text-color); }
.ink { display: block; box-sizing: border-box; width: 100%; height: auto; aspect-ratio: 2.1; touch-action: none;
       border: 2px solid var(--st-border-color); border-radius: 14px; background: var(--st-secondary-background-color);
       cursor: crosshair; user-select: none; -webkit-user-select: none; -webkit-touch-callout: none; }
.ink.busy { border-color: var(--st-primary-color); }
.ink:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
.says { min-height: 1.4em; margin: 6px 2px; font-size: 0.875rem; }
.says.alarm, .says.answer { font-weight: 600; }
.says.answer { font-size: 1rem; }
.says.alarm::before { content: "⚠ "; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; }
.above:has(button:not([hidden])) { margin-bottom: 8px; }
.bar button { font: inherit; min-height: 44px; padding: 0 14px; border-radius: 10px; cursor: pointer;
              border: 1px solid var(--st-border-color); background: var(--st-background-color); color: inherit; }
.bar button:disabled { opacity: 0.45; cursor: default; }
.bar .done { margin-left: auto; min-width: 96px; font-weight: 600; color: #fff; background: var(--st-primary-color);
             border-color: var(--st-primary-color); }
.bar button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
.bar [hidden] { display: none; }
"""
_mount = st.components.v2.component("qpwl-pad", html=HTML, css=CSS, js=Path(__file__).with_suffix(".js")
                                 .read_text(encoding="utf-8"))


def pad(key: str, take: Callable[[Capture], str | None], *, hint: str = "Sign here", label: str = LABEL,
        colour: str = YOURS, ghost: dict | None = None, trace: bool = False, seconds: float | None = None,
        said: str = "") -> None:
    """A pad; ``take`` gets every drawing that is whole, and says in a sentence what is wrong with one, if anything.

    ``ghost``: ink to watch at its true speed (`ink_of`), which ``trace`` leaves to be seen; ``seconds``: the drawing is
    handed over by itself so long after it began; ``said``: what came of the last one, to read where it was drawn.
    """
    def drawn() -> None:
        payload = st.session_state[key].get("drawn")
        if payload is not None:
            st.session_state[f"{key}_answer"] = answer(payload, st.session_state.get(f"{key}_answer"), take)

    answered = st.session_state.get(f"{key}_answer") or {"seen": "", "wrong": ""}
    _mount(key=key, height="content", on_drawn_change=drawn, data={
        "key": key, "hint": hint, "label": label, "colour": colour, "ghost": ghost, "trace": trace, "seconds": seconds,
        "said": said, **answered})


def answer(payload, before: dict | None, take: Callable[[Capture], str | None]) -> dict:
    """What came of a message from the browser: its id, and what is wrong with it. One that came before counts once."""
    name = payload.get("id") if isinstance(payload, dict) else None
    name = name[:40] if isinstance(name, str) else ""
    if before and name and before["seen"] == name:
        return before
    try:
        return {"seen": name, "wrong": take(captured(payload)) or ""}
    except CaptureError as error:
        text = str(error)
        return {"seen": name, "wrong": f"{text[:1].upper()}{text[1:]}."}


def ink_of(values: np.ndarray, colour: str = YOURS) -> dict:
    """Ink for a pad to play, from x, y, pressure, down at 100 Hz. (T, 4) -> strokes [t, x, y, pressure, …] and a box"""
    down = values[:, 3] > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[0], down.astype(int), [0]])))
    timed = np.column_stack([1000 / RATE * np.arange(len(values)), values[:, :3]]).round(2)
    strokes = [timed[start:end].ravel().tolist() for start, end in zip(edges[::2], edges[1::2], strict=True)]
    low, high = values[down, :2].min(0), values[down, :2].max(0)
    wide, tall = np.maximum(high - low, 1.0).tolist()
    return {"strokes": strokes, "left": float(low[0]), "top": float(low[1]), "wide": wide, "high": tall,
            "colour": colour}
