"""Samples to quantile functions, and the Wasserstein distance between two of them. Reads like the paper."""
