"""The enrolment desk: enrol people, let someone knock, see whether they get in, and why."""

from ui.desk.page import show

show()
