"""Which filters tell people apart: all of them ranked, one of them large, and where in a recording it fires."""

from ui.filters.page import show

show()
