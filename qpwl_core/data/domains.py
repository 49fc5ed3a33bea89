"""The kinds of recordings that have a preprocessing recipe, presets and models."""

DOMAINS = ("eye", "gait", "eeg", "signature", "generic")
