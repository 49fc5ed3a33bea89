"""Sign: put yourself in, and let a friend forge you."""

from ui.sign.page import show

show()
