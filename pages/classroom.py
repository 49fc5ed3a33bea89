"""The class: its link and its visitors for the lecturer, what is kept of them for everyone else."""

from ui.classroom.page import show

show()
