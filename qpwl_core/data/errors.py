"""What can be wrong with recordings."""


class RecordingsError(ValueError):
    """What is wrong with a recording or its file, in one sentence."""
