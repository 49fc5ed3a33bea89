"""Results: the study, with the paper beside it."""

from ui.results.page import show

show()
