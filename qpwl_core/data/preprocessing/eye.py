"""Eye movements: lost samples masked, positions, and velocities both saturating and clipped."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.preprocessing.recipe import Recipe, positive, resampled

KINDS = {"x": "x", "y": "y", "pupil": "pupil", "dilation": "pupil", "confidence": "confidence"}
CLIP = 5.0       # positions and pupils, in deviations of the training samples
FAST = 10.0      # the clipped velocity reaches 1 at so many times the velocity where tanh bends


@dataclass(frozen=True)
class EyeRecipe(Recipe):
    """Each eye gives x, y, slow = tanh(v / v0), fast = clip(v / (10 v0)) for both axes, its pupil and its validity.

    A sample is lost where confidence < 0.5, where the pupil is 0, or off the screen by more than half its size; so is
    what lies within ``margin`` seconds of it, where the lid still covers the pupil. ``lost``: "hold" the last good
    position, with velocity 0, or "drop" samples that no eye sees. ``screen``: (px wide, px high, m wide, m high, m
    away); None takes ``info["screen"]`` of the recordings where that is given. With it, or with channels named in deg,
    velocities are in °/s and v0 = ``saturation``; else v0 is the speed that nine in ten training samples stay below.
    ``validity``: one channel per eye with 1 where it was seen, 0 where lost. ``gaze``: x and y, as above, or not.
    ``fine``: the steps from sample to sample and how they change, both as asinh(x / their median size): tanh and clip
    are made for saccades, and what an eye does while it rests is next to nothing in them.
    """

    screen: tuple[float, ...] | None = None
    lost: str = "hold"
    margin: float = 0.02
    saturation: float = 50.0
    validity: bool = True
    gaze: bool = True
    fine: bool = False

    domain: ClassVar[str] = "eye"
    later: ClassVar[tuple[str, ...]] = ("gaze", "fine")

    def __post_init__(self):
        super().__post_init__()
        if self.screen is not None:
            fine = not isinstance(self.screen, str) and len(self.screen) == 5 and all(x > 0 for x in self.screen)
            self.require("screen", self.screen, fine, "five numbers above 0: px wide, px high, m wide, m high, m away")
            object.__setattr__(self, "screen", tuple(float(x) for x in self.screen))
        self.require("lost", self.lost, self.lost in ("hold", "drop"), "'hold' or 'drop'")
        self.require("margin", self.margin, self.margin >= 0, "a number of seconds, at least 0")
        self.require("saturation", self.saturation, self.saturation > 0, "a velocity above 0 °/s")

    def settled(self, recordings):
        screen = self.screen or _screen(recordings)
        if screen is not None and _in_degrees(recordings.channels):
            screen = None
        return replace(super().settled(recordings), screen=screen)

    def needed(self, channels):
        _eyes(channels)  # says so where a channel is not of an eye
        return channels

    def output_channels(self, channels):
        names = []
        for eye, kinds in _eyes(channels).items():
            parts = ["x", "y"] * self.gaze + ["vx_slow", "vy_slow", "vx_fast", "vy_fast"]
            parts += ["vx_fine", "vy_fine", "ax_fine", "ay_fine"] * self.fine
            parts += ["pupil"] * ("pupil" in kinds) + ["valid"] * self.validity
            names += [f"{eye}_{part}" if eye else part for part in parts]
        return tuple(names)

    def prepare(self, values, channels, recordings):
        """Columns x, y(, pupil), valid per eye, at the recipe's rate."""
        values = np.asarray(values, dtype=np.float64)
        # Recipes fitted in degrees convert each recording with its screen; those fitted in px never convert.
        screen = (_screen(recordings) or self.screen) if self.screen else None
        columns = []
        for kinds in _eyes(channels).values():
            valid = ~_near(~_seen(values, kinds, screen), round(self.margin * recordings.rate))
            of_eye = [kinds["x"], kinds["y"]] + ([kinds["pupil"]] if "pupil" in kinds else [])
            eye = values[:, of_eye]
            if screen:
                eye[:, :2] = _degrees(eye[:, :2], screen)
            eye = resampled(_held(eye, valid), recordings.rate, self.rate)
            nearest = np.round(np.arange(len(eye)) * recordings.rate / self.rate).astype(int)
            columns += [eye, valid[np.minimum(nearest, len(valid) - 1), None].astype(float)]
        return np.hstack(columns)

    def measure(self, prepared, channels):
        centres, scales, speeds, steps = [], [], [], []
        for part in _parts(channels):
            seen = np.concatenate([x[x[:, part[-1]] > 0][:, part[:-1]] for x in prepared])
            if not len(seen):
                raise RecordingsError("the eye recipe finds no sample that is not lost in the training recordings")
            centres.append(seen.mean(axis=0))
            scales.append(positive(seen.std(axis=0)))
            speeds.append(self.saturation)
            if not self.screen and not _in_degrees(channels):
                velocity = np.concatenate([_velocity(x[:, part], self.rate) for x in prepared])
                speeds[-1] = float(positive(np.percentile(np.hypot(*velocity.T), 90)))
            if self.fine:
                moved = np.abs(np.concatenate([_steps(x[:, part]) for x in prepared]))
                still = (moved == 0).all(axis=1)                 # lost, or held
                steps += positive(np.median(moved[~still], axis=0) if not still.all() else np.zeros(4)).tolist()
        found = {"centre": np.concatenate(centres), "scale": np.concatenate(scales), "speed": np.array(speeds)}
        return found | ({"steps": np.array(steps)} if self.fine else {})

    def shapes(self, channels):
        parts = _parts(channels)
        columns = (sum(len(part) - 1 for part in parts),)
        found = {"centre": columns, "scale": columns, "speed": (len(parts),)}
        return found | ({"steps": (4 * len(parts),)} if self.fine else {})

    def finish(self, prepared, statistics, channels):
        columns, seen, done = [], np.zeros(len(prepared), dtype=bool), 0
        for eye, (part, speed) in enumerate(zip(_parts(channels), statistics["speed"], strict=True)):
            of_part = slice(done, done + len(part) - 1)
            done = of_part.stop
            valid = prepared[:, part[-1]] > 0
            standard = (prepared[:, part[:-1]] - statistics["centre"][of_part]) / statistics["scale"][of_part]
            # An eye that was never seen stands at the training mean.
            standard = np.clip(standard, -CLIP, CLIP) if valid.any() else np.zeros_like(standard)
            velocity = _velocity(prepared[:, part], self.rate) / speed
            columns += [standard[:, :2]] if self.gaze else []
            columns += [np.tanh(velocity), np.clip(velocity / FAST, -1, 1)]
            if self.fine:
                columns.append(np.arcsinh(_steps(prepared[:, part]) / statistics["steps"][4 * eye:4 * eye + 4]))
            columns.append(standard[:, 2:])
            columns += [valid[:, None]] if self.validity else []
            seen |= valid
        values = np.hstack(columns)
        if not seen.any():
            return []
        return [values if self.lost == "hold" else values[seen]]


def _eyes(channels) -> dict[str, dict[str, int]]:
    """Columns of each eye: {"left": {"x": 0, "y": 1, "pupil": 2}, ...}; "" is an eye that is not said to be either."""
    eyes: dict[str, dict[str, int]] = {}
    for column, name in enumerate(channels):
        words = re.split(r"[^a-z]+", name.lower())
        kind = next((KINDS[word] for word in words if word in KINDS), None)
        eye = next((word for word in words if word in ("left", "right")), "")
        if kind is None or kind in eyes.get(eye, {}):
            raise RecordingsError(f"the eye recipe cannot place the channel {shown(name)}: it wants x and y, perhaps "
                                  "pupil and confidence, such as left_x_px; the generic recipe takes anything")
        eyes.setdefault(eye, {})[kind] = column
    shared = eyes.pop("") if len(eyes) > 1 and "" in eyes else {}  # one confidence for both eyes
    for eye, kinds in eyes.items():
        eyes[eye] = shared | kinds
        if not {"x", "y"} <= set(kinds):
            raise RecordingsError(f"the eye recipe needs both x and y of each eye, and has {', '.join(channels)}")
    return eyes


def _parts(channels) -> list[list[int]]:
    """Columns of each eye in a prepared sequence: x, y(, pupil), valid."""
    parts, done = [], 0
    for kinds in _eyes(channels).values():
        count = 4 if "pupil" in kinds else 3
        parts.append(list(range(done, done + count)))
        done += count
    return parts


def _in_degrees(channels):
    return all("deg" in name.lower() for name in channels if re.search(r"(^|[^a-z])[xy]([^a-z]|$)", name.lower()))


def _screen(recordings):
    """The screen that the recordings name, or None."""
    text = recordings.info.get("screen", "")
    try:
        screen = tuple(float(word) for word in text.split())
    except ValueError:
        screen = ()
    if text and (len(screen) != 5 or min(screen) <= 0):
        raise RecordingsError("info['screen'] must be five numbers above 0 (px wide, px high, m wide, m high, m away), "
                              f"not {shown(text)}")
    return screen or None


def _seen(values, kinds, screen):
    """Which samples an eye was seen in, (T,) bool."""
    seen = np.ones(len(values), dtype=bool)
    if "confidence" in kinds:
        seen &= values[:, kinds["confidence"]] >= 0.5
    if "pupil" in kinds:
        seen &= values[:, kinds["pupil"]] > 0
    if screen:
        for kind, size in zip("xy", screen, strict=False):
            seen &= (values[:, kinds[kind]] >= -size / 2) & (values[:, kinds[kind]] <= 1.5 * size)
    return seen


def _degrees(positions, screen):
    """Positions (T, 2) in px as degrees of visual angle from the middle of the screen."""
    pixels, metres = np.array(screen[:2]), np.array(screen[2:4])
    return np.degrees(np.arctan2((positions - pixels / 2) * metres / pixels, screen[4]))


def _near(mask, samples):
    """Where the mask holds, or does so at most so many samples away."""
    if samples == 0 or not mask.any():
        return mask
    from scipy.ndimage import binary_dilation

    return binary_dilation(mask, np.ones(2 * samples + 1, dtype=bool))


def _held(values, valid):
    """Lost samples replaced by the last good one, at the start by the first good one, by zeros where there is none."""
    if not valid.any():
        return np.zeros_like(values)
    last = np.maximum.accumulate(np.where(valid, np.arange(len(valid)), -1))
    return values[np.where(last < 0, np.argmax(valid), last)]


def _steps(eye):
    """Steps (T, 4) from each sample to the next, x and y, and how they change; 0 where a sample of them is lost."""
    step = np.diff(eye[:, :2], axis=0, append=eye[-1:, :2])
    change = np.diff(step, axis=0, prepend=step[:1])
    return np.where(_near(eye[:, -1] == 0, 1)[:, None], 0.0, np.hstack([step, change]))


def _velocity(eye, rate):
    """Velocities (T, 2) of x and y per second; 0 where a sample or its neighbour is lost, and for one sample."""
    if len(eye) == 1:
        return np.zeros((1, 2))
    velocity = np.gradient(eye[:, :2], axis=0) * rate
    velocity[_near(eye[:, -1] == 0, 1)] = 0
    return velocity
