"""Verification: one threshold through all pictures, the paper's table, and how sure the errors are."""

from __future__ import annotations

from ui.matching import verification as views
from ui.matching.frame import show_page
from ui.matching.presenter import verify
from ui.matching.tried import those_who_tried
from ui.shell.controls import SMALLEST

VIEWS = {"line": ("Where to draw the line", views.line), "paper": ("As the paper tells it", views.as_the_paper),
         "sure": ("Errors, and how sure they are", views.how_sure), "tune": ("Over p and M", views.over_p_and_m),
         "tried": ("Those who try", those_who_tried)}
WORDS = ("genuine", "imposter", "FMR", "FNMR", "EER", "AUC", "gallery", "draw", "n")


def presets(n: int) -> dict[str, dict]:
    """Settings that show something."""
    return {"One sequence observed, or five?": {"n": 5 if n == 1 else 1},
            "Only the largest differences: p = 8": {"live": True, "p": 8.0}, SMALLEST: {"live": True, "M": 1, "p": 1.0}}


def show() -> None:
    """The whole page."""
    show_page("Verification", "Is this the person they claim to be?", "verification_view", VIEWS, verify, WORDS,
              presets)
