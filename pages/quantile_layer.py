"""Quantile layer: from samples to Q̂, Q̃ and Q̄, and what W_p measures between two of them."""

from ui.quantile_layer.page import show

show()
