"""Valid files of the ten kinds that come from outside, and edits of what they claim and of their bytes."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import struct
import zipfile
import zlib
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config

KINDS = ("npz", "csv", "edf", "fif", "safetensors", "card", "gallery", "zip", "checkpoint", "desk")
ENDINGS = {"npz": ".npz", "csv": ".csv", "edf": ".edf", "fif": "_raw.fif"}
WHOLE = (0, 1, -1, 2, 7, 255, 65_536, 10**6, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**64, -2**31, 10**30)
REAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-6, 1e-300, 1e6, 1e9, 3e38, 1e308, float("nan"), float("inf"), -float("inf"))
TEXT = ("", " ", "a", "x" * 300, "x" * 100_000, "\0", "\n", "=1+1", "../x", "<b>", "é", "\ud800", "1e9", "null")
ODD = (None, True, False, [], {}, [1], {"a": 1}, [[[[[[[[1]]]]]]]], *WHOLE, *REAL[:6], 1e308, *TEXT[:5], "../x")
MODEL = ("card.json", "model.safetensors", "gallery.safetensors")


def recordings() -> Recordings:
    """Six people, six sequences each, two channels."""
    random = np.random.default_rng(0)
    return Recordings([0.4 * (i // 6) + random.normal(size=(20 + i % 9, 2)) for i in range(36)],
                      [f"p{i // 6}" for i in range(36)], ("a", "b"), 20.0, [f"s{i % 2}" for i in range(36)])


def config() -> Config:
    return Config(filters=4, layers=2, kernel=3, points=4, pairs=3, iterations=4, validate_every=2, device="cpu")


def make(folder: Path) -> None:
    """One valid file of each kind, and all that is needed to use it."""
    import mne

    from qpwl_core.desk.database import Desk
    from qpwl_core.desk.space import space_of
    from qpwl_core.models.gallery import build_gallery
    from qpwl_core.training.loop import train

    people = recordings()
    people.save(folder / "valid.npz", compressed=False)
    people.save(folder / "valid.csv")
    raw = mne.io.RawArray(np.random.default_rng(0).normal(size=(3, 400)) * 1e-5,
                          mne.create_info(["Fz", "Cz", "Pz"], 100.0, "eeg"), verbose="error")
    mne.export.export_raw(folder / "valid.edf", raw, overwrite=True, verbose="error")
    raw.save(folder / "valid_raw.fif", overwrite=True, verbose="error")
    *_, last = train(config(), people, folder / "run")
    model = last.model
    shutil.copytree(folder / "run", folder / "model")
    build_gallery(model, people, people).save(folder / "model")
    desk = Desk(folder / "desk", space_of(model))
    seen = model.embed(people)
    for person in ("p0", "p1"):
        desk.enrol(person, seen.values[seen.subjects == person][:3], model.checksum)
    shutil.copy(desk.path, folder / "valid.sqlite")


def bytes_edited(content: bytes, random) -> bytes:
    """A few bytes changed, cut off, doubled or put in; whole numbers written over some."""
    content = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        at, how = random.randrange(len(content) or 1), random.randrange(6)
        if how == 0 and content:
            content[at] ^= 1 << random.randrange(8)
        elif how == 1:
            del content[at:at + random.choice((1, 4, 100, 10**6))]
        elif how == 2:
            content[at:at] = content[at:at + random.choice((1, 8, 500))]
        elif how == 3:
            content[at:at + 4] = struct.pack(random.choice(("<I", ">I")), random.choice(WHOLE) % 2**32)
        elif how == 4:
            content[at:at + 8] = struct.pack("<d", random.choice(REAL))
        else:
            content[at:at] = random.randbytes(random.choice((1, 3, 40)))
    return bytes(content)


def json_edited(value, random):
    """One claim somewhere in it is another; or is gone, or there is one more."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.85:
        key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        if random.random() < 0.1:
            value.pop(key)
        else:
            value[key] = json_edited(value[key], random)
        return value
    if isinstance(value, dict) and random.random() < 0.3:
        return value | {random.choice(("x", "p", "method", "levels")): random.choice(ODD)}
    return random.choice(WHOLE if isinstance(value, int) and random.random() < 0.6 else
                         REAL if isinstance(value, float) and random.random() < 0.6 else ODD)


def npz_edited(content: bytes, random) -> bytes:
    """One array of another size, type or content, missing, or with a header that says something else."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    name, how = random.choice(list(arrays)), random.randrange(8)
    x = arrays[name]
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = np.array(random.choice((*REAL, *WHOLE[:9], *TEXT[:4])))
    elif how == 2:
        kinds = ("f2", "f8", "i1", "i8", "U1", "S3", "c16", "?") if x.dtype.kind in "fi" else ("S9",)
        arrays[name] = x.astype(random.choice(kinds))
    elif how == 3:
        arrays[name] = np.resize(x, random.choice(((0,), (1,), (2, 2), (3, 0, 2), (1000,), (100_000,), (5000, 2))))
    elif how == 4 and x.size:
        x = x.copy()
        x.flat[random.randrange(x.size)] = random.choice(WHOLE[:9] if x.dtype.kind == "i" else REAL[:10] if
                                                         x.dtype.kind == "f" else TEXT[:4])
        arrays[name] = x
    elif how == 5:
        arrays[random.choice(("imitates", "info", "x", "stimuli"))] = np.array(random.choice((*TEXT[:9], "{", "[]")))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for part, array in arrays.items():
            array = array.astype("S") if array.dtype.kind == "O" else array
            kept = io.BytesIO()
            np.lib.format.write_array(kept, array, allow_pickle=False)
            raw = kept.getvalue()
            if how in (6, 7) and part == name:               # the header lies, at its old length
                old, new = random.choice(((b"'shape': (", b"'shape': (9"), (b"<f4", b"|O4"), (b"<f4", b"<f8"),
                                          (b"False", b"True "), (b"(", b"(-"), (b"<U2", b"<U2000000"),
                                          (b"<i8", b"<i2"), (b"<U", b">U"), (b"),", b"99999999),")))
                start, end = raw.find(b"{"), raw.find(b"\n")
                head = raw[start:end].replace(old, new, 1).rstrip()
                raw = raw[:start] + head.ljust(end - start)[:end - start] + raw[end:]
            archive.writestr(f"{part}.npy", raw)
    return file.getvalue()


def csv_edited(content: bytes, random) -> bytes:
    """One line or cell is another."""
    lines = content.decode().splitlines()
    i, how = random.choice((0, 1, 2, random.randrange(len(lines)))), random.randrange(5)
    if how == 0:
        lines[i] = f"# rate: {random.choice((*REAL, *WHOLE, *TEXT[:3]))}"
    elif how == 1:
        lines[i] = ",".join(random.choice((*TEXT[:9], "subject", "a")) for _ in range(random.choice((1, 4, 5000))))
    elif how == 2:
        del lines[i]
    elif how == 3:
        lines.insert(i, f"# info: {json.dumps(random.choice(ODD[5:9]))}")
    else:
        cells = lines[i].split(",")
        cells[random.randrange(len(cells))] = str(random.choice((*REAL, *WHOLE, *TEXT)))
        lines[i] = ",".join(cells)
    return random.choice(("\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")


def edf_edited(content: bytes, random) -> bytes:
    """A field of the header claims something else: records, seconds, signals, ranges, samples."""
    signals = 4
    fields = [(184, 8), (236, 8), (244, 8), (252, 4), (0, 8), (168, 8), (192, 44), *(
        (256 + signals * before + size * k, size) for before, size in ((0, 16), (104, 8), (112, 8), (120, 8), (128, 8),
                                                                       (216, 8)) for k in range(signals))]
    at, size = random.choice(fields)
    said = str(random.choice((*WHOLE, *REAL, *TEXT[:6])))
    return content[:at] + said.encode("ascii", "replace")[:size].ljust(size) + content[at + size:]


def fif_edited(content: bytes, random) -> bytes:
    """A tag of a .fif file claims something else: what it is, its type, its size, the next one, or the number in it."""
    tags, at = [], 0
    while 0 <= at <= len(content) - 16 and len(tags) < 10_000:
        _, _, size, following = struct.unpack(">iIii", content[at:at + 16])
        tags.append((at, size))
        if following < 0 or size < 0:
            break
        at = following or at + 16 + size
    at, size = random.choice(tags)
    field = random.randrange(7)
    if field < 4:
        return content[:at + 4 * field] + struct.pack(">I", random.choice(WHOLE) % 2**32) + content[at + 4 * field + 4:]
    inside = at + 16 + 4 * random.randrange(max(1, size // 4))
    if inside + 4 > len(content):
        return bytes_edited(content, random)
    with np.errstate(over="ignore"):
        new = (struct.pack(">I", random.choice(WHOLE) % 2**32) if field < 6 else
               np.array(random.choice(REAL)).astype(">f4").tobytes())
    return content[:inside] + new + content[inside + 4:]


def tensors_edited(content: bytes, random) -> bytes:
    """The header of a safetensors file: types, shapes, places, facts."""
    size, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    facts, how = json.loads(header["__metadata__"]["facts"]), random.randrange(5)
    name = random.choice([key for key in header if key != "__metadata__"])
    if how < 2:
        header["__metadata__"]["facts"] = json.dumps(json_edited(facts, random))
    elif how == 2:
        header[name] = json_edited(header[name], random)
    elif how == 3:
        header[random.choice((name, "new"))] = header.pop(name)
    else:                                                     # true to itself, with other numbers in it
        start, end = header[name]["data_offsets"]
        content = bytearray(content)
        code = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}.get(header[name]["dtype"], "<i8")
        array = np.frombuffer(bytes(content[8 + size + start:8 + size + end]), code).copy()
        if array.size:
            with np.errstate(all="ignore"):
                array[random.randrange(array.size):] = np.array(random.choice(REAL if "f" in code else WHOLE[:8])
                                                                ).astype(code)
        content[8 + size + start:8 + size + end] = array.tobytes()
    head = json.dumps(header).encode()
    claimed = len(head) if random.random() < 0.95 else random.choice(WHOLE) % 2**64
    return struct.pack("<Q", claimed) + head + bytes(content[8 + size:])


def model_edited(kind: str, folder: Path, random) -> None:
    """A folder with a model of which one file was edited; half of the time the others were made to fit."""
    weights, card = folder / "model.safetensors", json.loads((folder / "card.json").read_text())
    plain = random.random() < 0.2
    if kind != "gallery" and random.random() < 0.6:           # it names its weights, and would say no at once
        (folder / "gallery.safetensors").unlink()
    if kind == "card":
        card = json_edited(card, random)
        if isinstance(card, dict) and random.random() < 0.7 and not plain:      # the weights say the same
            content = weights.read_bytes()
            size, = struct.unpack("<Q", content[:8])
            header = json.loads(content[8:8 + size])
            header["__metadata__"]["facts"] = json.dumps({key: card.get(key) for key in ("config", "recipe", "length")})
            head = json.dumps(header).encode()
            weights.write_bytes(struct.pack("<Q", len(head)) + head + content[8 + size:])
            card["sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
        text = json.dumps(card).encode("utf-8", "surrogatepass")
        (folder / "card.json").write_bytes(bytes_edited(text, random) if plain else text)
        return
    path = folder / ("gallery.safetensors" if kind == "gallery" else "model.safetensors")
    content = path.read_bytes()
    path.write_bytes(bytes_edited(content, random) if plain else tensors_edited(content, random))
    if kind == "safetensors" and random.random() < 0.8:
        card["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        (folder / "card.json").write_text(json.dumps(card))


def zip_of(folder: Path, random) -> bytes:
    """The files of a model in a .zip whose names, sizes or bytes are not what they should be."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name in MODEL:
            if random.random() < 0.9:
                other = random.choice(("../card.json", "x", "a/b", "card.json", "card.json\\"))
                archive.writestr(name if random.random() < 0.9 else other,
                                 (folder / name).read_bytes() if random.random() < 0.95 else b"\0" * 10**6)
    content = bytearray(file.getvalue())
    central = content.rfind(b"PK\x01\x02")
    if random.random() < 0.6 and central >= 0:               # sizes, methods, places in the directory
        at = central + random.choice((8, 10, 16, 20, 24, 28, 30, 42))
        content[at:at + 4] = struct.pack("<I", random.choice(WHOLE) % 2**32)
    return bytes_edited(bytes(content), random) if random.random() < 0.3 else bytes(content)


def desk_edited(path: Path, random) -> None:
    """The header, a person, an embedding (its checksum true or not), the schema, or bytes of an enrolment database."""
    how = random.randrange(6)
    if how == 5:
        return path.write_bytes(bytes_edited(path.read_bytes(), random))
    with suppress(sqlite3.IntegrityError), closing(sqlite3.connect(path, isolation_level=None)) as database:
        if how < 2:
            name = random.choice([row[0] for row in database.execute("SELECT name FROM header")])
            value = random.choice((*TEXT[:12], *map(str, WHOLE), *map(str, REAL), "[1, 2]", "[4, 6]", "[]"))
            database.execute("UPDATE header SET value = ? WHERE name = ?", (value.encode("utf-8", "replace").decode(),
                                                                            name))
        elif how == 2:
            blob = np.array(random.choices(REAL, k=24), "<f4").tobytes()[:random.choice((96, 96, 96, 95, 0))]
            database.execute("UPDATE sequences SET embedding = ?, crc = ? WHERE id = (SELECT min(id) FROM sequences)",
                             (blob, zlib.crc32(blob) if random.random() < 0.8 else 7))
        elif how == 3:
            database.execute("UPDATE people SET name = ? WHERE id = (SELECT min(id) FROM people)",
                             (random.choice((b"\xff", 5, None, "", "x" * 10**5, "=1")),)
                             if random.random() < 0.8 else (b"p0",))
        else:
            for line in random.choice((["DROP TABLE people"], ["DELETE FROM header"], ["PRAGMA user_version = 99"],
                                       ["PRAGMA application_id = 1"], ["DROP TABLE log"], ["DELETE FROM people"],
                                       ["ALTER TABLE people RENAME COLUMN name TO nom"])):
                database.execute(line)
    return None
