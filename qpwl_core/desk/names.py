"""The names of enrolled people: what is a name, and when two are the same."""

import unicodedata

from qpwl_core.common.bounds import PERSON_LENGTH as NAME_LENGTH
from qpwl_core.common.text import shown


def checked_name(name: str) -> str:
    """The name, trimmed and in one Unicode form: 1 to 80 printable characters.

    >>> checked_name("  Zoe\\u0308 ")
    'Zoë'
    """
    name = unicodedata.normalize("NFC", name.strip()) if len(name) <= 20 * NAME_LENGTH else name
    if not name:
        raise ValueError("the name is empty: give 1 to 80 characters")
    if len(name) > NAME_LENGTH:
        raise ValueError(f"the name has {len(name)} characters: give at most {NAME_LENGTH}")
    if not name.isprintable():
        raise ValueError(f"the name has characters that cannot be shown: {shown(name)}")
    return name


def name_key(name: str) -> str:
    """What makes two names the same: neither case, nor blanks, nor how an accent is written."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())
