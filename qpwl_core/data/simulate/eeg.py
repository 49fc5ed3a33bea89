"""Simulated EEG of picture viewing, as the UCI set records it: 64 channels, 256 Hz, trials of one second.

The scalp sees patches of cortex, each spread over neighbouring electrodes. A patch has coloured background noise; those
at the back of the head swing at the person's alpha frequency, and a picture evokes waves at the person's latencies.
Muscles, blinks, slow drifts and the state of a trial come on top, so that two trials of a person differ much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.data.datasets.uci_eeg import CHANNELS
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.simulate.electrodes import electrode_positions
from qpwl_core.data.simulate.seeds import around, checked_count, checked_seed, stream

DOMAIN = 2
RATE = 256
SAMPLES = 256
STEP = 0.5                                      # µV; rounding also hides the last bit, in which processors differ
CONDITIONS = ("S1 obj", "S2 match", "S2 nomatch")
PATCHES = ("FPZ", "F7", "F3", "FZ", "F4", "F8", "FC5", "FC1", "FC2", "FC6", "T7", "C3", "CZ", "C4", "T8", "CP5", "CP1",
           "CP2", "CP6", "P7", "P3", "PZ", "P4", "P8", "PO7", "POZ", "PO8", "O1", "OZ", "O2")
POSITIONS = electrode_positions(CHANNELS)
# Evoked waves: name, s after the picture, width s, µV, at which electrodes, size by condition.
WAVES = (("P100", 0.105, 0.016, 4.0, ("O1", "O2"), (1.0, 1.0, 1.0)),
         ("N170", 0.165, 0.020, -6.5, ("PO7", "PO8"), (1.0, 1.05, 1.0)),
         ("C240", 0.240, 0.040, 4.5, ("PZ", "POZ"), (1.0, -0.6, 0.2)),
         ("P300", 0.380, 0.080, 5.0, ("PZ", "CPZ"), (0.8, -0.8, -0.3)))


@dataclass(frozen=True, eq=False)
class EegPerson:
    """What is stable about a person's EEG."""

    gains: np.ndarray        # (64, patches) µV an electrode sees of a patch of deviation 1: head and cortex
    reference: float         # deviation of what the reference electrode adds to all, µV
    slope: float             # background power falls as 1 / f**slope
    alpha_hz: float          # peak
    alpha: np.ndarray        # (64,) deviation at each electrode, µV
    beta: np.ndarray         # (64,) deviation of 15 to 28 Hz, µV
    muscle: np.ndarray       # (64,) deviation of 20 to 50 Hz, µV
    latencies: np.ndarray    # (waves,) s
    waves: np.ndarray        # (waves, 64) µV
    blink_rate: float        # share of trials with a blink
    blink: float             # µV at the forehead


def _bump(centres, width):
    """How much each electrode sees of places on the head, (64, places): 1 there, less with the angle in radians."""
    angle = np.arccos(np.clip((POSITIONS[:, None] * np.atleast_2d(centres)).sum(axis=-1), -1, 1))
    return np.exp(-0.5 * (angle / width) ** 2)


def _moved(random, names, by):
    """Places near these electrodes, at random, on the sphere."""
    places = electrode_positions(names) + random.normal(0, by, (len(names), 3))
    return places / np.linalg.norm(places, axis=1, keepdims=True)


def eeg_person(number: int, seed: int = 0) -> EegPerson:
    """Person ``number`` of the simulated population."""
    random = stream(DOMAIN, "person", seed, number)
    head = np.exp(random.normal(0, 0.19, (len(CHANNELS), 1)))            # skull and contact
    cortex = np.exp(random.normal(0, 0.35, len(PATCHES)))
    balance = np.exp(random.normal(0, 0.25))                             # of the two hemispheres
    alpha = _bump(_moved(random, ("PO7", "PO8", "C3", "C4"), 0.08), 0.5) * (1.0, balance, 0.3, 0.3)
    beta = _bump(_moved(random, ("FC1", "FC2"), 0.3), 0.6)
    muscle = 0.15 + _bump(_moved(random, ("T7", "T8", "FPZ", "OZ"), 0.15), 0.4) * np.exp(random.normal(0, 0.6, 4))
    waves = [_bump(_moved(random, where, 0.1), 0.5).sum(axis=1) * size * around(random, 1.0, 0.3)
             for _, _, _, size, where, _ in WAVES]
    return EegPerson(
        gains=head * _bump(_moved(random, PATCHES, 0.06), 0.45) * cortex * around(random, 2.4, 0.20),
        reference=around(random, 2.5, 0.20), slope=float(random.normal(1.3, 0.18)),
        alpha_hz=float(np.clip(random.normal(10.0, 0.9), 7.5, 12.5)),
        alpha=head[:, 0] * alpha.sum(axis=1) * around(random, 2.2, 0.50),
        beta=head[:, 0] * (0.4 + beta.sum(axis=1)) * around(random, 0.8, 0.40),
        muscle=head[:, 0] * muscle.sum(axis=1) * around(random, 0.8, 0.50),
        latencies=np.array([wave[1] for wave in WAVES]) * (1 + random.normal(0, 0.06, len(WAVES))),
        waves=np.array(waves), blink_rate=float(random.uniform(0.03, 0.25)), blink=around(random, 110, 0.2))


def _shaped(random, power, columns):
    """Noise of deviation 1 with this power at each frequency, (SAMPLES, columns).

    ``power`` takes frequencies in Hz; twice the length is made and half kept, else the end would meet the beginning.
    """
    frequency = np.fft.rfftfreq(2 * SAMPLES, 1 / RATE)
    amplitude = np.sqrt(power(np.maximum(frequency, 0.5)) / (1 + (frequency / 48) ** 16))     # low-pass as in UCI
    amplitude[0] = 0
    spectrum = np.fft.rfft(random.standard_normal((2 * SAMPLES, columns)), axis=0) * amplitude[:, None]
    return np.fft.irfft(spectrum, axis=0)[:SAMPLES] / np.sqrt((amplitude**2).sum() / SAMPLES)


def _eyes(person, random):
    """Blinks and glances, (SAMPLES, 64) µV: strong at the eyes, weaker with every centimetre."""
    time = np.arange(SAMPLES) / RATE
    values = np.zeros((SAMPLES, len(CHANNELS)))
    if random.random() < person.blink_rate:
        shape = np.exp(-0.5 * ((time - random.uniform(0.1, 1.0)) / around(random, 0.07, 0.2)) ** 2)
        lids = _bump(electrode_positions(("FP1", "FP2", "Y")), 0.35).max(axis=1)
        values += around(random, person.blink, 0.25) * shape[:, None] * lids
    if random.random() < 0.3:
        glance = 1 / (1 + np.exp(-(time - random.uniform(0.1, 0.9)) / 0.01))
        left, right = _bump(electrode_positions(("F7", "F8")), 0.45).T
        values += random.normal(0, 15) * glance[:, None] * (right - left)
    return values


def record(person: EegPerson, condition: str, random: np.random.Generator) -> np.ndarray:
    """One trial, (256, 64) float32 in µV, the picture shown at its start."""
    time = np.arange(SAMPLES) / RATE
    state = dict(zip(("background", "slope", "alpha", "beta", "muscle", "waves"), random.standard_normal(6).tolist(),
                     strict=True))
    values = _shaped(random, lambda f: f ** -(person.slope + 0.12 * state["slope"]), len(PATCHES)) @ person.gains.T
    values += person.reference * _shaped(random, lambda f: f ** -person.slope, 1)
    values *= np.exp(0.12 * state["background"])

    # Two independent generators make the alpha of left and right move apart; a picture dampens both for a while.
    peak = person.alpha_hz + 0.3 * random.standard_normal()
    swing = _shaped(random, lambda f: np.exp(-0.5 * ((f - peak) / 0.6) ** 2), 2)
    calm = 1 - 0.4 * np.exp(-0.5 * ((time - 0.45) / 0.2) ** 2)
    right = 1 / (1 + np.exp(-4 * POSITIONS[:, 0]))
    values += np.exp(0.35 * state["alpha"]) * calm[:, None] * person.alpha * (
        swing[:, :1] * np.sqrt(1 - right) + swing[:, 1:] * np.sqrt(right))

    patchy = _bump(electrode_positions(PATCHES), 0.3)
    patchy = patchy / np.sqrt((patchy**2).sum(axis=1, keepdims=True))
    beta = _shaped(random, lambda f: np.exp(-0.5 * ((f - 20) / 4) ** 2), len(PATCHES)) @ patchy.T
    values += np.exp(0.2 * state["beta"]) * person.beta * beta
    muscle = _shaped(random, lambda f: f**2 / (f**2 + 25**2), len(CHANNELS))
    values += np.exp(0.3 * state["muscle"]) * person.muscle * muscle

    for (_, _, width, _, _, sizes), latency, wave in zip(WAVES, person.latencies, person.waves, strict=True):
        late = latency * (1 + 0.06 * random.standard_normal())
        size = sizes[CONDITIONS.index(condition)] * np.exp(0.25 * state["waves"]) * (1 + 0.3 * random.standard_normal())
        values += size * np.exp(-0.5 * ((time - late) / width) ** 2)[:, None] * wave

    values += _eyes(person, random)
    values += random.normal(0, 3, len(CHANNELS)) * (time[:, None] - 0.5)                      # slow drift of contacts
    loose = np.exp(np.maximum(0, random.normal(-1.5, 1.0, len(CHANNELS))))                    # a few bad contacts
    values += 0.4 * loose * _shaped(random, lambda f: np.ones_like(f), len(CHANNELS))
    return (np.round(values / STEP) * STEP).astype(np.float32)


def simulate_eeg(subjects: int = 40, sequences: int = 8, seed: int = 0) -> Recordings:
    """Recordings of ``subjects`` simulated people, ``sequences`` trials each, the three conditions in turn."""
    people = [eeg_person(i, checked_seed(seed)) for i in range(checked_count("subjects", subjects, 999))]
    conditions = [CONDITIONS[j % 3] for j in range(checked_count("sequences", sequences, 999))]
    values = [record(person, condition, stream(DOMAIN, "recording", seed, i, j))
              for i, person in enumerate(people) for j, condition in enumerate(conditions)]
    info = {
        "name": "eeg-simulated", "domain": "eeg", "simulated": "yes", "licence": "CC0 1.0",
        "what": "simulated EEG of one second after a picture; no person was recorded",
        "source": f"python -m qpwl_core simulate eeg --subjects {subjects} --sequences {sequences} --seed {seed}",
        "units": "µV",
    }
    names = [f"sim{i + 1:03d}" for i in range(subjects)]
    return Recordings(values, np.repeat(names, sequences), CHANNELS, float(RATE), np.array(conditions * subjects), info)
