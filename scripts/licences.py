"""The licence of everything we depend on, and whether one forbids this use: ``make licences``.

Asks each installed package that ours needs, directly or through others. Permissive licences, and those that bind only
changes to the library itself (MPL, LGPL), may be used by anyone; what is neither is listed, with exit code 1.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FREE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Unlicense|CC0|HPND|CMU|Zlib|0BSD|MPL|Mozilla|"
                  r"LGPL|Lesser General|Public Domain|BSL-1\.0", re.I)


def needed(names: list[str]) -> dict[str, metadata.Distribution]:
    """The installed distributions that some need, by name, with what those need in turn."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:                # of another system or an extra
            continue
        for line in found[name].requires or []:
            if "extra ==" not in line:
                waiting.append(re.match(r"[\w.-]+", line).group())
    return found


def licence_of(distribution: metadata.Distribution) -> str:
    """What a package says its licence is: the expression, else the classifiers, else the first line of the text."""
    about = distribution.metadata
    named = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if text.startswith("License ::")]
    free_text = (about.get("License") or "").strip().split("\n")[0]
    return about.get("License-Expression") or ", ".join(named) or free_text[:60] or "not said"


def requirements(file: str) -> list[str]:
    """The names in a requirements file."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [found.group() for line in lines if (found := re.match(r"[A-Za-z][\w.-]*", line))]


def table(file: str = "requirements.txt") -> dict[str, tuple[str, str]]:
    """Name -> version and licence of all that a requirements file brings."""
    return {name: (found.version, licence_of(found))
            for name, found in sorted(needed(requirements(file)).items())}


def unclear(rows: dict[str, tuple[str, str]]) -> list[str]:
    """The packages whose licence is not known to allow this use."""
    return [name for name, (_, licence) in rows.items()
            if not all(FREE.search(part) for part in re.split(r" AND ", licence))]


def main() -> int:
    rows = table() | table("requirements-dev.txt")
    for name, (version, licence) in rows.items():
        print(f"{name:30} {version:14} {licence}")
    look = unclear(rows)
    print(f"\n{len(rows)} packages; " + (f"look at: {', '.join(look)}" if look else "none forbids this use"))
    return bool(look)


if __name__ == "__main__":
    sys.exit(main())
