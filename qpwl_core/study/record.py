"""What is kept of a cell: one small compressed file, from which every table and figure of a report is made.

``OUT/kept/<cell>.json.gz`` says what was trained (config, split by names, seed, seconds, checksum of the weights), what
came out per repeat, and per n the *wins* that the bootstrap over people needs: in how many of the repeats person i is
nearer to itself than j is to k, one letter for each (i, j, k), half wins counted. So intervals are the same as from all
distances, which are kept only of models that ship. That takes 3 to 10 kB of a dozen people, 35 kB of forty.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from qpwl_core.common.files import FileError, write_whole
from qpwl_core.evaluation.bootstrap import wins_of

FORMAT, VERSION = "qpwl-cell", 1
LARGEST = 64 * 2**20           # bytes of a record, unpacked
FIRST = 48                     # the letter "0" is no win


def record_path(name: str, out) -> Path:
    return Path(out) / "kept" / f"{name}.json.gz"


def packed_wins(stack: np.ndarray) -> str:
    """Half wins over all repeats, a letter each. (R, S, S) -> S³ letters

    >>> packed_wins(np.array([[[0, 1], [1, 0]]]))
    '02200220'
    """
    return (2 * wins_of(stack) + FIRST).astype(np.uint8).tobytes().decode("ascii")


def unpacked_wins(text: str, repeats: int) -> np.ndarray:
    """H of the bootstrap, mean of repeats, (S, S, S)."""
    wins = np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.float64) - FIRST
    people = round(len(wins) ** (1 / 3))
    if people < 2 or people**3 != len(wins) or wins.min() < 0 or wins.max() > 2 * repeats:
        raise FileError("the wins of a record must be a letter for each three of its people, and are not")
    return wins.reshape((people,) * 3) / (2 * repeats)


def moments(curves) -> dict[str, list]:
    """Mean, deviation and number of some curves of one length, so that those of several cells can be put together."""
    stack = np.array(curves)
    return {"mean": stack.mean(0).round(6).tolist(), "std": stack.std(0).round(6).tolist(), "count": len(stack)}


def write_record(path: Path, record: dict) -> None:
    """Write it, all but its config to seven decimals; the same record gives the same bytes."""
    kept = _rounded(record) | {"config": record["config"]}
    text = json.dumps(kept, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(path, gzip.compress(text.encode(), mtime=0))


def read_record(path: Path) -> dict:
    """A record, bounded; one sentence says what is wrong with a file that is none."""
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        record = json.loads(content) if len(content) <= LARGEST else None
    except FileNotFoundError:
        raise FileError(f"{path} is not there") from None
    except (OSError, EOFError, ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError(f"{path} is not the record of a cell: it is truncated or was edited")
    if record.get("version") != VERSION:
        raise FileError(f"{path} was written by another version of QP-WL Lab: delete it to make the cell again")
    return record


def _rounded(value):
    if isinstance(value, float):
        return round(value, 7) if np.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(x) for key, x in value.items()}
    return [_rounded(x) for x in value] if isinstance(value, list) else value
