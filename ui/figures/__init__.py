"""Figures: pure functions from data to a plotly figure, one file a page. Colours are given, nothing reads state."""
