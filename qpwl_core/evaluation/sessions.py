"""Known again on another day: enrolled in one session and observed in another, beside both in the same session."""

from __future__ import annotations

import re

import numpy as np

from qpwl_core.common.checks import check_whole
from qpwl_core.evaluation import metrics

SESSION = re.compile(r"(?:.*@)?ses(?:sion)?[-_ ]?0*(\d+)", re.IGNORECASE)


def sessions_of(stimuli) -> np.ndarray | None:
    """The number of each sequence's session, 0 where its stimulus names none; None where no stimulus names one. (n,)

    A session is a stimulus ``session1`` or, with what was done before it, ``walking@session1``; ``ses-01`` is one too.

    >>> sessions_of(["session1", "walking@session2", "ses-03", "forgery"]).tolist()
    [1, 2, 3, 0]
    >>> sessions_of(["walk", "session-less"]) is None
    True
    """
    if stimuli is None:
        return None
    found = [SESSION.fullmatch(str(name)) for name in stimuli]
    numbers = np.array([0 if match is None else int(match[1]) for match in found])
    return numbers if any(match is not None for match in found) else None


def two_sessions(stimuli) -> bool:
    """Whether stimuli name two sessions or more."""
    numbers = sessions_of(stimuli)
    return numbers is not None and len(np.unique(numbers[numbers > 0])) >= 2


def across_sessions(distances, subjects, stimuli, *, sources=None, repeats: int = 10, observed: int = 5, seed: int = 0):
    """Verification within one session and across two, of the same people and the same enrolled sequences.

    ``distances`` (n, n), ``subjects`` and ``stimuli`` (n,), of genuine sequences alone; ``sources`` (n,): what windows
    were cut from. Per repeat and person, some recordings of the first session are drawn and all else of it is enrolled;
    *within* observes one sequence of each recording that was drawn, *across* one of each of as many recordings of the
    next session. Windows of one recording are so never compared. Observed are five recordings or, where fewer than half
    of the people with two sessions have six in the first and five in the next, as many as half of them have; others are
    left out.
    -> DataFrame, one row per session, repeat and n: sessions ("within" or "across"), repeat, n, subjects, enrolled
    (sequences per person, mean), trials, auc, eer
    """
    import pandas as pd

    distances, subjects = np.asarray(distances), np.asarray(subjects).astype(str)
    check_whole("repeats", repeats)
    check_whole("observed", observed)
    numbers = sessions_of(stimuli)
    if numbers is None or not two_sessions(stimuli):
        raise ValueError("stimuli must name two sessions, such as session1 and session2, and they do not")
    sources = np.arange(len(subjects)) if sources is None else np.asarray(sources)
    names = np.unique(subjects).tolist()
    both = {name: _two(subjects == name, numbers, sources) for name in names}
    able = lambda n: [name for name in names if both[name][0] > n and both[name][1] >= n]
    observed = next((n for n in range(observed, 0, -1) if len(able(n)) >= max(2, len(able(1)) / 2)), 0)
    if not observed:
        raise ValueError("subjects must have two people with two recordings in one session and one in the next")
    people = able(observed)
    rows = []
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat])
        drawn = [_draw(subjects == name, numbers, sources, observed, random) for name in people]
        enrolled = [each[0] for each in drawn]
        for which, place in (("within", 1), ("across", 2)):
            near = nearest(distances, np.array([each[place] for each in drawn]).ravel(), enrolled)
            of_n = near.reshape(len(people), observed, len(people)).cumsum(axis=1)
            for n in range(1, observed + 1):
                trials = metrics.genuine_and_imposter(of_n[:, n - 1] / n)
                rows.append({"sessions": which, "repeat": repeat, "n": n, "subjects": len(people),
                             "enrolled": float(np.mean([len(each) for each in enrolled])), "trials": len(people)**2,
                             "auc": metrics.auc(*trials), "eer": metrics.eer(*trials)})
    frame = pd.DataFrame(rows)
    frame["enrolled"] = frame["enrolled"].mean()
    left_out = [name for name in names if name not in people]
    note = (f"{len(left_out)} of {len(names)} subjects left out for too few recordings in two sessions: "
            f"{', '.join(left_out)}" if left_out else "")
    frame.attrs = {"left_out": left_out, "note": note}
    return frame


def nearest(distances: np.ndarray, rows: np.ndarray, enrolled: list[np.ndarray]) -> np.ndarray:
    """Distance of each row to the nearest enrolled sequence of each person. (n, n), (r,), S lists -> (r, S)

    >>> nearest(np.array([[0, 5, 2], [5, 0, 1], [2, 1, 0]]), np.array([0]), [np.array([0]), np.array([1, 2])]).tolist()
    [[0, 2]]
    """
    starts = np.cumsum([0, *map(len, enrolled)])[:-1]
    return np.minimum.reduceat(distances[np.ix_(rows, np.concatenate(enrolled))], starts, axis=1)


def _two(mine: np.ndarray, numbers: np.ndarray, sources: np.ndarray) -> tuple[int, int]:
    """Recordings in the first and in the next session of a person."""
    own = np.unique(numbers[mine & (numbers > 0)])
    counts = [len(np.unique(sources[mine & (numbers == number)])) for number in own[:2]]
    return counts[0] if counts else 0, counts[1] if len(counts) > 1 else 0


def _draw(mine, numbers, sources, observed, random) -> tuple[np.ndarray, list[int], list[int]]:
    """The enrolled sequences of a person, and the observed ones of the same and of the next session."""
    first, second = np.unique(numbers[mine & (numbers > 0)])[:2]
    of = [random.permutation(np.unique(sources[mine & (numbers == number)])) for number in (first, second)]
    seen = [[int(random.choice(np.flatnonzero(mine & (numbers == number) & (sources == source))))
             for source in of_session[:observed]] for number, of_session in zip((first, second), of, strict=True)]
    enrolled = np.flatnonzero(mine & (numbers == first) & np.isin(sources, of[0][observed:]))
    return enrolled, seen[0], seen[1]
