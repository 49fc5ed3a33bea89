"""Simulated recordings for teaching and tests, the same bytes from the same seed; always labelled *simulated*.

They are no evidence about people: results on them show that the machinery works, not how well anyone is recognised.
"""

from qpwl_core.data.simulate.eeg import simulate_eeg
from qpwl_core.data.simulate.eye import simulate_eye

__all__ = ["SIMULATORS", "simulate_eeg", "simulate_eye"]

SIMULATORS = {"eye": simulate_eye, "eeg": simulate_eeg}
