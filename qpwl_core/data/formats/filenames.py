"""Whose recording a file of one sequence is: its name says."""

import re
from pathlib import PurePath


def stem_of(name) -> str:
    """A file's name without its extension and, for .fif, without mne's habitual ``raw`` or ``epo`` at the end."""
    stem = PurePath(name).stem
    return re.sub("(?<=.)[-_](raw|epo)$", "", stem) if name.lower().endswith(".fif") else stem


def subject_and_stimulus(name) -> tuple[str, str | None]:
    """The subject stands before the first underscore, else before the first hyphen; what follows is the stimulus.

    >>> subject_and_stimulus("AAF_bridge_1.csv"), subject_and_stimulus("4-2.csv"), subject_and_stimulus("ann.edf")
    (('AAF', 'bridge_1'), ('4', '2'), ('ann', None))
    >>> subject_and_stimulus("sub-01_task-rest.edf"), subject_and_stimulus("ann_raw.fif")
    (('sub-01', 'task-rest'), ('ann', None))
    """
    stem = stem_of(name)
    subject, _, stimulus = stem.partition("_" if "_" in stem else "-")
    return (subject, stimulus) if subject and stimulus else (stem, None)
