"""The trials of a test: who is compared with whom, how far apart they are, and what a threshold makes of it.

`protocol.py` sums the experiment up; this keeps the distances behind it, so that a threshold can be moved through them
and an error can be looked into. Everything is computed with `metrics.py` from one array of distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.draws import Draw, draw, fair_groups
from qpwl_core.evaluation.protocol import person_distances

RATES = (0.1, 0.01, 0.001)         # false match rates at which false non-matches are reported


@dataclass(frozen=True, eq=False)
class Trials:
    """d_j(n) of every observed person to every claimed person j, for all n, in R draws."""

    scores: np.ndarray             # (R, O, S, S): draw, n − 1, observed person, claimed person
    drawn: Draw
    distances: np.ndarray          # (n, n) between the sequences themselves

    @property
    def people(self) -> list[str]:
        return self.drawn.people.tolist()

    def of(self, n: int, repeat: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Genuine and imposter distances of one draw, or of all draws together. -> (S·R,), (S·(S−1)·R,)"""
        chosen = self.scores[:, n - 1] if repeat is None else self.scores[repeat:repeat + 1, n - 1]
        lists = [metrics.genuine_and_imposter(scores) for scores in chosen]
        genuine, imposter = (np.concatenate(kind) for kind in zip(*lists, strict=True))
        return genuine, imposter

    def repeats(self, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Genuine and imposter distances, draw by draw."""
        return [metrics.genuine_and_imposter(scores) for scores in self.scores[:, n - 1]]


def make_trials(distances, subjects, sources=None, seed: int = 0) -> Trials:
    """The trials of `evaluate` on the distances (n, n) between all sequences: the same draws, the same groups."""
    drawn = draw(subjects, seed=seed, groups=fair_groups(subjects, sources))
    return Trials(person_distances(distances, drawn), drawn, np.asarray(distances))


def auc_by_n(trials: Trials):
    """AUC for n = 1..5, as a DataFrame: n, auc, se (over draws). The figures of the paper's table."""
    import pandas as pd

    rows = []
    for n in range(1, trials.scores.shape[1] + 1):
        values = [metrics.auc(*lists) for lists in trials.repeats(n)]
        rows.append({"n": n, "auc": np.mean(values), "se": np.std(values, ddof=1) / np.sqrt(len(values))})
    return pd.DataFrame(rows)


def error_rates(trials: Trials, n: int) -> dict:
    """Mean over draws of EER, d′ and FNMR at fixed FMR, None where it cannot be measured, and the trials of one draw.

    -> {"eer", "d_prime", 0.1, 0.01, 0.001, "genuine", "imposter"}
    """
    lists = trials.repeats(n)
    mean = lambda values: None if None in values else float(np.mean(values))
    return {"eer": mean([metrics.eer(*each) for each in lists]),
            "d_prime": mean([metrics.d_prime(*each) for each in lists]),
            **{rate: mean([metrics.fnmr_at_fmr(*each, rate) for each in lists]) for rate in RATES},
            "genuine": len(lists[0][0]), "imposter": len(lists[0][1])}


def summed_up(trials: Trials, n: int) -> tuple:
    """AUC over n, the error rates, the mean ROC curve and the DET curve."""
    return auc_by_n(trials), error_rates(trials, n), metrics.mean_roc(trials.repeats(n)), metrics.det(*trials.of(n))


def at_threshold(genuine, imposter, threshold: float) -> dict:
    """What a threshold does, in people: {"let_in", "imposters", "sent_away", "owners", "fmr", "fnmr"}.

    >>> at_threshold([1.0, 3.0], [2.0, 4.0, 5.0], 2.5)["let_in"]
    1
    """
    rates = metrics.apply_threshold(genuine, imposter, threshold)
    return {"let_in": round(rates["fmr"] * len(imposter)), "imposters": len(imposter),
            "sent_away": round(rates["fnmr"] * len(genuine)), "owners": len(genuine), **rates}


def same_fmr(imposter, fmr: float) -> float:
    """The threshold that lets in the share ``fmr`` of imposters, to carry a choice from one model over to another.

    Distances of different models have different scales; how many imposters get in has the same. Unlike
    `metrics.threshold_at_fmr` it takes any rate: it says where on the curve that is, and promises nothing.
    """
    ordered = np.sort(imposter)
    allowed = round(fmr * len(ordered))
    return float(ordered[allowed - 1] if allowed else np.nextafter(ordered[0], -np.inf))


def attack(scores, threshold: float, people):
    """Every person is presented as an imposter: all others are enrolled, and the nearest decides. (S, S) -> DataFrame

    One row per person: imposter, nearest, distance, gets_in (distance <= threshold), nearest first.
    """
    import pandas as pd

    others = np.where(np.eye(len(scores), dtype=bool), np.inf, scores)
    nearest = others.argmin(1)
    frame = pd.DataFrame({"imposter": np.asarray(people), "nearest": np.asarray(people)[nearest],
                          "distance": others.min(1)})
    return frame.assign(gets_in=frame["distance"] <= threshold).sort_values("distance", ignore_index=True)


def confusion(scores) -> np.ndarray:
    """How often person i was taken for person j, ties shared. (S, S) or (R, S, S) -> (S, S), rows sum to one

    >>> confusion([[0.0, 1.0], [1.0, 1.0]])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    scores = np.asarray(scores, dtype=np.float64)
    scores = scores[None] if scores.ndim == 2 else scores
    named = scores == scores.min(-1, keepdims=True)
    return (named / named.sum(-1, keepdims=True)).mean(0)
