"""Verification and identification before an audience: one visitor, one question, a guess, and then the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from ui.library.models import gallery_of
from ui.matching.compared import Compared, first_threshold, span
from ui.matching.verification_figures import distances_of_kinds, nearest_people
from ui.shell.charts import chart
from ui.shell.people import called
from ui.shell.presenter import balanced, score, visitor_and_seed
from ui.shell.text import plain

YES, NO, NOBODY = "It is them", "It is not", "Nobody of these"
MOST = 4                       # people who stand for a guess


@dataclass(frozen=True)
class Question:
    """What is asked of the audience: answers to choose from, the right one, and what the threshold says."""

    asked: str
    answers: list[str]
    right: str
    decided: str
    truth: str


def verify(models: list[Compared], n: int) -> None:
    """Someone claims to be a person: is it them?"""
    _present(models[0], n, _claim, "present-claim")


def identify(models: list[Compared], n: int) -> None:
    """Someone comes: who of the nearest is it, if anybody?"""
    _present(models[0], n, _who, "present-who")


def _present(model: Compared, n: int, ask, key: str) -> None:
    """One screen: the question, the buttons, the picture; after Reveal the answer in its place."""
    revealed = st.session_state.setdefault(key, {})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        visitor, seed = visitor_and_seed("present")
        score([given == right for given, right, _ in revealed.values() if given], [d == r for _, r, d in
              revealed.values()], "Threshold")
    threshold = first_threshold(model, n)
    question, figure = ask(model, n, visitor, seed, threshold)
    place = (model.key, n, visitor, seed)
    heading, buttons = st.container(), st.container(horizontal=True, gap="small")
    with buttons:
        for i, answer in enumerate(question.answers, 1):
            if st.button(answer, key=f"{key}-answer-{i}", shortcut=str(i), disabled=place in revealed):
                st.session_state[f"{key}-guess"] = place, answer
        guess = st.session_state.get(f"{key}-guess", (None, None))
        guess = guess[1] if guess[0] == place else None
        # A callback runs before the page is drawn again: the score above knows of it, too.
        st.button("Reveal", key=f"{key}-reveal", type="primary", icon=":material/visibility:", shortcut="Enter",
                  on_click=revealed.update, args=({place: (guess, question.right, question.decided)},))
        if place not in revealed:
            st.markdown(f"Your guess: **{plain(guess)}**." if guess else "What does the audience say?", width="content")
    with heading:
        if place in revealed:
            given = revealed[place][0]
            st.markdown(f"# :{'green' if question.decided == question.right else 'red'}[{plain(question.decided)}]")
            said = "" if given is None else f" The audience was {'right' if given == question.right else 'wrong'}."
            st.markdown(f"**{question.truth}**{said}")
        else:
            st.markdown(f"# {question.asked}")
    chart(figure(threshold if place in revealed else None), f"{key}-picture", question.asked)


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
    return question, lambda at: distances_of_kinds(*model.trials.of(n), distance, at, low, high)


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
    return question, lambda at: nearest_people([names[people[i]] for i in near], distances[near], at)
