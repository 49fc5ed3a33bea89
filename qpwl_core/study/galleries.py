"""Galleries small enough for a repository: some of the people, some of their sequences, the same for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.evaluation.sessions import sessions_of
from qpwl_core.models.gallery import SEGMENTS, Gallery, dense_levels
from qpwl_core.study.sets import StudySet

DENSE = 64                # filters, beyond which every second of a gallery's even levels is enough


def to_ship(gallery: Gallery, studied: StudySet) -> Gallery:
    """What of it ships: all of it where nothing does."""
    if studied.ships is None:
        return gallery
    return thinner(smaller(gallery, *studied.ships, origins=[f"{name}-" for name, _ in studied.joined]))


def smaller(gallery: Gallery, test: int, calibration: int, sequences: int, origins: Sequence[str] = ()) -> Gallery:
    """At most so many people to test and to calibrate, and sequences of each, the same ones for every method.

    People come from those whom the protocol can use and, where there are sessions, who have two; where sets were joined
    (``origins``: how the names of their people begin), from every set in turn, since a line that was set on people of
    one tablet is none for those of another. Of a person the sequences are kept in their order, where there are
    sessions as many of each, and half as many forgeries come along.
    """
    kept = []
    for part, most in (("test", test), ("calibration", calibration)):
        places = np.flatnonzero((gallery.parts == part) & ~gallery.is_forgery)
        subjects, sources = gallery.subjects[places], gallery.sources[places]
        try:
            usable = draw(subjects, repeats=1, groups=fair_groups(subjects, sources)).people
        except ValueError:                       # too few for the protocol: a threshold cannot be set on them anyway
            usable = np.unique(subjects)
        if gallery.imitates is not None:
            usable = _in_two_sessions(gallery.select(places), usable)
        for person in np.sort(_of_every_set(usable[_mixed(usable)], origins)[:most]):
            of_person = _mixed_places(gallery, places[subjects == person])
            if gallery.imitates is None:
                kept.append(np.sort(of_person[:sequences]))
                continue
            forged = _mixed_places(gallery, np.flatnonzero(gallery.imitates == person))
            kept += [np.sort(_of_every_session(of_person, gallery.stimuli)[:sequences]),
                     np.sort(forged[:sequences // 2])]
    return gallery.select(np.concatenate(kept))


def _mixed(names) -> np.ndarray:
    """An order of the names that looks drawn, and in which two come the same way round whoever else is there. (n,)"""
    return np.argsort([sha256(str(name).encode()).hexdigest() for name in names], kind="stable")


def _mixed_places(gallery: Gallery, places: np.ndarray) -> np.ndarray:
    """The places in an order that looks drawn; a recipe that loses a sequence changes nothing of the others' order."""
    sources = gallery.sources[places]
    return places[_mixed([f"{source} {np.count_nonzero(sources[:i] == source)}" for i, source in enumerate(sources)])]


def thinner(gallery: Gallery) -> Gallery:
    """Every second of the even levels where there are very many filters; the model's levels stay, and so its distance.

    Of a pyramid, whose pieces have few levels each, all stay.
    """
    if gallery.values.shape[1] <= DENSE or gallery.pyramid != "1":
        return gallery
    even = dense_levels(gallery.model_levels, SEGMENTS // 2)
    keep = np.isin(gallery.levels, even)
    return replace(gallery, values=gallery.values[:, :, keep], levels=gallery.levels[keep])


def _of_every_set(people: np.ndarray, origins: Sequence[str]) -> np.ndarray:
    """The people in their order, one of every set, then the next of every set, and so on."""
    return people[_in_turn([next((i for i, start in enumerate(origins) if name.startswith(start)), -1)
                            for name in people])]


def _of_every_session(places: np.ndarray, stimuli: np.ndarray | None) -> np.ndarray:
    """The places in their order, one of each session, then the next of each, so that the first are of all alike."""
    numbers = sessions_of(stimuli)
    return places if numbers is None else places[_in_turn(numbers[places].tolist())]


def _in_turn(kinds: list) -> np.ndarray:
    """An order in which the first of every kind come first, then the second of every kind, and so on. (n,)"""
    return np.argsort([kinds[:place].count(kind) for place, kind in enumerate(kinds)], kind="stable")


def _in_two_sessions(gallery: Gallery, people: np.ndarray) -> np.ndarray:
    """Those of the people who were there twice; all of them where nobody was."""
    numbers = sessions_of(gallery.stimuli)
    if numbers is None:
        return people
    both = [len(np.unique(numbers[(gallery.subjects == name) & (numbers > 0)])) > 1 for name in people]
    return people[both] if any(both) else people
