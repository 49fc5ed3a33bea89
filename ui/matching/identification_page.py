"""Identification and imposters: the more people the harder, who is taken for whom, and an attack."""

from __future__ import annotations

from ui.matching import identification as views
from ui.matching.frame import show_page
from ui.matching.presenter import identify

VIEWS = {"enrolled": ("The more people are enrolled, the harder it gets", views.enrolled),
         "mistaken": ("Who is taken for whom", views.mistaken), "attack": ("The attack", views.the_attack)}
WORDS = ("imposter", "AUC", "gallery", "draw", "n")


def show() -> None:
    """The whole page."""
    show_page("Identification and imposters", "Who is it, and is it anyone we know?", "identification_view", VIEWS,
              identify, WORDS)
