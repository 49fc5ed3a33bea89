"""Identification and imposters: the more people the harder, who is taken for whom, and an attack."""

from ui.matching.identification_page import show

show()
