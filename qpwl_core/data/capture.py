"""What a pad in the browser hands over, checked like any file and turned into recordings.

A capture is plain numbers, as JSON has them: ``{"device": "mouse", "strokes": [[t, x, y, pressure, t, x, …], …]}`` with
t in milliseconds, x and y in pixels (y downwards), pressure from 0 to 1. A browser reports a pointer only while it
moves, so a stretch without a report is a pen that stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.bounds import INK_CLOCK as LATEST
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import evenly
from qpwl_core.data.recordings import Recordings

DEVICES = ("mouse", "touch", "pen")
CHANNELS = ("x", "y", "pressure", "down")
RATE = 100.0               # Hz, as in the files of signatures
NUMBERS = 4                # of a sample
STILL = 3.0                # median steps without a report after which the pen counts as standing still


class CaptureError(RecordingsError):
    """What is wrong with a capture, in a sentence for whoever drew it."""


@dataclass(frozen=True, eq=False)
class Capture:
    """One signature or movement: (T, 4) x, y, pressure, down at 100 Hz, and what it was made with."""

    values: np.ndarray
    device: str
    samples: int              # that the browser reported
    seconds: float

    @property
    def strokes(self) -> int:
        """How often the pen came down."""
        down = self.values[:, 3] > 0.5
        return int(down[0]) + int((down[1:] & ~down[:-1]).sum())

    @property
    def path(self) -> float:
        """Pixels of ink."""
        both = (self.values[1:, 3] > 0.5) & (self.values[:-1, 3] > 0.5)
        return float(np.hypot(*np.diff(self.values[:, :2], axis=0).T)[both].sum())


def captured(payload) -> Capture:
    """A capture from what a browser sent; a CaptureError says what is wrong with anything else.

    >>> capture = captured({"device": "pen", "strokes": [[x for i in range(30) for x in (8 * i, i, 2 * i, 0.5)]]})
    >>> capture.values.shape, capture.strokes
    ((24, 4), 1)
    """
    if not isinstance(payload, dict):
        raise CaptureError(f"a capture must be a table of device and strokes, not {type(payload).__name__}")
    device, strokes = payload.get("device"), payload.get("strokes")
    if device not in DEVICES or not isinstance(device, str):
        raise CaptureError(f"device must be {', '.join(DEVICES[:-1])} or {DEVICES[-1]}, not {shown(device)}")
    times, values, up = _samples(_checked_strokes(strokes))
    seconds = float(times[-1] - times[0])
    if seconds > bounds.INK_SECONDS:
        raise CaptureError(f"that took {seconds:.0f} seconds, and at most {bounds.INK_SECONDS:.0f} are kept: please "
                           "draw it again, faster")
    try:
        even = evenly(times, values, up, RATE).astype(np.float32)
    except RecordingsError as error:
        raise CaptureError(f"the drawing {error}") from None
    if not (even[:, 3] > 0.5).any():
        raise CaptureError("the pen hardly touched: please draw it again")
    return Capture(even, device, len(times), seconds)


def recordings_of(captures: Sequence[Capture], subjects: Sequence[str], domain: str = "signature",
                  imitates: Sequence[str] | None = None, stimuli: Sequence[str] | None = None) -> Recordings:
    """Captures as recordings, one sequence each, that Data, Train and the command line accept."""
    devices = sorted({capture.device for capture in captures})
    return Recordings([capture.values for capture in captures], list(subjects), CHANNELS, RATE,
                      None if stimuli is None else list(stimuli),
                      {"domain": domain, "y": "down", "source": "drawn in the browser", "device": ", ".join(devices)},
                      None if imitates is None else list(imitates))


def _checked_strokes(strokes) -> list[np.ndarray]:
    """Strokes as arrays (k, 4), bounded before anything of their size is made."""
    if not isinstance(strokes, list) or not strokes:
        raise CaptureError("there is no stroke: please draw something first")
    if len(strokes) > bounds.INK_STROKES:
        raise CaptureError(f"there are {len(strokes):,} strokes, and at most {bounds.INK_STROKES} are kept")
    if not all(isinstance(stroke, list) and stroke and len(stroke) % NUMBERS == 0 for stroke in strokes):
        raise CaptureError("a stroke must be a list of time, x, y and pressure of each sample")
    samples = sum(map(len, strokes)) // NUMBERS
    if samples > bounds.INK_SAMPLES:
        raise CaptureError(f"there are {samples:,} samples, and at most {bounds.INK_SAMPLES:,} are kept")
    if samples < bounds.LEAST_INK:
        raise CaptureError(f"that was very short ({samples} samples): please draw it again")
    if not all(type(number) in (int, float) for number in chain.from_iterable(strokes)):
        raise CaptureError("a stroke must hold numbers and nothing else")
    try:
        return [np.array(stroke, dtype=np.float64).reshape(-1, NUMBERS) for stroke in strokes]
    except OverflowError:
        raise CaptureError("a stroke must hold finite numbers") from None


def _samples(strokes: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times in seconds (T,), x, y and pressure (T, 3), and whether the pen is up from there (T,); all checked."""
    everything = np.concatenate(strokes)
    if not np.isfinite(everything).all():
        raise CaptureError("a stroke must hold finite numbers")
    times = everything[:, 0]
    if np.abs(times).max() > LATEST:
        raise CaptureError("times must be those of the browser's clock, in milliseconds")
    if np.abs(everything[:, 1:3]).max() > bounds.INK_PIXELS:
        raise CaptureError(f"coordinates must stay within ±{bounds.INK_PIXELS:,.0f} pixels")
    if everything[:, 3].min() < 0 or everything[:, 3].max() > 1:
        raise CaptureError("pressure must lie between 0 and 1")
    if (np.diff(times) < 0).any():
        raise CaptureError("time must not run backwards in a drawing")
    inside = np.concatenate([np.diff(stroke[:, 0]) for stroke in strokes])
    inside = inside[inside > 0]
    if not len(inside):
        raise CaptureError("all samples came at one time: the browser's clock stands still")
    step = float(np.median(inside))
    if step > 1000 * bounds.INK_SLOWEST:
        raise CaptureError(f"the browser reported only {1000 / step:.0f} positions per second: close what else is "
                           "running and draw it again")
    held = [_standing(_distinct(stroke), step) for stroke in strokes]
    up = np.concatenate([np.arange(len(stroke)) == len(stroke) - 1 for stroke in held])
    joined = np.concatenate(held)
    return joined[:, 0] / 1000, joined[:, 1:], up


def _distinct(stroke: np.ndarray) -> np.ndarray:
    """The last of all samples at one time. (k, 4) -> (k', 4)"""
    return stroke[np.append(np.diff(stroke[:, 0]) > 0, True)]


def _standing(stroke: np.ndarray, step: float) -> np.ndarray:
    """Where nothing was reported for long the pen stood: it stays until one step before the next report."""
    long = np.flatnonzero(np.diff(stroke[:, 0]) > max(STILL * step, 20.0))
    waiting = stroke[long].copy()
    waiting[:, 0] = stroke[long + 1, 0] - step
    return np.insert(stroke, long + 1, waiting, axis=0)
