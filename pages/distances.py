"""Does the Wasserstein distance see more than cosine: three distances on one embedding, and what decides a pair."""

from ui.distances.page import show

show()
