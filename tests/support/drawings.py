"""Drawings of ours, as a hand could have made them, and messages of a pad that were tampered with."""

import copy

import numpy as np

ODD = [None, True, "x", "", -1, 0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 10**30, [], {}, [[]], {"a": 1},
       2**63]


def loops(seed=0, slower=1.0, wobble=0.04, width=400.0, height=190.0, step=10.0) -> list[np.ndarray]:
    """Two strokes of loops, (k, 4) time in ms, x, y, pressure; the same name, written a little otherwise by seed."""
    draw = np.random.default_rng(seed)
    samples = int(200 * slower)
    turn = np.linspace(0, 1, samples)
    a, b, c = wobble * draw.standard_normal(3)
    x = width * (0.12 + 0.72 * turn + 0.06 * np.sin(2 * np.pi * (7 * turn + a)))
    y = height * (0.5 + 0.28 * np.sin(2 * np.pi * (5.3 * turn**1.1 + b)) * np.exp(-turn)
                  + 0.1 * np.sin(2 * np.pi * (13 * turn + c)))
    made = np.column_stack([step * np.arange(samples), x, y, np.full(samples, 0.5)])
    return [made[:int(0.55 * samples)], made[int(0.62 * samples):]]


def as_payload(strokes, device="mouse") -> dict:
    """What the pad would send of it."""
    return {"id": "abc", "device": device, "strokes": [stroke.round(2).ravel().tolist() for stroke in strokes]}


def mutated(sent, random):
    """One change or two, anywhere in the message."""
    sent = copy.deepcopy(sent)
    for _ in range(random.randint(1, 2)):
        where = random.random()
        if where < 0.1:
            sent = random.choice(ODD)
            break
        if where < 0.2:
            sent[random.choice(list(sent) or ["x"])] = random.choice(ODD)
        elif where < 0.3:
            sent.pop(random.choice(list(sent)), None) if sent else None
        elif isinstance(sent.get("strokes"), list) and sent["strokes"]:
            strokes, i = sent["strokes"], random.randrange(len(sent["strokes"]))
            if where < 0.4:
                strokes[i] = random.choice(ODD)
            elif where < 0.5:
                strokes.insert(i, copy.deepcopy(random.choice(strokes)))
            elif isinstance(strokes[i], list) and strokes[i]:
                j = random.randrange(len(strokes[i]))
                if where < 0.6:
                    del strokes[i][j:]
                elif where < 0.65:
                    strokes[i] *= random.randint(0, 3)
                elif where < 0.8:
                    strokes[i][j] = random.choice(ODD)
                else:
                    value = strokes[i][j]
                    if isinstance(value, (int, float)):
                        strokes[i][j] = value * random.choice([-1, 0, 2, 1e3, 1e9, 1e200])
    return sent
