"""The paper's three scenarios on recordings of people that a model has never seen, as one summary."""

from __future__ import annotations

import numpy as np

from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation import protocol
from qpwl_core.evaluation.draws import fair_groups
from qpwl_core.models.model import Model


def evaluate_model(model: Model, recordings: Recordings, seed: int = 0) -> tuple[dict, list[str]]:
    """Verification, identification and imposters: the summary that ``evaluate --json`` writes, and notes to it."""
    embeddings = model.embed(recordings)
    return evaluate_distances(model.distances(embeddings), embeddings.subjects, embeddings.sources, seed)


def evaluate_distances(distances, subjects, sources=None, seed: int = 0) -> tuple[dict, list[str]]:
    """As ``evaluate_model``, from the distances (n, n) between all sequences, and the recording each was cut from."""
    groups = fair_groups(subjects, sources)
    verified, identified, imposters = (
        scenario(distances, subjects, seed=seed, groups=groups)
        for scenario in (protocol.verification, protocol.identification, protocol.imposters))
    return summarised(verified, identified, imposters, subjects, sources, groups)


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
