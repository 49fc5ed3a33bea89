"""Friendly names for people who are known by an id alone: the same id has the same name, everywhere."""

from __future__ import annotations

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


def friendly_names(ids: Iterable[str]) -> dict[str, str]:
    """A name for each id, drawn by the id alone; of two in a set that drew the same, the later one draws again.

    >>> friendly_names(["04", "09"]) == {**friendly_names(["04"]), **friendly_names(["09"])}
    True
    """
    found: dict[str, str] = {}
    for person in sorted(set(ids)):
        turn = 0
        while (name := _drawn(person, turn)) in found.values():
            turn += 1
        found[person] = name
    return found


def _drawn(person: str, turn: int) -> str:
    number = int.from_bytes(blake2b(f"{turn} {person}".encode(), digest_size=8).digest(), "big")
    return f"{FIRST[number % len(FIRST)]} {LAST[number // len(FIRST) % len(LAST)]}"
