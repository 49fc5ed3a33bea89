"""Signatures: a pen, a mouse and a finger made comparable, then how fast and in which direction the hand moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qpwl_core.common.bounds import SIGNATURE_COORDINATE as FARTHEST
from qpwl_core.common.bounds import SIGNATURE_SECONDS as MOST_SECONDS
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.preprocessing.recipe import Recipe, moments, resampled

STILL = 0.05             # sizes per second below which the pen does not move: for pauses, and as the floor of speeds
PEN_UP = ("keep", "hold", "drop")


@dataclass(frozen=True)
class SignatureRecipe(Recipe):
    """Velocity, log speed, direction, curvature and change of log speed of a signature of size 1, standardised.

    It takes the channels x and y and, where there are, pressure and down (1 while the pen touches; without it the pen
    always does). Every step can be switched off. ``rate``: Hz of all that comes out. ``pause``: seconds that the pen
    may be up or still at a stretch; the rest of it is cut out (None: nothing is). ``longest``: seconds of what is left,
    and what follows is cut off (None: nothing). ``pen_up``: while the pen is up, positions are kept as recorded or
    interpolated ("keep"), stay where it left ("hold"), or those samples are left out ("drop", since a mouse and a
    finger have none). ``smooth``: seconds, deviation of a Gaussian over the positions (0: none). ``centre``: positions
    from the middle of the ink. ``size``: divide by the root mean square distance of the ink from its middle, so that
    devices compare: speeds are sizes per second.

    What comes out: ``position`` x, y (off: forgers copy the shape well), ``velocity`` vx, vy, ``log_speed``,
    ``direction`` as cosine and sine, ``curvature`` in radians per second (asinh), ``change`` of log speed per second
    (asinh), ``pressure`` (off: a mouse has none) relative to the signature's mean, ``down``, ``time`` in seconds since
    the pen first touched, pauses cut (how long a signature takes, and when in it a moment comes, which the distribution
    of moments alone does not know), ``phase``, which share of the ink is drawn, as waves: the same order, whatever the
    pace. y grows upwards: it is turned round where ``info["y"]`` of the recordings is
    "down". ``clip``: largest value, in deviations of the training signatures. A recording above ten minutes,
    coordinates beyond ten million, and ink of a single point are refused.
    """

    rate: float | None = 100.0
    pause: float | None = 0.5
    longest: float | None = 20.0
    pen_up: str = "drop"
    smooth: float = 0.015
    centre: bool = True
    size: bool = True
    position: bool = False
    velocity: bool = True
    log_speed: bool = True
    direction: bool = True
    curvature: bool = True
    change: bool = True
    pressure: bool = False
    down: bool = False
    time: bool = False
    phase: bool = False
    clip: float = 3.0

    domain: ClassVar[str] = "signature"
    picks: ClassVar[bool] = True       # tablets tell more, such as tilt
    later: ClassVar[tuple[str, ...]] = ("time", "phase")

    def __post_init__(self):
        super().__post_init__()
        for name in ("pause", "longest"):
            value = getattr(self, name)
            self.require(name, value, value is None or 0 < value < np.inf, "a number of seconds above 0 or None")
        self.require("pen_up", self.pen_up, self.pen_up in PEN_UP, " or ".join(map(repr, PEN_UP)))
        self.require("smooth", self.smooth, 0 <= self.smooth < np.inf, "a number of seconds, at least 0")
        self.require("clip", self.clip, self.clip > 0, "a number above 0")
        for name in ("centre", "size", *FEATURES):
            self.require(name, getattr(self, name), isinstance(getattr(self, name), bool), "True or False")
        self.require("features", None, any(getattr(self, name) for name in FEATURES), f"one of {', '.join(FEATURES)}")

    def needed(self, channels):
        wanted = ["x", "y"] + ["pressure"] * self.pressure
        for name in wanted:
            if name not in channels:
                raise RecordingsError(f"the recordings lack the channel {shown(name)} that the signature recipe needs")
        return (*wanted, *(["down"] if "down" in channels else []))

    def output_channels(self, channels):
        return tuple(name for feature, names in FEATURES.items() if getattr(self, feature) for name in names)

    def prepare(self, values, channels, recordings):
        """The features of one signature before they are standardised, (T', C)."""
        values = np.asarray(values, dtype=np.float64)
        _check(values, channels, recordings.rate)
        down = values[:, channels.index("down")] > 0.5 if "down" in channels else np.ones(len(values), dtype=bool)
        if not down.any():
            raise RecordingsError("the pen must touch somewhere, and no sample is pen-down")
        path = values[:, :3] if self.pressure else values[:, :2]             # x, y(, pressure)
        assert self.rate is not None, "a recipe is settled before it is used"
        path, down = _at_rate(path, down, recordings.rate, self.rate)
        if recordings.info.get("y") == "down":
            path[:, 1] = -path[:, 1]
        middle = path[down, :2].mean(axis=0)
        size = np.sqrt(np.square(path[down, :2] - middle).sum(axis=1).mean())
        if not size > 0:
            raise RecordingsError("a signature must have some size, and its ink is a single point")
        if self.centre:
            path[:, :2] -= middle
        path, down = _without_pauses(path, down, self.rate, size, self.pause)
        if self.longest is not None:
            most = max(2, round(self.longest * self.rate))
            path, down = path[:most], down[:most]
        return self._features(path, down, size)

    def _features(self, path, down, size):
        """The columns that are asked for. (T, 2 or 3), (T,) -> (T', C)"""
        assert self.rate is not None, "a recipe is settled before it is used"
        place = path[:, :2] / (size if self.size else 1)
        place = smoothed(_held(place, down) if self.pen_up == "hold" else place, self.smooth * self.rate)
        if len(place) < 2:
            place = np.repeat(place, 2, axis=0)
            down = np.repeat(down, 2)
            path = np.repeat(path, 2, axis=0)
        still = STILL if self.size else STILL * size
        velocity = np.gradient(place, axis=0) * self.rate
        speed = np.sqrt(np.square(velocity).sum(axis=1) + still**2)
        turning = np.gradient(velocity, axis=0) * self.rate
        curvature = (velocity[:, 0] * turning[:, 1] - velocity[:, 1] * turning[:, 0]) / speed**2
        log_speed = np.log(speed)
        columns = {"position": place, "velocity": velocity, "log_speed": log_speed,
                   "direction": velocity / speed[:, None], "curvature": np.arcsinh(curvature),
                   "change": np.arcsinh(np.gradient(log_speed) * self.rate), "down": down,
                   "time": np.arange(len(place)) / self.rate, "phase": _phase(place, down)}
        if self.pressure:
            columns["pressure"] = path[:, 2] / max(path[down, 2].mean(), 1e-12)
        chosen = np.column_stack([columns[name] for name in FEATURES if getattr(self, name)]).astype(np.float64)
        return chosen[down] if self.pen_up == "drop" else chosen

    def measure(self, prepared, channels):
        centre, scale = moments(prepared)
        return {"centre": centre, "scale": scale}

    def finish(self, prepared, statistics, channels):
        standard, = super().finish(prepared, statistics, channels)
        return [np.clip(standard, -self.clip, self.clip)]

    def shapes(self, channels):
        columns = (len(self.output_channels(channels)),)
        return {"centre": columns, "scale": columns}


FEATURES = {"position": ("x", "y"), "velocity": ("vx", "vy"), "log_speed": ("log_speed",),
            "direction": ("cos", "sin"), "curvature": ("curvature",), "change": ("change",), "pressure": ("pressure",),
            "down": ("down",), "time": ("time",),
            "phase": ("phase_cos", "phase_sin", "phase_cos2", "phase_sin2")}


def smoothed(values, deviation) -> np.ndarray:
    """Values (T, C) under a Gaussian of so many samples' deviation."""
    if deviation <= 0 or len(values) < 2:
        return values
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(values, deviation, axis=0, mode="nearest")


def _check(values, channels, rate):
    """One sentence for what is no signature."""
    if len(values) > MOST_SECONDS * rate:
        raise RecordingsError(f"a signature must take at most {MOST_SECONDS:g} seconds, and this one has "
                              f"{len(values):,} samples, {len(values) / rate:.0f} seconds")
    farthest = np.abs(values[:, :2]).max()
    if farthest > FARTHEST:
        raise RecordingsError(f"coordinates must stay within ±{FARTHEST:g}, and one is {farthest:g}")


def _at_rate(path, down, rate, target):
    """Positions and pen at another rate; the pen is down where the nearest sample is."""
    path = np.array(resampled(path, rate, target))
    nearest = np.round(np.arange(len(path)) * rate / target).astype(int)
    return path, down[np.minimum(nearest, len(down) - 1)]


def _phase(place, down):
    """How much of the ink is drawn, 0 to 1, as cosine and sine of half a turn and of a whole one. (T, 2) -> (T, 4)

    As waves, so that a filter, which adds and cuts off, can answer to the beginning, the middle or the end alone.
    """
    step = np.sqrt(np.square(np.diff(place, axis=0, prepend=place[:1])).sum(axis=1))
    step *= down & np.concatenate([down[:1], down[:-1]])                 # on paper at both of its ends
    drawn = np.pi * np.cumsum(step) / max(step.sum(), 1e-12)
    return np.column_stack([np.cos(drawn), np.sin(drawn), np.cos(2 * drawn), np.sin(2 * drawn)])


def _held(place, down):
    """Positions where the pen was last down, at the start where it will be first. (T, 2), (T,) -> (T, 2)"""
    last = np.maximum.accumulate(np.where(down, np.arange(len(down)), -1))
    return place[np.where(last < 0, np.argmax(down), last)]


def _without_pauses(path, down, rate, size, pause):
    """Without what is longer than a pause while the pen is up or still, and without pen-up samples at both ends.

    Of a stretch that is too long its first and its last half pause stay; a pen that is up goes straight between them.
    """
    ink = np.flatnonzero(down)
    path, down = path[ink[0]:ink[-1] + 1], down[ink[0]:ink[-1] + 1]
    if pause is None or len(path) < 3:
        return path, down
    most = max(2, round(pause * rate))
    step = np.sqrt(np.square(np.diff(path[:, :2], axis=0, prepend=path[:1, :2])).sum(axis=1)) * rate / size
    path, keep = path.copy(), np.ones(len(path), dtype=bool)
    for idle in (~down, down & (step < STILL)):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], idle.astype(int), [0]])))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end - start <= most:
                continue
            keep[start + most // 2:end - (most - most // 2)] = False
            if not down[start]:
                stay = np.flatnonzero(keep[start:end]) + start
                share = (np.arange(1, len(stay) + 1) / (len(stay) + 1))[:, None]
                path[stay] = path[start - 1] * (1 - share) + path[end] * share
    return path[keep], down[keep]
