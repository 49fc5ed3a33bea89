"""The page Sign."""
