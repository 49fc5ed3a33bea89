"""Recordings and options so small that a training takes a fraction of a second."""

import io

import numpy as np

from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config


def tiny_recordings(people=8, each=6, samples=40, seed=0, domain="generic"):
    """People who differ in level and spread; sequences of different lengths, two stimuli in turn."""
    random = np.random.default_rng(seed)
    channels = {"eye": ("x", "y"), "signature": ("x", "y")}.get(domain, ("a", "b"))
    sequences = [(0.4 * i + (1 + 0.3 * i) * random.normal(size=(int(random.integers(samples // 2, samples)), 2)))
                 for i in range(people) for _ in range(each)]
    subjects = [f"p{i}" for i in range(people) for _ in range(each)]
    stimuli = [f"s{j % 2}" for _ in range(people) for j in range(each)]
    return Recordings(sequences, subjects, channels, 20.0, stimuli, {"name": "tiny", "domain": domain})


def forged_recordings(people=8, each=12, forgeries=4, seed=0, domain="generic"):
    """As `tiny_recordings`, half of each person's sequences of either session, and forgeries halfway to a stranger."""
    genuine = tiny_recordings(people, each, seed=seed, domain=domain)
    random, forged = np.random.default_rng(seed + 1), []
    for i in range(people):
        forged += [0.4 * (i + 0.5) + (1.15 + 0.3 * i) * random.normal(size=(30, 2)) for _ in range(forgeries)]
    whom = [f"p{i}" for i in range(people) for _ in range(forgeries)]
    stimuli = [f"session{1 + j // (each // 2)}" for _ in range(people) for j in range(each)] + ["forgery"] * len(whom)
    return Recordings([*genuine.sequences, *forged], [*genuine.subjects, *(f"forger-of-{name}" for name in whom)],
                      genuine.channels, genuine.rate, stimuli, genuine.info, [""] * len(genuine) + whom)


def tiny_config(**changes) -> Config:
    """Two layers of four filters, twelve steps, three validations."""
    options = {"filters": 4, "layers": 2, "kernel": 3, "points": 4, "pairs": 4, "iterations": 12, "validate_every": 4,
               "width": 0.05}
    return Config(**options | changes)


def tiny_npz(recordings=None, **changes) -> bytes:
    """An .npz file of recordings, with some of its arrays changed."""
    made = recordings or tiny_recordings()
    arrays = {"values": np.concatenate(made.sequences), "lengths": made.lengths, "subjects": made.subjects,
              "channels": np.array(made.channels), "rate": np.array(made.rate), "stimuli": made.stimuli}
    file = io.BytesIO()
    np.savez(file, **{name: x for name, x in (arrays | changes).items() if x is not None})
    return file.getvalue()
