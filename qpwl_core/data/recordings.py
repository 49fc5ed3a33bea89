"""Recordings of people: sequences of any length with who, what and how fast."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qpwl_core.common import bounds
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError

BLOCK = 2**20             # values looked at in one go, so that a memory map larger than memory streams through


@dataclass(frozen=True, eq=False, repr=False)
class Recordings:
    """Recordings of one or more people that share channels and rate.

    ``sequences``: n arrays (T_i, D) float32, finite, T_i >= 1; ``subjects``: (n,) str; ``channels``: D unique names;
    ``rate``: Hz; ``stimuli``: (n,) str or None, what was seen or done; ``info``: free text that travels with the data
    (name, domain, licence, citation, source, units, simulated = "yes"); ``imitates``: (n,) str, whom a sequence
    imitates, "" where nobody, or None where there is no forgery at all. The ``subjects`` entry of a forgery is the
    forger, who may have genuine sequences too, and whoever is imitated must have some.

    >>> walk = Recordings([np.zeros((50, 2)), np.ones((30, 2))], ["ann", "bob"], ("x", "y"), rate=10)
    >>> walk
    Recordings(2 sequences, 2 subjects, 2 channels, 10 Hz)
    >>> walk.select(subjects="bob").lengths.tolist()
    [30]
    """

    sequences: list[np.ndarray]
    subjects: np.ndarray
    channels: tuple[str, ...]
    rate: float
    stimuli: np.ndarray | None = None
    info: dict[str, str] = field(default_factory=dict)
    imitates: np.ndarray | None = None

    if TYPE_CHECKING:  # it takes more than it keeps: lists, too, which __post_init__ checks and turns into arrays
        def __init__(self, sequences: Iterable[ArrayLike], subjects: ArrayLike, channels: ArrayLike, rate: float,
                     stimuli: ArrayLike | None = None, info: dict[str, str] = ...,
                     imitates: ArrayLike | None = None) -> None: ...

    def __post_init__(self):
        put = lambda name, value: object.__setattr__(self, name, value)
        put("channels", tuple(_names(self.channels, "channels").tolist()))
        if wrong := bounds.within("the number of channels", len(self.channels), 1, bounds.CHANNELS):
            raise RecordingsError(wrong)
        check_different(self.channels, "channel names")
        put("subjects", _names(self.subjects, "subjects"))
        put("stimuli", None if self.stimuli is None else _names(self.stimuli, "stimuli"))
        put("imitates", None if self.imitates is None else _names(self.imitates, "imitates", nobody=True))
        put("sequences", [_sequence(x, i, len(self.channels)) for i, x in enumerate(self.sequences)])
        if not self.sequences:
            raise RecordingsError("there must be at least one sequence, and there is none")
        for what in ("subjects", "stimuli", "imitates"):
            names = getattr(self, what)
            if names is not None and len(names) != len(self.sequences):
                raise RecordingsError(f"{what} must name each of the {len(self.sequences)} sequences, "
                                      f"and there are {len(names)} names")
        put("rate", checked_rate(self.rate))
        put("info", _checked_info(self.info))
        self.check_forgeries()
        for i, values in enumerate(self.sequences):
            self._check_finite(i, values)

    def check_forgeries(self) -> None:
        """Refuse a forgery of nobody, that is of a person without a genuine sequence here, and one of oneself."""
        if self.imitates is not None and not (self.imitates != "").any():
            object.__setattr__(self, "imitates", None)
        if self.imitates is None:
            return
        for i in np.flatnonzero(self.is_forgery):
            who, whom = shown(self.subjects[i]), shown(self.imitates[i])
            if self.imitates[i] == self.subjects[i]:
                raise RecordingsError(f"imitates must name another person, and sequence {i} of {who} imitates {whom}")
        missing = np.setdiff1d(self.imitates[self.is_forgery], self.people)
        if len(missing):
            raise RecordingsError("imitates must name people with a genuine sequence, and sequence "
                                  f"{np.argmax(self.imitates == missing[0])} is a forgery of nobody here: "
                                  f"{shown(missing[0])}")

    def _check_finite(self, i, values):
        step = max(1, BLOCK // len(self.channels))
        for start in range(0, len(values), step):
            finite = np.isfinite(values[start:start + step])
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                raise RecordingsError(
                    f"values must be finite in float32, and sequence {i} (subject {shown(self.subjects[i])}) has "
                    f"{values[start + row, column]} in channel {shown(self.channels[column])} at sample {start + row}")

    def __len__(self):
        return len(self.sequences)

    def __repr__(self):
        forgeries = f", {self.is_forgery.sum()} of them forgeries" if self.imitates is not None else ""
        return (f"Recordings({len(self)} sequences{forgeries}, {len(self.people)} subjects, "
                f"{len(self.channels)} channels, {self.rate:g} Hz{', simulated' if self.simulated else ''})")

    @property
    def lengths(self) -> np.ndarray:
        """Samples of each sequence, (n,) int64."""
        return np.array([len(x) for x in self.sequences], dtype=np.int64)

    @property
    def simulated(self) -> bool:
        """Whether the values come from a simulator and not from people."""
        return self.info.get("simulated", "").lower() == "yes"

    @property
    def is_forgery(self) -> np.ndarray:
        """Which sequences imitate somebody, (n,) bool."""
        return forgery_mask(self.imitates, len(self))

    @property
    def people(self) -> list[str]:
        """Names of those with genuine sequences, sorted; who only forges is none of them."""
        return np.unique(self.subjects[~self.is_forgery]).tolist()

    @property
    def claims(self) -> np.ndarray:
        """The person each sequence is of or, where it is a forgery, is meant to pass for, (n,) str."""
        return self.subjects if self.imitates is None else np.where(self.is_forgery, self.imitates, self.subjects)

    def genuine(self) -> Recordings:
        """All but the forgeries."""
        return self if self.imitates is None else self.select(index=~self.is_forgery)

    def of_people(self, people) -> Recordings:
        """The genuine sequences of these people and the forgeries of them, in their order."""
        return self.select(index=np.isin(self.claims, list(people)))

    def select(self, subjects=None, stimuli=None, index=None) -> Recordings:
        """The sequences at ``index`` (integers, in that order, or a mask) that are of these subjects and stimuli.

        A forgery stays one where the person it imitates is not selected, so that it can be looked at or presented
        alone; only to save such a selection is an error.
        """
        keep = np.arange(len(self))
        if index is not None:
            try:
                keep = np.atleast_1d(keep[index])
            except IndexError:
                raise RecordingsError(f"index must hold integers below {len(self)} or a mask of that length") from None
        for what, names, wanted in (("subjects", self.subjects, subjects), ("stimuli", self.stimuli, stimuli)):
            if wanted is None:
                continue
            if names is None:
                raise RecordingsError(f"the recordings name no {what} to select by")
            wanted = _names([wanted] if isinstance(wanted, str) else list(wanted), what)
            unknown = np.setdiff1d(wanted, names)
            if len(unknown):
                raise RecordingsError(f"{what} must be among those recorded, and {shown(unknown[0])} is not")
            keep = keep[np.isin(names[keep], wanted)]
        if not len(keep):
            raise RecordingsError("no sequence has all that was selected")
        chosen = copy.copy(self)  # not a new Recordings: the values are checked, and may be larger than memory
        object.__setattr__(chosen, "sequences", [self.sequences[i] for i in keep])
        object.__setattr__(chosen, "subjects", self.subjects[keep])
        object.__setattr__(chosen, "stimuli", None if self.stimuli is None else self.stimuli[keep])
        object.__setattr__(chosen, "info", dict(self.info))
        return chosen.marked(None if self.imitates is None else self.imitates[keep])

    def marked(self, imitates: np.ndarray | None) -> Recordings:
        """The same sequences with this ``imitates``, of whomever: what is cut or selected may lack the imitated."""
        if imitates is not None and not (imitates != "").any():
            imitates = None
        if imitates is self.imitates:
            return self
        other = copy.copy(self)
        object.__setattr__(other, "imitates", imitates)
        return other

    def require(self, subjects=1, sequences=1) -> Recordings:
        """Itself, if at least so many subjects have at least so many sequences each; else an error that says so."""
        names, counts = np.unique(self.subjects[~self.is_forgery], return_counts=True)
        enough = int((counts >= sequences).sum())
        if enough < subjects:
            raise RecordingsError(
                f"this needs at least {subjects} subject(s) with at least {sequences} sequence(s) each, and "
                f"{self.info.get('name', 'the recordings')} have {enough} such subject(s) ({len(names)} in all)")
        return self

    def summary(self):
        """One row per subject: subject, sequences, stimuli (how many different), samples, seconds (a DataFrame).

        Where there are forgeries, rows are of genuine sequences, and ``forgeries`` counts those of that person.
        """
        import pandas as pd

        rows = pd.DataFrame({"subject": self.subjects, "samples": self.lengths,
                             "stimulus": None if self.stimuli is None else self.stimuli})[~self.is_forgery]
        table = rows.groupby("subject", sort=False).agg(
            sequences=("samples", "size"), stimuli=("stimulus", "nunique"), samples=("samples", "sum")).reset_index()
        table = table.assign(seconds=table["samples"] / self.rate)
        if self.imitates is None:
            return table
        return table.assign(forgeries=[int((self.imitates == name).sum()) for name in table["subject"]])

    def save(self, path, compressed=True) -> Path:
        """Write a .npz or .csv file, whole or not at all; the same recordings give the same bytes."""
        path = Path(path)
        self.check_forgeries()
        if path.suffix == ".npz":
            from qpwl_core.data.formats.writers import write_npz
            write_npz(self, path, compressed)
        elif path.suffix == ".csv":
            from qpwl_core.data.formats.writers import write_csv
            write_csv(self, path)
        else:
            raise RecordingsError(f"{shown(path.name)}: recordings are saved as .npz or .csv")
        return path


def forgery_mask(imitates: np.ndarray | None, count: int) -> np.ndarray:
    """Which of ``count`` sequences imitate somebody, from whom each imitates ("": nobody). -> (n,) bool"""
    return np.zeros(count, dtype=bool) if imitates is None else np.asarray(imitates) != ""


def check_different(names, what):
    """Refuse a list in which a name comes twice."""
    seen = set()
    for name in names:
        if name in seen:
            raise RecordingsError(f"{what} must differ, and {shown(name)} comes more than once")
        seen.add(name)


def checked_rate(rate) -> float:
    """The rate as a float: finite and above zero."""
    array = np.asarray(rate)
    if array.ndim != 0 or array.dtype.kind not in "iuf" or not (np.isfinite(array) and array > 0):
        raise RecordingsError(f"rate must be one number of Hz above 0, not {shown(rate)}")
    if wrong := bounds.within("rate", float(array), bounds.SLOWEST, bounds.FASTEST):
        raise RecordingsError(f"{wrong} Hz")
    return float(array)


def _names(values, what, nobody=False) -> np.ndarray:
    """An array (n,) of names: text that can be printed, without blanks around it, neither empty nor endless.

    With ``nobody`` a name may be empty.
    """
    try:
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind == "S":
            array = np.array([name.decode("utf-8") for name in array.tolist()], dtype=str)
        if array.ndim != 1 or not (array.dtype.kind in "UTiu" or all(isinstance(x, str) for x in array.tolist())):
            raise RecordingsError(f"{what} must be a list of names, not an array {array.shape} of {array.dtype}")
        names = [str(name).strip() for name in array.tolist()]
    except (ValueError, SystemError, OverflowError) as error:
        if isinstance(error, RecordingsError):
            raise
        raise RecordingsError(f"{what} must be a list of names in valid UTF-8") from None
    for name in names:
        if nobody and not name:
            continue
        if not name or not name.isprintable() or len(name) > bounds.NAME_LENGTH:
            raise RecordingsError(f"{what} must be names of 1 to {bounds.NAME_LENGTH} printable characters, not "
                                  f"{shown(name)}")
    return np.array(names, dtype=str)


def _sequence(values, i, channels) -> np.ndarray:
    """A plain float32 view (T, D) of one sequence, copied only where the type differs."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise RecordingsError(f"sequence {i} must be an array (samples, channels), and its rows differ") from None
    if array.dtype.kind not in "iuf":
        raise RecordingsError(f"sequence {i} must hold real numbers, not {array.dtype}")
    if array.ndim != 2 or len(array) == 0 or array.shape[1] != channels:
        raise RecordingsError(f"sequence {i} must be an array (samples, {channels} channels) with at least one sample, "
                              f"not {array.shape}")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and the finite check names it
        return array.astype(np.float32, copy=False)


def _checked_info(info) -> dict[str, str]:
    if not isinstance(info, dict) or not all(isinstance(x, str) for pair in info.items() for x in pair):
        raise RecordingsError("info must be a dictionary from text to text")
    return dict(info)
