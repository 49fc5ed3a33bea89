"""Simulated gaze and pupil of both eyes while people watch videos, as DIEM would record it: 30 Hz, D = 6.

A video is moving targets, cuts and luminance, the same for all who watch it. A person fixates, drifts, follows and
jumps in their own way; a session has its own calibration and arousal; a recording is one person watching one video.
Gaze runs at 300 Hz in degrees from the middle of the screen and is averaged over each video frame, so that a saccade
leaves the one or two samples in between that a slow tracker sees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from qpwl_core.data.datasets.diem import DIEM
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.simulate.seeds import around, checked_count, checked_seed, stream

DOMAIN = 1
FRAME_RATE = 30
OVERSAMPLING = 10
RATE = FRAME_RATE * OVERSAMPLING
SCREEN = (1280, 960, 0.40, 0.30, 0.90)          # px wide, px high, m wide, m high, m away
PX = 50.0                                       # a degree of visual angle, on that screen
EDGE = np.array([11.5, 6.8])                    # gaze stays within, degrees: the picture is 1280 × 720
STEP = 0.25                                     # px; rounding also hides the last bit, in which processors differ
TARGETS = 4
SESSIONS = 2                                    # every other video is seen on another day


@dataclass(frozen=True)
class EyePerson:
    """What is stable about a person's eyes."""

    fixation: float          # median length, s
    fixation_spread: float   # deviation of its logarithm
    explore: float           # share of saccades that go nowhere in particular
    amplitude: float         # median of those, degrees
    flatness: float          # vertical over horizontal size of those
    peak_velocity: float     # of the largest saccades, °/s: the main sequence is V (1 - exp(-amplitude / scale))
    velocity_scale: float    # degrees
    saccade_gain: float      # share of the way to the goal that a saccade covers
    pursuit_gain: float      # share of a target's speed that the eye follows
    drift: np.ndarray        # (2,) deviation of slow drift, x and y, degrees
    tremor: np.ndarray       # (2,) deviation of tremor with the tracker's noise, degrees per sample at 300 Hz
    vergence: np.ndarray     # (2,) left minus right gaze, degrees
    wander: float            # deviation of its slow change, degrees
    pupil: float             # units of the tracker
    anisocoria: float        # right over left pupil
    hippus: float            # deviation of the logarithm of pupil size
    light: float             # shrinking of the logarithm of pupil size by luminance
    blinks: float            # a minute
    blink: float             # median length of a blink, s
    losses: float            # a minute, other than blinks


def eye_person(number: int, seed: int = 0) -> EyePerson:
    """Person ``number`` of the simulated population."""
    random = stream(DOMAIN, "person", seed, number)
    noise = around(random, 1.0, 0.12)
    return EyePerson(
        fixation=around(random, 0.36, 0.12), fixation_spread=around(random, 0.50, 0.10),
        explore=float(random.uniform(0.25, 0.55)), amplitude=around(random, 2.2, 0.18),
        flatness=around(random, 0.65, 0.12), peak_velocity=around(random, 480, 0.14),
        velocity_scale=around(random, 5.0, 0.12), saccade_gain=float(random.uniform(0.86, 0.98)),
        pursuit_gain=float(random.uniform(0.65, 0.98)),
        drift=np.array([around(random, 0.13, 0.15), around(random, 0.15, 0.15)]) * noise,
        tremor=np.array([around(random, 0.13, 0.17), around(random, 0.15, 0.17)]) * noise,
        vergence=random.normal(0, (0.45, 0.40)), wander=around(random, 0.28, 0.25), pupil=around(random, 950, 0.30),
        anisocoria=around(random, 1.04, 0.07), hippus=around(random, 0.05, 0.25), light=around(random, 0.12, 0.20),
        blinks=around(random, 10, 0.60), blink=around(random, 0.15, 0.15), losses=around(random, 3, 0.40))


@dataclass(frozen=True, eq=False)
class Video:
    """What all viewers share: where there is something to see, how much it draws the eye, how bright it is."""

    targets: np.ndarray      # (TARGETS, steps, 2) degrees
    salience: np.ndarray     # (TARGETS, steps)
    luminance: np.ndarray    # (steps,) about 0
    cuts: np.ndarray         # first steps of the scenes


def video(number: int, seed: int = 0) -> Video:
    """Video ``number``: 14 to 24 s in scenes of some seconds, targets that rest or move."""
    random = stream(DOMAIN, "stimulus", seed, number)
    steps = OVERSAMPLING * int(random.integers(14 * FRAME_RATE, 24 * FRAME_RATE + 1))
    pace, spread, motion = around(random, 4.5, 0.4), around(random, 1.0, 0.2), around(random, 1.2, 0.5)
    targets, salience = np.empty((TARGETS, steps, 2)), np.empty((TARGETS, steps))
    light, cuts = np.empty(steps), [0]
    while cuts[-1] < steps:
        scene = slice(cuts[-1], min(steps, cuts[-1] + int(RATE * (1 + random.gamma(2.0, pace / 2)))))
        time = np.arange(scene.stop - scene.start) / RATE
        start = random.normal(0, (2.6 * spread, 1.6 * spread), (TARGETS, 2))
        speed = random.normal(0, motion, (TARGETS, 2)) * (random.random((TARGETS, 1)) < 0.6)
        targets[:, scene] = np.clip(start[:, None] + speed[:, None] * time[:, None], -EDGE, EDGE)
        phase, height = random.uniform(0, 2 * np.pi, (TARGETS, 1)), random.normal(0, 0.8, (TARGETS, 1))
        salience[:, scene] = height + np.sin(2 * np.pi * 0.2 * time + phase)
        light[scene] = random.normal(0, 1)
        cuts.append(scene.stop)
    return Video(targets, salience, light + random.normal(0, 0.7), np.array(cuts[:-1]))


def saccade(person: EyePerson, amplitude: float, vigour: float = 1.0) -> np.ndarray:
    """Share of the way done at each step of 1/300 s, (steps,): minimum jerk, as long as the main sequence says."""
    peak = vigour * person.peak_velocity * -np.expm1(-amplitude / person.velocity_scale)
    steps = max(2, round(RATE * 1.875 * amplitude / max(peak, 1.0)))      # minimum jerk peaks at 1.875 of its mean
    done = np.arange(1, steps + 1) / steps
    return done**3 * (10 - 15 * done + 6 * done**2)


def _path(person, seen, mood, random):
    """Where the person looks, (steps, 2) degrees: saccades to targets or elsewhere, fixations that follow targets."""
    steps = len(seen.luminance)
    path, here, now = np.empty((steps, 2)), random.normal(0, 1, 2), 0
    while now < steps:
        target = None
        if random.random() < person.explore * mood["explore"]:
            size = around(random, person.amplitude, 0.7)
            angle = random.uniform(0, 2 * np.pi)
            # What draws the eye back to the middle grows with the distance from it.
            goal = 0.75 * here + size * np.array([np.cos(angle), person.flatness * np.sin(angle)])
        else:
            drawn = np.cumsum(np.exp(1.5 * seen.salience[:, now]))
            target = int(np.searchsorted(drawn, random.random() * drawn[-1]))
            goal = seen.targets[target, now]
        way = person.saccade_gain * (np.clip(goal, -EDGE, EDGE) - here)
        way = way * (1 + 0.08 * random.standard_normal()) + 0.15 * random.standard_normal(2)
        jump = saccade(person, np.hypot(*way), mood["vigour"])[:steps - now]
        path[now:now + len(jump)] = here + jump[:, None] * way
        here, now = path[now + len(jump) - 1], now + len(jump)

        if now == steps:
            break
        stay = around(random, person.fixation * mood["fixation"], person.fixation_spread)
        cut = int(np.append(seen.cuts, steps)[np.searchsorted(seen.cuts, now, side="right")])
        anew = cut + int(RATE * around(random, 0.2, 0.2))                # a new scene makes all look anew
        end = min(steps, anew, now + max(RATE // 15, int(RATE * stay)))
        path[now:end] = here
        if target is not None:
            move = seen.targets[target, np.minimum(np.arange(now, end), cut - 1)] - seen.targets[target, now]
            ramp = 1 - np.exp(-np.arange(end - now) / (0.1 * RATE))      # the eye takes up speed within some 0.1 s
            path[now:end] += person.pursuit_gain * ramp[:, None] * move
        here, now = path[end - 1], end
    return path


def _slow(random, steps, seconds, columns):
    """Noise of deviation 1 that forgets itself within ``seconds``, (steps, columns)."""
    keep = np.exp(-1 / (seconds * RATE))
    white = random.standard_normal((steps, columns))
    white[1:] *= np.sqrt(1 - keep**2)
    return lfilter([1.0], [1.0, -keep], white, axis=0)


def _lid(person, mood, steps, random):
    """How far the lid is closed, (steps,) from 0 to 1: blinks that close fast and open slowly."""
    closed, now = np.zeros(steps), 0.0
    while True:
        now += 0.3 + random.exponential(60 / (person.blinks * mood["blinks"]))
        if now * RATE >= steps:
            return closed
        shut, opening = 0.05, around(random, person.blink, 0.2)
        time = np.arange(steps) / RATE - now
        closed = np.maximum(closed, np.clip(np.minimum(1 + time / shut, 1 + (0.07 - time) / opening), 0, 1))


def _frames(values):
    """Means over video frames: (steps, ...) -> (frames, ...)."""
    return values.reshape(-1, OVERSAMPLING, *values.shape[1:]).mean(axis=1)


def record(person: EyePerson, seen: Video, session: np.random.Generator, random: np.random.Generator) -> np.ndarray:
    """One recording, (frames, 6) float32: left x, y in px, left pupil, the same of the right; 0 where lost."""
    steps = len(seen.luminance)
    day, today = session.standard_normal(6), random.standard_normal(6)
    mood = dict(zip(("fixation", "vigour", "explore", "blinks", "noise", "pupil"),
                    np.exp((0.7 * day + 0.7 * today) * (0.14, 0.06, 0.15, 0.40, 0.16, 0.18)).tolist(), strict=True))
    calibration = session.normal(0, (0.4, 0.5, 0.2, 0.25)) + random.normal(0, (0.3, 0.4, 0.15, 0.2))
    stretch = 1 + session.normal(0, 0.03, (2, 2))                        # of each eye, x and y
    odds = np.exp(session.normal(0, 0.05) + random.normal(0, 0.03))      # the camera sees the eyes at an angle

    gaze = _path(person, seen, mood, random)
    both, each = _slow(random, steps, 0.25, 2), _slow(random, steps, 0.4, 4).reshape(steps, 2, 2)
    lid = _lid(person, mood, steps, random)
    vergence = person.vergence + calibration[2:] + person.wander * _slow(random, steps, 1.5, 2)

    light = lfilter([1 / (0.5 * RATE)], [1, 1 / (0.5 * RATE) - 1], seen.luminance - seen.luminance[0])
    light += seen.luminance[0]
    swing = _slow(random, steps, 0.8, 1)[:, 0]
    size = np.exp(person.hippus * swing - person.light * light) * person.pupil * mood["pupil"]
    lost = _frames(lid) > 0.6
    for _ in range(random.poisson(person.losses * steps / RATE / 60)):
        first = int(random.integers(len(lost)))
        lost[first:first + 1 + int(random.geometric(0.5))] = True

    columns = []
    for eye, side in enumerate((0.5, -0.5)):
        drift = person.drift * mood["noise"] * (0.8 * both + 0.6 * each[:, eye])
        tremor = person.tremor * mood["noise"] * random.standard_normal((steps, 2))
        at = gaze * stretch[eye] + calibration[:2] + drift + tremor + side * vergence
        at[:, 1] += 3.0 * lid                                            # a falling lid drags the pupil's centre down
        pixels = np.array(SCREEN[:2]) / 2 + PX * _frames(at)
        pupil = _frames(size * (1 - 0.5 * lid)) * (person.anisocoria * odds if eye else 1.0)
        pupil = pupil * (1 + 0.004 * random.standard_normal(len(pupil)))
        columns += [np.round(pixels / STEP) * STEP, np.maximum(np.round(pupil), 1)[:, None]]
    values = np.hstack(columns).astype(np.float32)
    values[lost] = 0
    return values


def simulate_eye(subjects: int = 40, sequences: int = 16, seed: int = 0) -> Recordings:
    """Recordings of ``subjects`` simulated people who watch the same ``sequences`` videos."""
    people = [eye_person(i, checked_seed(seed)) for i in range(checked_count("subjects", subjects, 999))]
    videos = [video(j, seed) for j in range(checked_count("sequences", sequences, 99))]
    values, names, stimuli = [], [], []
    for i, person in enumerate(people):
        for j, seen in enumerate(videos):
            session = stream(DOMAIN, "session", seed, i, j % SESSIONS)
            values.append(record(person, seen, session, stream(DOMAIN, "recording", seed, i, j)))
            names.append(f"sim{i + 1:03d}")
            stimuli.append(f"video{j + 1:02d}")
    info = {
        "name": "eye-simulated", "domain": "eye", "simulated": "yes", "licence": "CC0 1.0",
        "what": "simulated gaze and pupil of both eyes while watching videos; no person was recorded",
        "source": f"python -m qpwl_core simulate eye --subjects {subjects} --sequences {sequences} --seed {seed}",
        "units": "px of the screen, pupil in units of the tracker, 0 where lost",
        "screen": " ".join(f"{x:g}" for x in SCREEN),
    }
    return Recordings(values, np.array(names), DIEM.channels, float(FRAME_RATE), np.array(stimuli), info)
