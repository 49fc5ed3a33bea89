"""What can be wrong with recordings."""

from qpwl_core.common.text import sentence


class RecordingsError(ValueError):
    """What is wrong with a recording or its file, in one sentence, whatever the file claims that it quotes."""

    def __init__(self, text: object = ""):
        super().__init__(sentence(str(text), 600))
