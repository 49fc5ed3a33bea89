"""Files that are whole or not there."""

import errno
import json
import os
import pickle

import numpy as np
import pytest
import torch

from qpwl_core.common import files
from qpwl_core.common.files import (
    FileError,
    read_json,
    read_tensors,
    remove_parts,
    write_json,
    write_tensors,
    write_whole,
)

ARRAYS = {"scalar": np.array(3.5, dtype=np.float32), "empty": np.zeros((0, 3)), "count": np.array([1, 2], np.int64),
          "turned": np.arange(6.0).reshape(2, 3).T, "part": np.arange(10.0)[::2], "bytes": np.arange(3, dtype=np.uint8)}


def test_tensors_come_back_bit_by_bit(tmp_path):
    write_tensors(tmp_path / "new" / "x.safetensors", ARRAYS, {"step": 3, "name": "Jäger"})
    arrays, facts = read_tensors(tmp_path / "new" / "x.safetensors")
    assert facts == {"step": 3, "name": "Jäger"}
    assert arrays.keys() == ARRAYS.keys()
    for name, x in ARRAYS.items():
        assert (arrays[name].shape, arrays[name].dtype) == (x.shape, x.dtype)
        assert arrays[name].tobytes() == x.tobytes()


def test_json_comes_back_and_never_holds_nan(tmp_path):
    write_json(tmp_path / "x.json", {"ä": [1, None, "µ"]})
    assert read_json(tmp_path / "x.json") == {"ä": [1, None, "µ"]}
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "y.json", float("nan"))
    assert not (tmp_path / "y.json").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_was_there_stays(call, number, tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, "before")

    def fail(*_):
        raise OSError(number, os.strerror(number))
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(FileError, match=f"x.json cannot be written: {os.strerror(number).lower()}; what was there "
                                        "before is unharmed") as error:
        write_json(path, "after")
    assert "\n" not in str(error.value)
    with pytest.raises(FileError, match="nothing was written"):
        write_json(tmp_path / "other.json", 1)
    monkeypatch.undo()
    assert read_json(path) == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "x.json").mkdir()
    (tmp_path / "x.json" / "full").touch()
    with pytest.raises(FileError, match="cannot be written"):
        write_json(tmp_path / "x.json", 1)
    for read in (read_json, read_tensors):
        with pytest.raises(FileError, match="cannot be read|not a safetensors file"):
            read(tmp_path / "x.json")


def test_files_have_the_permissions_that_others_have(tmp_path):
    (tmp_path / "other").touch()
    write_whole(tmp_path / "x", b"1")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_missing(read, tmp_path):
    with pytest.raises(FileError, match="none is not there"):
        read(tmp_path / "none")


@pytest.mark.parametrize("content", [b"", b"{", b"{\"a\": 1", b"\xff\xfe", b"[" * 100_000, b"nope"])
def test_what_is_no_json(content, tmp_path):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(FileError, match="x.json is not JSON: it is truncated or was edited"):
        read_json(tmp_path / "x.json")


def test_json_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_JSON", 2**20)
    (tmp_path / "x.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(FileError, match="x.json is larger than 1 MB"):
        read_json(tmp_path / "x.json")


def damaged():
    """Contents that are no safetensors file of ours."""
    from safetensors.numpy import save

    whole = save({"x": np.arange(8.0)}, {"facts": "{}"})
    header = int.from_bytes(whole[:8], "little")
    yield "empty", b""
    for cut in (4, 8, 8 + header // 2, 8 + header, len(whole) - 1):
        yield f"cut at {cut}", whole[:cut]
    yield "longer", whole + b"x"
    yield "endless header", (2**63).to_bytes(8, "little") + whole[8:]
    yield "header edited", whole.replace(b'"F64"', b'"F99"')
    yield "offsets edited", whole.replace(b"[0,64]", b"[0,99]")
    yield "facts are no JSON", save({"x": np.zeros(1)}, {"facts": "{"})
    yield "facts are a list", save({"x": np.zeros(1)}, {"facts": "[]"})
    yield "deep facts", save({"x": np.zeros(1)}, {"facts": "[" * 100_000})
    yield "pickle", pickle.dumps({"x": 1})
    yield "text", b"not at all" * 100


@pytest.mark.parametrize(("what", "content"), list(damaged()), ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_no_safetensors(what, content, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(FileError, match="x.safetensors is not a safetensors file: it is truncated or was edited"):
        read_tensors(tmp_path / "x.safetensors")


def test_a_torch_file_is_not_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    torch.save({"x": Trap()}, tmp_path / "x.safetensors")
    with pytest.raises(FileError, match="not a safetensors file"):
        read_tensors(tmp_path / "x.safetensors")
    assert not (tmp_path / "sprung").exists()


def test_a_safetensors_file_of_others_has_no_facts(tmp_path):
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(2)}, tmp_path / "x.safetensors")
    assert read_tensors(tmp_path / "x.safetensors")[1] == {}


def test_parts_that_a_kill_left(tmp_path):
    for name in (".x.json.0123456789abcdef", ".y.json.0123456789abcdef", ".x.json.mine", "x.json"):
        (tmp_path / name).write_text(json.dumps(name))
    remove_parts(tmp_path, "x.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".x.json.mine", ".y.json.0123456789abcdef", "x.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
def test_a_pipe_where_a_file_should_be_is_refused_at_once(tmp_path):
    """To open one would wait for ever."""
    pipe = tmp_path / "card.json"
    os.mkfifo(pipe)
    for use in (read_json, read_tensors, lambda path: write_json(path, {}), lambda path: write_tensors(path, {})):
        with pytest.raises(FileError, match="is a pipe or a device, where a file should be"):
            use(pipe)
    assert pipe.is_fifo(), "and it is still there"
