"""The home page: what this is, one real picture, a tour, and what is at hand."""

from ui.home.page import show

show()
