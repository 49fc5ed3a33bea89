"""Files of tensors and JSON that are whole or not there: written beside, synced, then put in place at once.

Tensors are in safetensors, so nothing is ever unpickled. What is wrong with a file is one sentence.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from qpwl_core.common.bounds import JSON_BYTES as LARGEST_JSON
from qpwl_core.common.text import sentence


class FileError(ValueError):
    """What is wrong with a model or run file, in one sentence, whatever the file claims that it quotes."""

    def __init__(self, text: object):
        super().__init__(sentence(str(text)))


def check_regular(path) -> None:
    """Refuse a pipe or a device where a file should be: to open one may wait for ever, to replace one does harm."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return                                   # what is not there, whoever opens it says
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(f"{path} is a pipe or a device, where a file should be")


@contextmanager
def whole_file(path):
    """A binary file to write that takes the name ``path`` only when all is written."""
    path = Path(path)
    check_regular(path)
    part = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically; on a full disk or in a folder that cannot be written, what was there stays."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(content)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}; "
                        f"{'what was there before is unharmed' if path.exists() else 'nothing was written'}") from None


def remove_parts(folder: Path, *names: str) -> None:
    """Delete what a process that was killed while it wrote these files left beside them."""
    for path in Path(folder).iterdir():
        if any(re.fullmatch(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}", path.name) for name in names):
            path.unlink(missing_ok=True)


def write_json(path: Path, value) -> None:
    write_whole(path, (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_json(path: Path):
    """A JSON file, bounded."""
    check_regular(path)
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_JSON + 1)
    except FileNotFoundError:
        raise FileError(f"{path} is not there") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(content) > LARGEST_JSON:
        raise FileError(f"{path} is larger than {LARGEST_JSON >> 20} MB, which no such file is")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise FileError(f"{path} is not JSON: it is truncated or was edited") from None


def tensor_bytes(tensors: dict[str, np.ndarray], facts: dict | None = None) -> bytes:
    """Named arrays as a safetensors file, with ``facts`` (JSON) in its header."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(x, order="C") for name, x in tensors.items()}  # it writes memory as it lies
    return save(arrays, {"facts": json.dumps(facts or {})})


def write_tensors(path: Path, tensors: dict[str, np.ndarray], facts: dict | None = None) -> None:
    """Write ``tensor_bytes``."""
    write_whole(path, tensor_bytes(tensors, facts))


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Named arrays, also of text, in a .npz file that numpy reads with ``allow_pickle=False``."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_whole(path, content.getvalue())


def read_tensors(path: Path, check: Callable[[dict[str, tuple[int, ...]]], None] | None = None,
                 ) -> tuple[dict[str, np.ndarray], dict]:
    """The arrays and facts of a safetensors file; ``check`` sees the shapes before anything is read, and may refuse."""
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(str(path), framework="np") as file:
            facts = json.loads((file.metadata() or {}).get("facts", "{}"))
            if not isinstance(facts, dict):
                raise ValueError("facts")
            if check is not None:
                check({name: tuple(file.get_slice(name).get_shape()) for name in file.keys()})  # noqa: SIM118  (no dict)
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118  (no mapping)
    except FileNotFoundError:
        raise FileError(f"{path} is not there") from None
    except FileError as error:
        raise FileError(f"{path} {error}") from None
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError):
        raise FileError(f"{path} is not a safetensors file: it is truncated or was edited") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
