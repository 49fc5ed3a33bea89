"""A lesson is one file in `lessons/`: steps to read, to do on a page with its settings in the link, and to answer.

title, question, minutes; then `[[steps]]`, each with `text` (Markdown) and, where there is something to do, `page` and
`settings` (what stands in that page's link), where there is something to answer, `ask`, `answers`, `right` (counted
from 1) and `because`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from ui.shell.navigation import ROOT, STORY

LESSONS = ROOT / "lessons"
PAGES = {"": "Home", **{name: title for rows in STORY.values() for name, (title, _) in rows.items()}}


class LessonError(ValueError):
    """A file that is no lesson."""


@dataclass(frozen=True)
class Step:
    """Something to read, and perhaps to do or to answer."""

    text: str
    page: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    ask: str = ""
    answers: tuple[str, ...] = ()
    right: int = 0            # counted from 1
    because: str = ""


@dataclass(frozen=True)
class Lesson:
    """A title, a question that it answers, and steps."""

    name: str
    title: str
    question: str
    minutes: int
    steps: tuple[Step, ...]

    @property
    def questions(self) -> list[int]:
        """The steps that ask something, from 0."""
        return [i for i, step in enumerate(self.steps) if step.ask]


def lessons(folder: Path = LESSONS) -> list[Lesson]:
    """All lessons, in the order of their files' names."""
    return [read_lesson(path) for path in sorted(folder.glob("*.toml"))]


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file; one sentence says what is wrong with it."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        steps = tuple(_step(step) for step in given.pop("steps"))
        lesson = Lesson(path.stem, given.pop("title"), given.pop("question"), given.pop("minutes"), steps)
        if given or not steps or not isinstance(lesson.minutes, int):
            raise LessonError(f"it needs at least one step and whole minutes, and has {sorted(given)} on top")
    except KeyError as error:
        raise LessonError(f"{path.name} is no lesson: {error.args[0]} is missing") from None
    except (LessonError, TypeError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LessonError(f"{path.name} is no lesson: {error}") from None
    return lesson


def _step(given: dict) -> Step:
    step = Step(**{**given, "settings": tuple(given.get("settings", {}).items()),
                   "answers": tuple(given.get("answers", ()))})
    if step.page is not None and step.page not in PAGES:
        raise LessonError(f"there is no page {step.page!r}")
    if step.settings and step.page is None:
        raise LessonError("settings need a page")
    if bool(step.ask) != bool(step.answers) or (step.ask and not 1 <= step.right <= len(step.answers)):
        raise LessonError("a question needs answers, and `right` counts them from 1")
    return step
