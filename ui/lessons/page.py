"""Lessons: a question each, a few steps on the other pages, and something to answer."""

from __future__ import annotations

import streamlit as st

from ui.lessons.lesson import PAGES, Lesson, LessonError, Step, lessons
from ui.library.spaces import my_notes
from ui.shell.frame import KEPT, setup_page
from ui.shell.text import plain
from ui.visitors.classroom import in_class


def show() -> None:
    """The whole page."""
    setup_page("Lessons", "Where do I start, and what is there to find out?")
    try:
        found = lessons()
    except LessonError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.stop()
    answers: dict[str, int] = my_notes("lesson_answers")     # "lesson/step" -> answer, from 1
    titles = {lesson.name: f"{i}. {lesson.title}" for i, lesson in enumerate(found, 1)}
    if st.session_state.get("lesson", next(iter(titles))) not in titles:
        del st.session_state["lesson"]
    left, right = st.columns([1, 2], gap="large")
    with left:
        name = st.radio("Lesson", list(titles), format_func=titles.get, key="lesson", **KEPT,
                        captions=[f"{lesson.minutes} min{_done(lesson, answers)}" for lesson in found])
        st.caption("Each step opens a page with its settings in place; come back here by *Lessons* in the sidebar. "
                   f"What you answer is kept until you {'leave the class' if in_class() else 'close the tab'}.")
    with right:
        _lesson(next(lesson for lesson in found if lesson.name == name), answers)


def _done(lesson: Lesson, answers: dict[str, int]) -> str:
    given = sum(f"{lesson.name}/{i}" in answers for i in lesson.questions)
    return f" · {given} of {len(lesson.questions)} answered" if given else ""


def _lesson(lesson: Lesson, answers: dict[str, int]) -> None:
    st.subheader(lesson.title)
    st.markdown(f"*{lesson.question}*")
    for i, step in enumerate(lesson.steps):
        with st.container(border=True):
            st.markdown(f"**{i + 1}**  \n{step.text}")
            if step.page is not None and st.button(f"Open {PAGES[step.page]}", icon=":material/arrow_forward:",
                                                   key=f"open-{lesson.name}-{i}"):
                _open(step)
            if step.ask:
                _ask(f"{lesson.name}/{i}", step, answers)


def _open(step: Step) -> None:
    """Go to the page of a step; what was set there before makes way for the step's settings."""
    for key, _ in step.settings:
        st.session_state.pop(key, None)
    st.switch_page(f"pages/{step.page or 'home'}.py", query_params=dict(step.settings))


def _ask(key: str, step: Step, answers: dict[str, int]) -> None:
    """A question; the reason is told once it is answered."""
    given = answers.get(key)
    chosen = st.radio(step.ask, range(1, len(step.answers) + 1), None if given is None else given - 1,
                      format_func=lambda i: step.answers[i - 1], key=f"answer-{key}")
    if chosen is None:
        return
    answers[key] = chosen
    if chosen == step.right:
        st.success(f"Yes. {step.because}", icon=":material/check:")
    else:
        st.warning(f"Not quite. {step.because}", icon=":material/close:")
