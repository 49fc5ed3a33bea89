"""The files of a model that a visitor brings, as they are or in a .zip: which there may be, and how large."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath

from qpwl_core.common.files import FileError
from qpwl_core.common.text import shown

FILES = ("card.json", "model.safetensors", "gallery.safetensors")
PICKLED = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib")


def parts_of(files: list[tuple[str, bytes]], most: int) -> dict[str, bytes]:
    """The files of a model by name, out of a .zip where it came in one; all bounded."""
    if not files:
        raise FileError("choose card.json and model.safetensors, or the .zip of a model")
    parts: dict[str, bytes] = {}
    for name, given in files:
        _check_name(name)
        found = _unpacked(name, given, most) if name.lower().endswith(".zip") else {name: given}
        for part, content in found.items():
            if part not in FILES:
                raise FileError(f"{shown(part)} is no part of a model: those are {', '.join(FILES)}")
            if part in parts:
                raise FileError(f"{part} came twice: give one model at a time")
            if not content:
                raise FileError(f"{part} is empty")
            parts[part] = content
            if sum(map(len, parts.values())) > most:
                raise FileError(f"this is larger than {most >> 20} MB, which no model of ours is")
    return parts


def _unpacked(name: str, content: bytes, most: int) -> dict[str, bytes]:
    """The files in a .zip, none read further than it may be large."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > len(FILES):
                raise FileError(f"{shown(name)} has {len(members)} files, and a model at most {len(FILES)}")
            for member in members:
                _check_name(member.filename)
            found, left = {}, most
            for member in members:
                with archive.open(member) as packed_file:
                    found[member.filename] = packed_file.read(left + 1)
                left -= len(found[member.filename])
                if left < 0:
                    raise FileError(f"this is larger than {most >> 20} MB unpacked, which no model of ours is")
            return found
    except FileError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError, IndexError,
            zipfile.zlib.error):
        raise FileError(f"{shown(name)} is not a .zip file that can be read: it is truncated or damaged") from None


def _check_name(name: str) -> None:
    if name != PurePath(name).name or "\\" in name or name.startswith("."):
        raise FileError(f"a file must have a plain name, without a path, not {shown(name)}")
    if name.lower().endswith(PICKLED):
        raise FileError(f"{shown(name)} is a pickled model, and opening one runs whatever code is in it: QP-WL Lab "
                        "reads card.json and model.safetensors only")
