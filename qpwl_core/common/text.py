"""Words and numbers for people: names in quotes, sizes, durations, lists."""

import os
import reprlib
from collections.abc import Sequence

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlevel = 2


def shown(text) -> str:
    """Any text in quotes, short and safe to print; a path is its name."""
    text = os.fspath(text) if isinstance(text, os.PathLike) else text
    text = text if isinstance(text, str) else quoted(text).strip("'")
    text = text if len(text) <= 80 else text[:77] + "..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text) + "'"


def quoted(claim) -> str:
    """Whatever a file or a form claims, as Python writes it, on one line and short, however large it is.

    >>> quoted("a"), quoted(2.5), len(quoted("x" * 10**6)), len(quoted(list(range(10**6)))) < 40, quoted(10**5000)
    ("'a'", '2.5', 80, True, 'a number of 16,610 bits')
    """
    if type(claim).__module__ == "numpy" and getattr(claim, "ndim", 1) == 0:
        claim = claim.item()                     # nan, not np.float64(nan)
    if isinstance(claim, int) and claim.bit_length() > 256:
        return f"a number of {claim.bit_length():,} bits"
    try:
        return sentence(_SHORT.repr(claim), 120)
    except Exception:                            # something of a plug-in that cannot even say what it is
        return f"a {type(claim).__name__}"


def sentence(text: str, most: int = 400) -> str:
    """A message on one line and no longer than a person reads, whatever a file claims that it quotes.

    >>> sentence("two\\nlines"), len(sentence("x" * 1000))
    ('two lines', 400)
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    half = most // 2
    return text if len(text) <= most else f"{text[:half - 1]}…{text[-half:]}"


def listed(words: Sequence[str]) -> str:
    """Words as people list them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def some_of(names: Sequence[str], most: int = 6) -> str:
    """The first few of many names, and how many more there are.

    >>> some_of(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number: int, one: str, many: str) -> str:
    """A number and what it counts.

    >>> counted(1, "person", "people"), counted(2, "person", "people")
    ('1 person', '2 people')
    """
    return f"{number} {one if number == 1 else many}"


def size(nbytes: float) -> str:
    """Bytes for people.

    >>> size(1536), size(3 * 2**30)
    ('1.5 kB', '3 GB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if nbytes < 1024 or unit == "GB":
            break
        nbytes /= 1024
    return f"{nbytes:.3g} {unit}" if nbytes < 1000 else f"{nbytes:.0f} {unit}"


def duration(seconds: float) -> str:
    """Seconds as a person says it.

    >>> duration(42), duration(150), duration(9000), duration(200_000)
    ('42 s', '2.5 min', '2.5 h', '2.3 days')
    """
    for unit, size, until in (("s", 1, 100), ("min", 60, 100 * 60), ("h", 3600, 48 * 3600)):
        if seconds < until:
            return f"{seconds / size:.0f} s" if unit == "s" else f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"
