"""Verification: one threshold through all pictures, the paper's table, and how sure the errors are."""

from ui.matching.verification_page import show

show()
