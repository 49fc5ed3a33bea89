"""All that a report says of one cell, computed from its distances: the paper's three scenarios and what is beyond."""

from __future__ import annotations

import numpy as np

from qpwl_core.evaluation import metrics, protocol
from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.evaluation.evaluate import further_scenarios, summarised

VERSION = 1
FMRS = (0.1, 0.01, 0.001)
CURVES = (1, 5)                # n of the ROC curves
RANKS = 20                     # of the CMC curve, at most
GRID = np.unique(np.round(np.concatenate([np.linspace(0, 1, 101), np.logspace(-3, 0, 46)]), 5))    # FMR of ROC and DET


def score(test, calibration, seed: int) -> dict:
    """The scores of a cell, ready for JSON: one row per repeat and setting, so that a report can average as it likes.

    ``test`` and ``calibration``: distances between all sequences of the people to test, and of others to set a
    threshold on (`cells.Distances`). Forgeries are nobody's in the paper's scenarios; they and sessions have their own
    (`further_scenarios`), in ``results``, and where a set is joined of several also set by set, in ``of_sets``.
    """
    everything, test, calibration = test, test.genuine(), calibration.genuine()
    groups = fair_groups(test.subjects, test.sources)
    verified, identified, imposters = (scenario(test.values, test.subjects, seed=seed, groups=groups) for scenario in
                                       (protocol.verification, protocol.identification, protocol.imposters))
    results, notes = summarised(verified, identified, imposters, test.subjects, test.sources, groups)
    more, said = _further(everything, seed)
    results, notes = results | more, notes + said
    drawn = draw(test.subjects, seed=seed, groups=groups)
    stack = protocol.person_distances(test.values, drawn)                         # (R, n, S, S)
    rows = verified[["repeat", "n", "auc", "eer"]].to_dict("records")
    curves: dict[int, list[list[float]]] = {n: [] for n in CURVES}
    for row in rows:
        trials = metrics.genuine_and_imposter(stack[row["repeat"], row["n"] - 1])
        row |= {"d_prime": metrics.d_prime(*trials),
                **{f"fnmr_{fmr:g}": metrics.fnmr_at_fmr(*trials, fmr) for fmr in FMRS}}
        if row["n"] in CURVES:
            curve = metrics.roc(*trials)
            curves[row["n"]].append(np.interp(GRID, curve["fpr"], curve["tpr"]).round(5).tolist())
    people = len(drawn.people)
    return {"version": VERSION, "results": results, "notes": notes, "subjects": people,
            "sequences": results["sequences"], "repeats": len(stack), "trials": people**2,
            "left_out": drawn.left_out, "windows_apart": windows_apart(test, groups),
            "verification": rows, "roc": {str(n): curve for n, curve in curves.items()},
            "cmc": [metrics.cmc(of_n[-1])[:RANKS].round(6).tolist() for of_n in stack],
            "identification": identified.to_dict("records"), "imposters": imposters.to_dict("records"),
            "calibrated": _calibrated(stack, calibration, seed), "of_sets": _of_sets(everything, seed)}


def _further(distances, seed: int) -> tuple[dict, list[str]]:
    return further_scenarios(distances.values, distances.subjects, distances.sources, seed, distances.stimuli,
                             distances.imitates)


def _of_sets(distances, seed: int) -> dict[str, dict]:
    """Forgeries and sessions of the people of each data set by itself, where names say that there are several."""
    if distances.imitates is None:
        return {}
    whose = np.where(distances.imitates == "", distances.subjects, distances.imitates)
    of = np.array([name.rpartition("-")[0] for name in whose])
    names = np.unique(of)
    return {str(name): _further(distances.select(of == name), seed)[0] for name in names} if len(names) > 1 else {}


def windows_apart(test, groups) -> bool | None:
    """Whether windows of one recording are never compared; None where every sequence is a whole recording."""
    return None if len(np.unique(test.sources)) == len(test.sources) else groups is not None


def stack_of(distances, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """d_j(n) of all repeats, (R, n, S, S), and the names of the S people."""
    drawn = draw(distances.subjects, seed=seed, groups=fair_groups(distances.subjects, distances.sources))
    return protocol.person_distances(distances.values, drawn), drawn.people


def _calibrated(stack: np.ndarray, calibration, seed: int) -> list[dict]:
    """The error rates of thresholds that were set on other people, one row per n and FMR that was aimed at.

    The threshold comes from all repeats of the calibration people together; where they are too few, there is no row.
    """
    try:
        others, people = stack_of(calibration, seed)
    except ValueError:                                       # fewer than two people with enough sequences
        return []
    rows = []
    for n in CURVES:
        _, imposter = (np.concatenate(x) for x in zip(*map(metrics.genuine_and_imposter, others[:, n - 1]),
                                                      strict=True))
        for fmr in FMRS:
            if fmr < metrics.smallest_rate(len(imposter)):
                continue
            threshold = metrics.threshold_at_fmr(imposter, fmr)
            reached = [metrics.apply_threshold(*metrics.genuine_and_imposter(scores), threshold)
                       for scores in stack[:, n - 1]]
            rows.append({"n": n, "aimed": fmr, "people": len(people), "threshold": threshold,
                         **{rate: float(np.mean([r[rate] for r in reached])) for rate in ("fmr", "fnmr")}})
    return rows
