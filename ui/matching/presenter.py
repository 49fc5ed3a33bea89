"""Verification and identification before an audience: one visitor, one question, a guess, and then the answer."""

from __future__ import annotations

import numpy as np

from ui.library.models import gallery_of
from ui.matching.compared import Compared, first_threshold, span
from ui.matching.verification_figures import distances_of_kinds, nearest_people
from ui.shell.people import called
from ui.shell.presenter import NO, YES, Question, balanced, put_question
from ui.shell.text import plain

NOBODY = "Nobody of these"
MOST = 4                       # people who stand for a guess


def verify(models: list[Compared], n: int) -> None:
    """Someone claims to be a person: is it them?"""
    _present(models[0], n, _claim, "present-claim")


def identify(models: list[Compared], n: int) -> None:
    """Someone comes: who of the nearest is it, if anybody?"""
    _present(models[0], n, _who, "present-who")


def _present(model: Compared, n: int, ask, key: str) -> None:
    """One screen: the question, the buttons, the picture; after Reveal the answer in its place."""
    threshold = first_threshold(model, n)
    put_question(key, (model.key, n), "Threshold", lambda visitor, seed: ask(model, n, visitor, seed, threshold))


def _drawn(model: Compared, visitor: int, seed: int) -> tuple[bool, int, int, np.random.Generator]:
    """Of one kind or the other, who of all people, in which draw."""
    kind, before = balanced(visitor, seed)
    people = len(model.trials.people)
    turn, which = divmod(before, people)
    person = int(np.random.default_rng([seed, turn, kind]).permutation(people)[which])
    random = np.random.default_rng([seed, visitor])
    return kind, person, int(random.integers(len(model.trials.scores))), random


def _claim(model: Compared, n: int, visitor: int, seed: int, threshold: float):
    genuine, person, draw, random = _drawn(model, visitor, seed)
    people, names = model.trials.people, called(gallery_of(model.entry).people)
    others = [i for i in range(len(people)) if i != person]
    claimed = person if genuine else int(random.choice(others))
    distance = float(model.trials.scores[draw, n - 1, person, claimed])
    low, high, _ = span(model.trials)
    decided = YES if distance <= threshold else NO
    question = Question(f"Visitor {visitor} claims to be {plain(names[people[claimed]])}. Is it them?", [YES, NO],
                        YES if genuine else NO, decided, f"It really was {plain(names[people[person]])}.")
    return question, lambda shown: distances_of_kinds(*model.trials.of(n), distance, threshold if shown else None, low,
                                                      high)


def _who(model: Compared, n: int, visitor: int, seed: int, threshold: float):
    enrolled, person, draw, _ = _drawn(model, visitor, seed)
    people, names = model.trials.people, called(gallery_of(model.entry).people)
    distances = model.trials.scores[draw, n - 1, person].copy()
    if not enrolled:
        distances[person] = np.inf                                       # a stranger: everybody else is enrolled
    near = np.argsort(distances, kind="stable")[:MOST]
    answers = [names[people[i]] for i in sorted(near)]
    right = names[people[person]] if enrolled and person in near else NOBODY
    decided = names[people[near[0]]] if distances[near[0]] <= threshold else NOBODY
    really = f"It really was {plain(names[people[person]])}{'' if enrolled else ', who is not enrolled'}."
    question = Question(f"Visitor {visitor}: who is it?", [*answers, NOBODY], right, decided, really)
    return question, lambda shown: nearest_people([names[people[i]] for i in near], distances[near],
                                                  threshold if shown else None)
