"""The storeys of a pyramid: into how many pieces a sequence is cut, and what they are called."""

from qpwl_core.common.bounds import PIECES as MOST_PIECES
from qpwl_core.common.text import quoted

NAMES = {2: ("first half", "second half"), 3: ("first third", "second third", "last third"),
         4: ("first quarter", "second quarter", "third quarter", "last quarter")}


def pyramid_of(text: str) -> tuple[int, ...]:
    """How many pieces each storey has: a few whole numbers, each once.

    >>> pyramid_of("1+2+4")
    (1, 2, 4)
    """
    try:
        storeys = tuple(int(word) for word in text.split("+"))
    except (ValueError, AttributeError, TypeError):
        storeys = ()
    if not storeys or min(storeys) < 1 or len(set(storeys)) < len(storeys) or sum(storeys) > MOST_PIECES:
        raise ValueError(f"pyramid must be different whole numbers such as 1+2+4, {MOST_PIECES} pieces at most, not "
                         f"{quoted(text)}")
    return storeys


def piece_names(storeys: tuple[int, ...]) -> list[str]:
    """What to call each piece.

    >>> piece_names((1, 2))
    ['whole', 'first half', 'second half']
    """
    return [name for count in storeys for name in (
        ("whole",) if count == 1 else NAMES.get(count, [f"piece {j + 1} of {count}" for j in range(count)]))]
