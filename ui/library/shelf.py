"""The shelf of models: take one in, give one out, rename, delete. Folders are named by us, never by what came."""

from __future__ import annotations

import io
import os
import secrets
import shutil
import unicodedata
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from qpwl_core.common.bounds import MODEL_BYTES as LARGEST
from qpwl_core.common.bounds import MODELS_BYTES
from qpwl_core.common.bounds import TITLE_LENGTH as LONGEST
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.common.text import size
from ui.library.elsewhere import FILES, take_in
from ui.library.jobs import remove_folder
from ui.library.models import SAID, Entry
from ui.library.totals import PRIVATE, Private
from ui.visitors.arriving import refusal
from ui.visitors.who import is_mine


def add_model(files: list[tuple[str, BinaryIO]], runs: Path, taken: Iterable[str] = ()) -> Private:
    """Take in an uploaded model, as its files or as the .zip that `packed` gives; it goes with what is returned.

    It is written into a folder of ours, loaded and used in another process: only what can be used is kept. A FileError
    says what is wrong. ``taken``: titles that it may not have.
    """
    for _, file in files:
        if why := refusal(file):
            raise FileError(why)
    contents = [(name, np.frombuffer(file.read(LARGEST + 1), np.uint8)) for name, file in files]
    if any(content.nbytes > LARGEST for _, content in contents):
        raise FileError(f"this is larger than {LARGEST >> 20} MB, which no model of ours is")
    check_room(runs, sum(content.nbytes for _, content in contents))
    name = secrets.token_hex(6)
    folder, place = runs / f".upload-{name}", runs / PRIVATE / name
    try:
        folder.mkdir(parents=True)
        in_child(take_in, contents, folder, LARGEST)
        card = read_json(folder / "card.json")
        fixed = ("format", "version", "config", "recipe", "length", "sha256", "versions")
        said = {key: card[key] for key, kind in SAID.items() if isinstance(card.get(key), kind) and _sound(card[key])}
        said["title"] = free_title(checked_title(said.get("title", ""), "Uploaded model"), taken)
        write_json(folder / "card.json", {key: card[key] for key in fixed if key in card} | said | {"kind": "uploaded"})
        place.parent.mkdir(exist_ok=True)
        os.replace(folder, place)
    except (FileError, ChildError) as error:
        raise FileError(str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "this")) from None
    except OSError as error:
        raise FileError(f"it cannot be kept: {(error.strerror or str(error)).lower()}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Private(place)


def check_room(runs: Path, new: int) -> None:
    """Refuse where all uploaded models, private and shared, would take more of the disk than they may."""
    there = 0
    for card in (*runs.glob("*/card.json"), *runs.glob(f"{PRIVATE}/*/card.json")):
        try:
            if card.parent.parent.name == PRIVATE or read_json(card).get("kind") == "uploaded":
                there += sum(path.stat().st_size for path in card.parent.iterdir())
        except (FileError, OSError, AttributeError):
            continue                                         # being made or deleted
    if there + new > MODELS_BYTES:
        raise FileError(f"uploaded models of all visitors may have {size(MODELS_BYTES)} together, and there is no room "
                        f"for {size(new)} more: delete one first")


def share(private: Private, runs: Path, owner: str = "") -> str:
    """Put an uploaded model on the shelf, everybody's or a visitor's; returns its id."""
    try:
        if owner:
            card = read_json(private.folder / "card.json")
            write_json(private.folder / "card.json", card | {"owner": owner})
        os.replace(private.folder, runs / private.folder.name)
    except OSError as error:
        raise FileError(f"it cannot be shared: {(error.strerror or str(error)).lower()}") from None
    private.keep()
    return private.folder.name


def packed(entry: Entry) -> bytes:
    """A model as a .zip file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            if (entry.folder / name).exists():
                archive.write(entry.folder / name, name)
    return content.getvalue()


def rename(entry: Entry, title: str, taken: Iterable[str] = ()) -> None:
    """Give a model of ours another title, none of those that are ``taken``."""
    _ours(entry)
    title = checked_title(title)
    if alike(title) in map(alike, taken):
        raise FileError("a model that ships has this name already, and nobody should take one for the other")
    write_json(entry.folder / "card.json", read_json(entry.folder / "card.json") | {"title": title})


def remove(entry: Entry) -> None:
    """Delete a model that was trained or uploaded here, and the run it came from."""
    _ours(entry)
    remove_folder(entry.folder)


def alike(title: str) -> str:
    """What is left of a title for the eye: letters and digits, in one case and one form."""
    return "".join(c for c in unicodedata.normalize("NFKD", title).casefold() if c.isalnum())


def free_title(title: str, taken: Iterable[str]) -> str:
    """A title that none of those ``taken`` can be mistaken for."""
    return f"{title[:LONGEST - 18]}, another model" if alike(title) in map(alike, taken) else title


def checked_title(title: str, otherwise: str | None = None) -> str:
    """A title of 1 to 80 characters that can be shown; if it is none, ``otherwise`` where that is given."""
    title = " ".join(title.split())
    if 1 <= len(title) <= LONGEST and title.isprintable():
        return title
    if otherwise is not None:
        return otherwise
    raise FileError(f"a name must have 1 to {LONGEST} characters that can be shown, and this has {len(title)}")


def _ours(entry: Entry) -> None:
    if entry.kind == "ships":
        raise FileError("it ships with QP-WL Lab and stays as it is")
    if not is_mine(entry.folder):
        raise FileError("it is somebody else's and stays as it is")


def _sound(value, depth: int = 0) -> bool:
    """Whether what a card says is plain: text, finite numbers, lists and dicts of them, not too deep."""
    if isinstance(value, dict):
        return depth < 6 and all(isinstance(k, str) and _sound(v, depth + 1) for k, v in value.items())
    if isinstance(value, list):
        return depth < 6 and all(_sound(v, depth + 1) for v in value)
    return value is None or isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and abs(value) < 1e300)
