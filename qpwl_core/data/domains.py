"""The kinds of recordings that have a preprocessing recipe, presets and models of their own."""

DOMAINS = ("eye", "gait", "eeg", "generic")
