"""Friendly names for people who are known by an id alone: the same id has the same name, everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

GIVEN = """
Ada Ali Amy Ana Ann Ari Ben Bo Cai Cal Cem Dan Dee Eda Eli Ella Emi Eva Fay Finn Gia Gus Hal Hana Ian Ida Ike Ina
Iris Ivo Jan Jay Joe Jun Kai Kim Lea Lee Leo Lia Lin Liv Lou Luz Mae Max May Mia Mo Nia Nina Noa Ola Ona Ora Pam Pia
Ray Rea Rio Rob Ron Roy Rui Sam Sia Sol Sue Tao Ted Tess Tia Tim Tom Uma Una Val Vera Vic Wes Yan Yara Zoe Zuri
"""
FAMILY = """
Ash Bay Beck Birch Bloom Brook Cliff Clay Cove Crane Dale Dove Elm Falk Fern Field Finch Ford Fox Frost Gale Glen
Grove Hale Hart Hawk Heath Hill Holt Ivy Jay Lake Lark Leaf Marsh Meadow Mill Moon Moss North Oak Park Pike Pine
Pond Quill Rain Reed Ridge River Rook Rose Sage Shore Snow Stone Storm Swan Vale Vine West Wild Wood Wren
"""
FIRST, LAST = GIVEN.split(), FAMILY.split()


NAME = re.compile(r"[^\W\d_]+([ '’-][^\W\d_]+)*")          # letters alone: somebody was called so


def friendly_names(ids: Iterable[str]) -> dict[str, str]:
    """A name for each id, drawn by the id alone, so that a person has one name in every set they are part of.

    Two may draw the same: whoever shows names to tell people apart shows the id beside. An id that is a name stays.

    >>> friendly_names(["04", "Ann"])["Ann"], friendly_names(["04"])["04"] == friendly_names(["04", "09"])["04"]
    ('Ann', True)
    """
    return {person: person if _is_name(person) else _drawn(person) for person in sorted(set(ids))}


def _is_name(person: str) -> bool:
    return len(person) > 1 and not person.isupper() and NAME.fullmatch(person) is not None


def _drawn(person: str) -> str:
    number = int.from_bytes(blake2b(f"0 {person}".encode(), digest_size=8).digest(), "big")
    return f"{FIRST[number % len(FIRST)]} {LAST[number // len(FIRST) % len(LAST)]}"
