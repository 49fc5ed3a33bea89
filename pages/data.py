"""Data: who was recorded, one sequence beside another, the split, what the network sees, and one's own recordings."""

from ui.data.page import show

show()
