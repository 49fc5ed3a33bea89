"""The paper's three scenarios on recordings of people that a model has never seen, as one summary."""

from __future__ import annotations

import numpy as np

from qpwl_core.data.recordings import Recordings, forgery_mask
from qpwl_core.evaluation import protocol
from qpwl_core.evaluation.draws import fair_groups
from qpwl_core.evaluation.forgeries import forgeries, summarise_forgeries
from qpwl_core.evaluation.sessions import across_sessions, two_sessions
from qpwl_core.models.model import Model


def evaluate_model(model: Model, recordings: Recordings, seed: int = 0) -> tuple[dict, list[str]]:
    """Verification, identification and imposters: the summary that ``evaluate --json`` writes, and notes to it."""
    embeddings = model.embed(recordings)
    return evaluate_distances(model.distances(embeddings), embeddings.subjects, embeddings.sources, seed,
                              embeddings.stimuli, embeddings.imitates)


def evaluate_distances(distances, subjects, sources=None, seed: int = 0, stimuli=None,
                       imitates=None) -> tuple[dict, list[str]]:
    """As ``evaluate_model``, from the distances (n, n) between all sequences, and the recording each was cut from.

    Forgeries (``imitates``, (n,)) have a scenario to themselves; no other one sees them. So have sessions, where
    ``stimuli`` (n,) name two of them.
    """
    subjects, genuine = np.asarray(subjects), ~forgery_mask(imitates, len(subjects))
    people, cut = subjects[genuine], None if sources is None else sources[genuine]
    between = distances if genuine.all() else np.asarray(distances)[np.ix_(genuine, genuine)]
    groups = fair_groups(people, cut)
    verified, identified, imposters = (
        scenario(between, people, seed=seed, groups=groups)
        for scenario in (protocol.verification, protocol.identification, protocol.imposters))
    summary, notes = summarised(verified, identified, imposters, people, cut, groups)
    more, said = further_scenarios(distances, subjects, sources, seed, stimuli, imitates)
    return summary | more, notes + said


def further_scenarios(distances, subjects, sources=None, seed: int = 0, stimuli=None,
                      imitates=None) -> tuple[dict, list[str]]:
    """What is beyond the paper: forgeries, across and within sessions, each where the recordings allow it, and notes.

    -> {"forgeries": [{"enrolled", "normalised", "random_eer", …}], "across_sessions": {"1": {"auc", "se", "eer"}, …},
    "within_sessions": {…}}
    """
    found: dict = {}
    notes = []
    distances = np.asarray(distances)
    genuine = ~forgery_mask(imitates, len(subjects))
    if not genuine.all():
        try:
            tried = forgeries(distances, subjects, imitates, stimuli, seed=seed)
        except ValueError as error:
            notes.append(f"forgeries are not tested: {error}")
        else:
            found["forgeries"] = summarise_forgeries(tried)
            notes += [f"forgeries: {tried.attrs['note']}"] if tried.attrs["note"] else []
    if stimuli is not None and two_sessions(stimuli[genuine]):
        try:
            days = across_sessions(distances[np.ix_(genuine, genuine)], subjects[genuine], stimuli[genuine],
                                   sources=None if sources is None else sources[genuine], seed=seed)
        except ValueError as error:
            return found, [*notes, f"sessions are not compared: {error}"]
        for which, rows in days.groupby("sessions"):
            found[f"{which}_sessions"] = {str(row.n): {"auc": row.auc, "se": row.auc_se, "eer": row.eer}
                                          for row in protocol.summarise(rows).itertuples()}
        notes.append(f"sessions: {days['subjects'].iloc[0]} subjects, the same sequences enrolled within and across")
        notes += [f"sessions: {days.attrs['note']}"] if days.attrs["note"] else []
    return found, notes


def summarised(verified, identified, imposters, subjects, sources, groups) -> tuple[dict, list[str]]:
    """The summary of the three scenarios' DataFrames, and notes to it."""
    cut = sources is not None and len(np.unique(sources)) < len(sources)
    left_out, subject_count = set(verified.attrs["left_out"]), int(verified["subjects"].iloc[0])
    sequences = sum(name not in left_out for name in subjects.tolist())
    notes = [f"{subject_count} subjects, {sequences} sequences, 5 of each subject observed, "
             f"{verified['repeat'].nunique()} repeats (mean ± standard error)"]
    if cut:
        notes.append("windows cut from one recording are not compared with each other" if groups is not None else
                     "windows cut from one recording are compared with each other: there is only one of most people, "
                     "so this is easier than to know someone again on another day")
    if verified.attrs["note"]:
        notes.append(verified.attrs["note"])
    summary = {
        "subjects": subject_count, "sequences": sequences,
        "verification": {str(row.n): {"auc": row.auc, "se": row.auc_se, "eer": row.eer}
                         for row in protocol.summarise(verified).itertuples()},
        "identification": [{"fraction": row.fraction, "accuracy": row.accuracy, "se": row.accuracy_se}
                           for row in protocol.summarise(identified).itertuples()],
        "imposters": [{"fraction": row.fraction, "auc": row.auc, "se": row.auc_se}
                      for row in protocol.summarise(imposters).itertuples()]}
    return summary, notes
