"""The page Quantile layer."""
