"""Lessons: a question each, a few steps on the other pages, and something to answer."""

from ui.lessons.page import show

show()
