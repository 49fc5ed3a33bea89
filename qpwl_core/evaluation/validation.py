"""How well an embedding tells people apart while it is trained: one number, without a draw."""

from __future__ import annotations

import numpy as np

from qpwl_core.evaluation.metrics import auc


def validation_auc(distances: np.ndarray, subjects: np.ndarray, groups: np.ndarray | None = None,
                   imitates: np.ndarray | None = None) -> float:
    """AUC of verification with one observed sequence, every sequence observed once, all others enrolled.

    ``distances`` (n, n) between all sequences, ``subjects`` (n,). A sequence claims to be each person in turn, and
    scores its distance to that person's nearest *other* sequence; of those with the same ``group`` (windows of one
    recording), none counts, unless that would leave nothing genuine, as where people have one recording each. With one
    person only, or nothing to compare, there is nothing to tell apart: 0.5.

    ``imitates`` (n,): whom a sequence imitates, "" where nobody. Such a forgery is never enrolled and claims to be that
    person alone; the AUC against forgeries and the AUC against other people then count one half each.

    >>> validation_auc(np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0.]]), np.array(["a", "a", "b"]))
    1.0
    """
    distances = np.array(distances, dtype=np.float64)
    forged = np.zeros((0, 0))
    if imitates is not None and (imitates != "").any():
        genuine_rows, whom = imitates == "", imitates[imitates != ""]
        claimed = subjects[genuine_rows] == whom[:, None]                                            # (f, g)
        forged = np.where(claimed, distances[~genuine_rows][:, genuine_rows], np.inf).min(axis=1)    # (f,)
        forged = forged[np.isfinite(forged)]
        distances, subjects = distances[np.ix_(genuine_rows, genuine_rows)], subjects[genuine_rows]
        groups = None if groups is None else groups[genuine_rows]
    np.fill_diagonal(distances, np.inf)
    names, person = np.unique(subjects, return_inverse=True)
    if groups is not None:
        together = groups[:, None] == groups
        if (~together & (person[:, None] == person)).any():
            distances[together] = np.inf
    nearest = np.stack([distances[:, person == j].min(axis=1) for j in range(len(names))], axis=1)   # (n, people)
    genuine = person[:, None] == np.arange(len(names))
    usable = np.isfinite(nearest)
    if not (genuine & usable).any() or not (~genuine & usable).any():
        return 0.5
    found = auc(nearest[genuine & usable], nearest[~genuine & usable])
    return (found + auc(nearest[genuine & usable], forged)) / 2 if forged.size else found
