"""People who try: skilled forgeries against the person they imitate, beside others who merely claim to be them.

E sequences of the first session are enrolled, drawn at random (the same ones first for every E); each sequence of the
next session is a genuine trial by itself, each forgery of a person a *skilled* trial, and one sequence of each other
person's next session, drawn per repeat, a *random* trial. The score is the distance to the nearest enrolled sequence.
Where no stimulus names a second session, the first E sequences are enrolled in their order and all others observed, and
the result says so.

*Normalised*, the score is divided by the median distance among the claimed person's enrolled sequences: who signs much
the same every time is held to it. That needs two enrolled sequences, so there is no such row for E = 1. A negative
cosine is counted from −1, its smallest value, before it is divided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpwl_core.common.checks import check_whole
from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.bootstrap import percentiles, resample_people, resampled_eer
from qpwl_core.evaluation.draws import Draw
from qpwl_core.evaluation.sessions import nearest, sessions_of

ENROLLED = (1, 5, 10)
RATES = (0.01, 0.05)         # false match rates at which false non-matches are counted
DET = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)         # false match rates of a DET curve
KINDS = ("random", "skilled", "mixed")
MEASURES = tuple(f"{kind}_eer" for kind in KINDS) + tuple(
    f"{kind}_fnmr_{100 * rate:g}" for kind in ("random", "skilled") for rate in RATES)


@dataclass(frozen=True, eq=False)
class ForgeryTrials:
    """The scores of one repeat, with S people."""

    people: np.ndarray           # (S,) names, sorted
    genuine: np.ndarray          # (G,) of people's next session
    genuine_of: np.ndarray       # (G,) whose, an index into people
    skilled: np.ndarray          # (F,) of forgeries
    skilled_of: np.ndarray       # (F,) whom each imitates
    others: np.ndarray           # (S, S) of one sequence of person i against person j; the diagonal is no trial
    spread: np.ndarray           # (S,) median distance among the enrolled; NaN where one alone is

    @property
    def random(self) -> np.ndarray:
        """Scores of people who claim to be another, (S·(S−1),)."""
        return self.others[~np.eye(len(self.others), dtype=bool)]

    def against(self, kind: str) -> np.ndarray:
        """Imposter scores: "random", "skilled", or "mixed", which is all of both."""
        return {"random": self.random, "skilled": self.skilled,
                "mixed": np.concatenate([self.random, self.skilled])}[kind]

    def normalised(self) -> ForgeryTrials:
        """The same, divided by the spread of the claimed person, where at least two sequences are enrolled."""
        if not np.isfinite(self.spread).all():
            raise ValueError("normalising needs at least two enrolled sequences of each person")
        spread = np.maximum(self.spread, max(1e-3 * np.median(self.spread), 1e-12))      # of copies it is nought
        return replace(self, genuine=self.genuine / spread[self.genuine_of], skilled=self.skilled /
                       spread[self.skilled_of], others=self.others / spread)


def forgery_trials(distances, subjects, imitates, stimuli=None, *, enrolled: int = 5, repeats: int = 10,
                   seed: int = 0) -> list[ForgeryTrials]:
    """The scores of every repeat. ``distances`` (n, n), the others (n,): sequences of people, and forgeries of them.

    People take part who have enough sequences to enrol, one more to observe, and a forgery.
    """
    check_whole("enrolled", enrolled)
    check_whole("repeats", repeats)
    distances, subjects, imitates = np.asarray(distances), np.asarray(subjects), np.asarray(imitates)
    if distances.shape != (len(subjects),) * 2 or imitates.shape != subjects.shape:
        raise ValueError(f"distances must be (n, n) with subjects and imitates (n,), got shapes {distances.shape}, "
                         f"{subjects.shape} and {imitates.shape}")
    if not np.isfinite(distances).all():
        raise ValueError("distances must be finite, and some are NaN or infinite")
    if distances.min() < 0:
        distances = distances + 1
    both = _sequences(subjects, imitates, stimuli, enrolled)
    if len(both) < 2:
        raise ValueError(f"a test of forgeries needs two people with {enrolled} sequences to enrol, one to observe and "
                         f"a forgery, and there {'is' if len(both) == 1 else 'are'} {len(both)}")
    drawn_at_random = _has_next(subjects, imitates, stimuli)
    people, every = np.array(sorted(both)), np.arange(len(subjects))
    found = []
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat])
        orders = [random.permutation(both[name][0]) if drawn_at_random else both[name][0] for name in people]
        held = [order[:enrolled] for order in orders]
        observed = [both[name][1] for name in people]
        knocking = np.array([random.choice(each) for each in observed])
        near = nearest(distances, every, held)                                               # (n, S)
        forged = [np.flatnonzero(imitates == name) for name in people]
        genuine_of, skilled_of = (np.repeat(np.arange(len(people)), [len(x) for x in rows]) for rows in
                                  (observed, forged))
        found.append(ForgeryTrials(
            people, near[np.concatenate(observed), genuine_of], genuine_of, near[np.concatenate(forged), skilled_of],
            skilled_of, near[knocking], np.array([_spread(distances, each) for each in held])))
    return found


def forged_scores(distances, whom, drawn: Draw, n: int = 1, repeat: int | None = None) -> np.ndarray:
    """d_j(n) of those who imitate person j, against what of j is enrolled in one draw, or in all of them. -> (trials,)

    ``distances`` (F, G) of forgeries to the sequences that were drawn from, ``whom`` (F,) names. The forgeries of a
    person knock n at a time: each with those after it, and round again, so that there are as many trials as forgeries.
    """
    whom, found = np.asarray(whom), []
    for at in range(len(drawn.observed)) if repeat is None else (repeat,):
        enrolled = drawn.enrolled(at)
        for j, name in enumerate(drawn.people):
            held, tried = enrolled[drawn.owner[enrolled] == j], np.flatnonzero(whom == name)
            if len(tried) and len(held):
                near = distances[np.ix_(tried, held)].min(axis=1)
                found.append(np.mean([np.roll(near, -step) for step in range(n)], axis=0))
    return np.concatenate(found) if found else np.zeros(0)


def forgeries(distances, subjects, imitates, stimuli=None, *, enrolled=ENROLLED, repeats: int = 10, seed: int = 0):
    """Error rates against those who try and those who do not. -> DataFrame, one row per repeat, E and normalised:

    repeat, enrolled, normalised, subjects, genuine, random, skilled (trials), random_eer, skilled_eer, mixed_eer (all
    imposters together), and FNMR at FMR 1 % and 5 % of random and of skilled imposters, NaN where the trials are too
    few to measure it. There is no row for an E that fewer than two people have. ``attrs["note"]`` says what to know,
    ``attrs["det"]`` has the DET curves (`det_curves`) of every E and normalised, in their order.
    """
    import pandas as pd

    rows, curves = [], []
    for count in enrolled:
        try:
            repeated = forgery_trials(distances, subjects, imitates, stimuli, enrolled=count, repeats=repeats,
                                      seed=seed)
        except ValueError:
            if count == min(enrolled):               # nothing can be tested at all
                raise
            continue
        for normalised in (False, True) if count > 1 else (False,):
            scored = [trials.normalised() if normalised else trials for trials in repeated]
            curves.append(det_curves(scored))
            for repeat, trials in enumerate(scored):
                rows.append({"repeat": repeat, "enrolled": count, "normalised": normalised,
                             "subjects": len(trials.people), "genuine": len(trials.genuine),
                             "random": trials.random.size, "skilled": len(trials.skilled), **_rates(trials)})
    frame = pd.DataFrame(rows)
    one = "" if _has_next(np.asarray(subjects), np.asarray(imitates), stimuli) else (
        "there is one session: the first sequences of each person are enrolled, all others observed")
    frame.attrs = {"note": one, "sessions": 1 if one else 2, "det": curves}
    return frame


def det_curves(repeated: list[ForgeryTrials]) -> dict[str, list]:
    """FNMR over FMR, mean of repeats, None where the trials cannot measure it. -> {"fmr", "random", "skilled"}"""
    found: dict[str, list] = {"fmr": list(DET)}
    for kind in ("random", "skilled"):
        rates = [[metrics.fnmr_at_fmr(trials.genuine, trials.against(kind), fmr) for trials in repeated] for fmr in DET]
        means = np.array(rates, dtype=float).mean(axis=1)                    # NaN where one is None
        found[kind] = [None if np.isnan(mean) else float(mean) for mean in means]
    return found


def eer_interval(repeated: list[ForgeryTrials], kind: str, *, resamples: int = 300, level: float = 0.95,
                 seed: int = 0) -> tuple[float, float]:
    """Confidence interval of the mean EER against "random" or "skilled" imposters; people are resampled, not trials."""
    people = len(repeated[0].people)
    counts = resample_people(people, resamples, seed).astype(float)                          # (B, S)
    beside = ~np.eye(people, dtype=bool)
    total = np.zeros(resamples)
    for trials in repeated:
        weights = (counts[:, trials.skilled_of] if kind == "skilled" else
                   (counts[:, :, None] * counts[:, None, :])[:, beside])
        total += resampled_eer(trials.genuine, trials.against(kind), counts[:, trials.genuine_of], weights)
    return percentiles(total / len(repeated), level)


def summarise_forgeries(frame) -> list[dict]:
    """Mean over repeats, one dict per E and normalised, ready for JSON: None where the trials cannot measure a rate."""
    found = []
    groups = frame.groupby(["enrolled", "normalised"], sort=False)
    for ((enrolled, normalised), rows), det in zip(groups, frame.attrs["det"], strict=True):
        means = {name: None if rows[name].isna().any() else float(rows[name].mean()) for name in MEASURES}
        found.append({"enrolled": int(enrolled), "normalised": bool(normalised),
                      **{name: int(rows[name].iloc[0]) for name in ("subjects", "genuine", "random", "skilled")},
                      **means, "det": det})
    return found


def _rates(trials: ForgeryTrials) -> dict[str, float]:
    rates = {f"{kind}_eer": metrics.eer(trials.genuine, trials.against(kind)) for kind in KINDS}
    for kind in ("random", "skilled"):
        for rate in RATES:
            fnmr = metrics.fnmr_at_fmr(trials.genuine, trials.against(kind), rate)
            rates[f"{kind}_fnmr_{100 * rate:g}"] = float("nan") if fnmr is None else fnmr
    return rates


def _has_next(subjects, imitates, stimuli) -> bool:
    """Whether genuine sequences are of two sessions."""
    numbers = sessions_of(stimuli)
    return numbers is not None and len(np.unique(numbers[(imitates == "") & (numbers > 0)])) >= 2


def _sequences(subjects, imitates, stimuli, enrolled) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of everyone who can take part, the sequences to enrol from and those to observe."""
    apart, numbers, found = _has_next(subjects, imitates, stimuli), sessions_of(stimuli), {}
    for name in np.unique(subjects[imitates == ""]).tolist():
        own = np.flatnonzero((subjects == name) & (imitates == ""))
        if apart:
            assert numbers is not None, "there are sessions"
            sessions = np.unique(numbers[own][numbers[own] > 0])
            if len(sessions) < 2:
                continue
            pool, observed = (own[numbers[own] == session] for session in sessions[:2])
        else:
            pool, observed = own[:enrolled], own[enrolled:]
        if len(pool) >= enrolled and len(observed) and (imitates == name).any():
            found[name] = pool, observed
    return found


def _spread(distances, held) -> float:
    """The median distance between different enrolled sequences, NaN of one alone."""
    if len(held) < 2:
        return float("nan")
    return float(np.median(distances[np.ix_(held, held)][~np.eye(len(held), dtype=bool)]))
