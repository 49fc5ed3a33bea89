"""Text on a page."""

import re


def plain(text: str) -> str:
    """A name as it is, wherever Markdown would read it otherwise."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(str(text).split()))
