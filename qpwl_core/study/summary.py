"""What a study left, for pages and scripts that quote it: ``study.json``, read once per change of the file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from qpwl_core.common.files import FileError, read_json

METHOD = "qp-wl"           # whose M and p are asked for
ASKED = ("points", "p", "people")     # what is asked of models that may be narrower than those of the main table


def read_summary(path: Path) -> dict[str, Any] | None:
    """The summary of a study, not to be changed; None where there is none, FileError where it cannot be read."""
    return _summary(str(path), path.stat().st_mtime_ns) if path.exists() else None


def read_or_none(path: Path) -> dict[str, Any] | None:
    """The same, and None where it cannot be read."""
    try:
        return read_summary(path)
    except FileError:
        return None


@lru_cache(maxsize=4)
def _summary(path: str, changed: int) -> dict[str, Any]:
    found = read_json(Path(path))
    if not isinstance(found, dict) or found.get("format") != "qpwl-study":
        raise FileError(f"{path} is not what a study writes")
    if found.get("version") != 1 or not found.get("sets"):
        raise FileError(f"{path} was written by another version of QP-WL Lab, or is empty")
    return found


def best_and_worst(summary: dict[str, Any], what: str, trained: str) -> list[dict[str, Any]]:
    """QP-WL over M (``what`` "points") or "p", trained "anew" or not ("no"): per set the best and the worst value.

    Each row has the set's title, splits, and value, auc, low, high of both as best_… and worst_…; ``clear`` where the
    two intervals do not meet. A set without two values has none.
    """
    found: dict[str, list[dict]] = {}
    for row in summary.get("sweeps", []):
        if (row["what"], row["trained"], row["method"]) == (what, trained, METHOD):
            found.setdefault(row["set"], []).append(row)
    said = []
    for name, rows in found.items():
        best, worst = (pick(rows, key=lambda row: row["auc"]) for pick in (max, min))
        if len(rows) > 1:
            said.append({"set": name, "title": summary["sets"][name]["title"], "splits": best["splits"],
                         "clear": worst["high"] < best["low"],
                         **{f"{which}_{key}": row[key] for which, row in (("best", best), ("worst", worst))
                            for key in ("value", "auc", "low", "high")}})
    return said


def narrower(summary: dict[str, Any]) -> str:
    """Of which sets M, p and people are asked with fewer filters than the main table has, in a sentence, or ""."""
    filters: dict[str, dict[bool, int]] = {}
    for row in summary.get("sweeps", []):
        if row["method"] == METHOD:
            filters.setdefault(row["set"], {})[row["what"] in ASKED] = row.get("filters")
    said = [f"{summary['sets'][name]['title']} ({of[True]:g} instead of {of[False]:g})" for name, of in filters.items()
            if len(of) == 2 and all(of.values()) and of[True] != of[False]]
    if not said:
        return ""
    return f"M, p and people to learn from are asked of networks with fewer filters, to save time: {', '.join(said)}."
