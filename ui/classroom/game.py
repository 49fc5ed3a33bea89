"""Forge the lecturer: whom to forge and how everybody did, in files that all processes of a class share.

Of a try only its figures are kept: how far it was from the line and which filters gave it away. What was drawn stays in
the session of whoever drew it; the lecturer's line is kept only where they let everyone watch it, until the game ends.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from qpwl_core.common.bounds import GAME_TRIES as MOST
from qpwl_core.common.bounds import GAME_TRIES_EACH as EACH
from qpwl_core.common.files import FileError, read_json, write_json, write_whole
from qpwl_core.desk.claims import from_nought
from qpwl_core.evaluation.explain import pair_parts
from qpwl_core.models.gallery import Gallery, load_gallery
from qpwl_core.models.methods import METHODS
from ui.library.models import Entry
from ui.library.signatures import join, rule_for

FOLDER, RATE = ".game", 0.1                        # in the folder of runs; forgers let in
PATIENCE = 10                                      # seconds to wait for another process that writes


@dataclass(frozen=True, eq=False)
class Game:
    """Whom to forge."""

    folder: Path
    id: str
    who: str                     # "the lecturer", or a person of the gallery
    model: str                   # checksum of the model that judges
    ink: dict | None             # to watch, where the owner let it be seen
    owner: Gallery               # E signatures, as the model sees them


@dataclass(frozen=True)
class Verdict:
    """What came of one try."""

    times: float                 # its distance over the line: at most 1 gets in
    why: str                     # the filter that gave it away most

    @property
    def accepted(self) -> bool:
        return self.times <= 1


def begin(runs: Path, who: str, model: str, owner: Gallery, ink: dict | None) -> None:
    """Start a game; the one before is over, and its figures are gone."""
    end(runs)
    part = runs / f".game-{secrets.token_hex(6)}"
    try:
        part.mkdir(parents=True)
        owner.save(part)
        write_json(part / "game.json", {"id": secrets.token_hex(6), "who": who, "model": model, "ink": ink})
        os.replace(part, runs / FOLDER)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise FileError(f"the game cannot be started: {(error.strerror or str(error)).lower()}") from None


def current(runs: Path) -> Game | None:
    """The game that is on, None where there is none."""
    try:
        said = read_json(runs / FOLDER / "game.json")
        return Game(runs / FOLDER, said["id"], said["who"], said["model"], said["ink"], load_gallery(runs / FOLDER))
    except (FileError, KeyError, TypeError):
        return None


def end(runs: Path) -> None:
    """End the game and forget all of it."""
    if (runs / FOLDER).exists():
        gone = runs / f".gone-{secrets.token_hex(6)}"
        try:
            os.replace(runs / FOLDER, gone)
        except OSError as error:
            raise FileError(f"the game cannot be ended: {(error.strerror or str(error)).lower()}") from None
        shutil.rmtree(gone, ignore_errors=True)


def judge(game: Game, entry: Entry, one: Gallery) -> Verdict:
    """Hold one drawing against the owner's signatures, by the model's own p and levels."""
    measure = METHODS[game.owner.method].distance
    rule = rule_for(entry, len(game.owner), 1, True, None, game.owner.p)
    near = from_nought(one.distances(other=game.owner), measure)[0]
    line = rule.theta(RATE) * rule.spread(from_nought(game.owner.distances(), measure))
    count, nearest = len(game.owner), int(near.argmin())
    parts = pair_parts(join(one, game.owner), [0], [nearest + 1])[0]
    usual = np.zeros_like(parts)
    if count > 1:
        usual = np.median(pair_parts(game.owner, *np.triu_indices(count, 1)), axis=0)
    return Verdict(float(near.min() / max(line, 1e-12)), game.owner.filter_name(int((parts - usual).argmax())))


def add_try(game: Game, visitor: str, name: str, verdict: Verdict) -> None:
    """Write a try down: one line, which is whole or not there."""
    path = game.folder / "tries.jsonl"
    line = {"game": game.id, "visitor": visitor, "name": name, "times": round(verdict.times, 4), "why": verdict.why,
            "at": round(time.time(), 1)}
    try:
        rows = tries(game)
        if len(rows) >= MOST:
            raise FileError(f"{MOST} tries were written down, which is the most: let the lecturer start a new game")
        if sum(row["visitor"] == visitor for row in rows) >= EACH:
            raise FileError(f"you have tried {EACH} times, which is the most that one person may")
        with _turn(game):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, (json.dumps(line) + "\n").encode())
            finally:
                os.close(handle)
    except OSError as error:
        raise FileError(f"the try cannot be written down: {(error.strerror or str(error)).lower()}") from None


def tries(game: Game) -> list[dict]:
    """All tries so far, in their order."""
    try:
        text = (game.folder / "tries.jsonl").read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for line in text.splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith("\n") else {}
        except ValueError:
            continue
        if row.get("game") == game.id:
            found.append(row)
    return found


def best_of(rows: list[dict]) -> list[dict]:
    """Everyone's best try, the best first: visitor, name, tries, times, why."""
    best: dict[str, dict] = {}
    for row in rows:
        known = best.setdefault(row["visitor"], row | {"tries": 0})
        count = known["tries"] + 1
        best[row["visitor"]] = (row if row["times"] < known["times"] else known) | {"tries": count}
    return sorted(best.values(), key=lambda row: row["times"])


def without(game: Game, visitor: str) -> None:
    """Strike out the tries of somebody who wants to be forgotten."""
    try:
        with _turn(game):
            rows = [row for row in tries(game) if row["visitor"] != visitor]
            write_whole(game.folder / "tries.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    except OSError as error:
        raise FileError(f"the tries cannot be written anew: {(error.strerror or str(error)).lower()}") from None


def _turn(game: Game) -> FileLock:
    """One process writes at a time: who is struck out takes no try of another along."""
    return FileLock(game.folder / ".turn", timeout=PATIENCE, is_singleton=False)
