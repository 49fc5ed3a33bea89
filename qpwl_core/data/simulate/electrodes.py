"""Where the 64 electrodes of the UCI recordings sit on a round head, from their names (the 10–10 system)."""

from __future__ import annotations

import numpy as np

# Angle of a row's middle electrode from the vertex, forwards, degrees.
ROWS = {"FP": 72, "AF": 54, "F": 36, "FT": 18, "FC": 18, "T": 0, "C": 0, "TP": -18, "CP": -18, "P": -36, "PO": -54,
        "O": -72}
# X and Y beside and below the right eye, nd on the nose.
FACE = {"X": (0.70, 0.68, -0.22), "Y": (0.38, 0.88, -0.30), "nd": (0.0, 0.95, -0.31)}


def electrode_positions(names) -> np.ndarray:
    """Points on the unit sphere, (D, 3): x to the right, y to the nose, z up.

    >>> electrode_positions(["CZ", "T8"]).round(2).tolist()
    [[0.0, 0.0, 1.0], [0.95, 0.0, 0.31]]
    """
    return np.array([_position(name) for name in names])


def _position(name):
    if name in FACE:
        return np.array(FACE[name]) / np.linalg.norm(FACE[name])
    row, place = name.rstrip("Z0123456789"), name[-1]
    tilt = np.radians(ROWS[row])
    middle = np.array([0.0, np.sin(tilt), np.cos(tilt)])
    if place == "Z":
        return middle
    # Even numbers lie on the right; 1 and 2 are next to the middle, 7 and 8 on the ring 72° from the vertex.
    outwards = 1.0 if row in ("FP", "O") else (int(place) + 1) // 2 / 4
    around = np.radians(np.sign(ROWS[row]) * 72) if row in ("FP", "O") else tilt
    side = 1 if int(place) % 2 == 0 else -1
    ring = np.sin(np.radians(72)) * np.array([side * np.cos(around), np.sin(around), 0.0])
    ring[2] = np.cos(np.radians(72))
    angle = np.arccos(np.clip(middle @ ring, -1, 1))
    return (np.sin((1 - outwards) * angle) * middle + np.sin(outwards * angle) * ring) / np.sin(angle)
