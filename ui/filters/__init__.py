"""The page Filters."""
