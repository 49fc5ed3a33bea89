"""Claims are checked before they are believed: the cases that once took the server down, and their kin."""

import io
import json
import re
import struct
import subprocess
import sys
import zipfile
from dataclasses import fields

import numpy as np
import pytest

from qpwl_core.common import bounds
from qpwl_core.common.files import FileError
from qpwl_core.common.plain_checks import check_order, check_whole
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import recipe_for
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.training.loop import train
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings


def npz_with(**changes) -> bytes:
    """An .npz of tiny recordings with other arrays; deflated, so that a large lie is a small file."""
    made = tiny_recordings(2, 2)
    arrays = {"values": np.concatenate(made.sequences), "lengths": made.lengths, "subjects": made.subjects,
              "channels": np.array(made.channels), "rate": np.array(made.rate)} | changes
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def claimed(shape, descr="<U1") -> bytes:
    """A member that claims an array of this shape, and has its bytes: noughts, which shrink to nothing."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("rate", [1e-6, 1e308, 1e9, 5e-324])
def test_rates_that_nothing_has(rate):
    with pytest.raises(RecordingsError, match=r"rate must be from 0.001 to 1e\+06"):
        Recordings([np.zeros((4, 1))], ["a"], ("x",), rate)
    with pytest.raises(RecordingsError, match="rate must be from"):
        load_recordings(io.BytesIO(npz_with(rate=np.array(rate))), name="lie.npz")
    with pytest.raises(ValueError, match="rate of the generic recipe must be from"):
        recipe_for("generic", rate=rate)


def test_a_sequence_is_not_resampled_until_memory_ends():
    slow = Recordings([np.zeros((2000, 4))] * 3, ["a", "a", "b"], tuple("wxyz"), 0.01)
    fitted = recipe_for("generic", rate=1e6).fit(Recordings([np.zeros((9, 4))], ["a"], tuple("wxyz"), 1e6))
    with pytest.raises(RecordingsError, match="at most 268,435,456 are made of one"):
        fitted.apply(slow)


def test_millions_of_channels():
    with pytest.raises(RecordingsError, match="the number of channels must be from 1 to 4,096"):
        Recordings([np.zeros((1, 5000))], ["a"], [f"c{i}" for i in range(5000)], 10)


def test_millions_of_names_are_refused_by_their_header(tmp_path):
    """A file of some kilobytes with 62 million one-letter names: in a process that may take 2 GB."""
    path = tmp_path / "names.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with zipfile.ZipFile(io.BytesIO(npz_with())) as good:
            for name in ("values", "lengths", "channels", "rate"):
                archive.writestr(f"{name}.npy", good.read(f"{name}.npy"))
        with archive.open("subjects.npy", "w", force_zip64=True) as member:
            member.write(claimed((62_000_000,)))
            for _ in range(62):
                member.write(struct.pack("<I", ord("a")) * 1_000_000)
    code = ("import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30,) * 2)\n"
            "from qpwl_core import load_recordings\n"
            "try:\n load_recordings(sys.argv[1])\nexcept ValueError as error:\n print(error)")
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, text=True, capture_output=True, check=True)
    assert "must be a list of at most 1,000,000" in done.stdout or "a zip bomb" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(("field", "value"), [
    ("dilation", 10**18), ("kernel", 10**9 + 1), ("filters", 10**7), ("layers", 10**6), ("stride", 10**9),
    ("pairs", 10**9), ("points", 10**6), ("seed", 2**64), ("iterations", 10**12), ("forgeries", 10**6)])
def test_settings_that_nothing_could_hold(field, value):
    with pytest.raises(ValueError, match=f"{field} must be at most"):
        Config(**{field: value})
    with pytest.raises(ValueError, match="dilation times half the kernel"):
        Config(dilation=10_000, kernel=301)


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    folder, recordings = tmp_path_factory.mktemp("model"), tiny_recordings()
    *_, last = train(tiny_config(), recordings, folder)
    build_gallery(last.model, recordings).save(folder)
    return folder / "gallery.safetensors"


def edited(path, target, header=None, facts=None):
    """The file with another header or other facts."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    parsed, body = json.loads(content[8:8 + size]), content[8 + size:]
    if facts:
        parsed["__metadata__"]["facts"] = json.dumps(json.loads(parsed["__metadata__"]["facts"]) | facts)
    if header:
        body = header(parsed, body)
    text = json.dumps(parsed).encode()
    target.mkdir()
    (target / path.name).write_bytes(len(text).to_bytes(8, "little") + text + body)
    return target


@pytest.mark.parametrize(("facts", "match"), [
    ({"p": 0}, "p must be"), ({"p": float("nan")}, "p must be"), ({"p": 1e999}, "p must be"),
    ({"method": "magic"}, "there is no method"), ({"pyramid": "1+2"}, "each piece of the pyramid"),
    ({"pyramid": "0"}, "pyramid must"), ({"subjects": ["a"]}, "one entry per sequence")])
def test_facts_of_a_gallery_that_cannot_be(gallery, tmp_path, facts, match):
    with pytest.raises(FileError, match=match):
        load_gallery(edited(gallery, tmp_path / "lie", facts=facts))


def test_levels_that_run_backwards(gallery, tmp_path):
    def backwards(parsed, body):
        start, end = parsed["own"]["data_offsets"]
        values = np.frombuffer(body[start:end], np.float64)[::-1]
        return body[:start] + values.tobytes() + body[end:]

    with pytest.raises(FileError, match="must rise from 0 to 1"):
        load_gallery(edited(gallery, tmp_path / "lie", header=backwards))


def test_a_gallery_of_sixty_thousand_is_refused_before_it_is_read(gallery, tmp_path):
    def many(parsed, body):
        n, k, length = 60_000, 1, 2
        for name in list(parsed):
            if name != "__metadata__":
                del parsed[name]
        parsed["values"] = {"dtype": "F16", "shape": [n, k, length], "data_offsets": [0, 2 * n * k * length]}
        return bytes(2 * n * k * length)

    with pytest.raises(FileError, match=f"at most {bounds.GALLERY_SEQUENCES:,}"):
        load_gallery(edited(gallery, tmp_path / "lie", header=many))


HUGE = ("x" * 100_000, "two\nlines" * 99, 10**5000, -10**5000, [1] * 10**5, {"a": "y" * 10**5}, b"\xff" * 10**4, None)


def refusal(refuse) -> str:
    """The sentence that refuses, which is one line and short, or nothing."""
    try:
        refuse()
    except ValueError as error:
        said = str(error)
    else:
        return ""
    assert said
    assert "\n" not in said
    assert len(said) < 700
    return said


@pytest.mark.parametrize("field", [field.name for field in fields(Config)])
def test_whatever_a_config_claims_it_is_quoted_short(field):
    """The class behind three fuzz cases: every place of a Config that quotes what came."""
    for claim in HUGE:
        fine = (field == "recipe" and isinstance(claim, dict)) or (field == "device" and isinstance(claim, str))
        assert bool(refusal(lambda claim=claim: Config.from_dict({field: claim}))) is not fine, claim


@pytest.mark.parametrize("claim", HUGE, ids=lambda claim: type(claim).__name__)
def test_names_of_fields_orders_and_options_are_quoted_short(claim):
    assert refusal(lambda: check_order(claim))
    assert refusal(lambda: recipe_for(claim))
    assert refusal(lambda: Recordings([np.zeros((4, 1))], ["a"], ("x",), claim))
    assert refusal(lambda: Recordings([np.zeros((4, 1))], ["a"], (claim,), 10.0))
    assert refusal(lambda: check_whole("points", claim)) or claim == 10**5000
    assert refusal(lambda: recipe_for("generic", rate=claim)) or claim is None
    if isinstance(claim, str):
        assert refusal(lambda: Config.from_dict({claim: 1}))
        assert refusal(lambda: recipe_for("generic", **{claim: 1}))


SHOWN = {"ui/matching/presenter.py", "ui/distances/page.py", "ui/distances/over_p_and_m.py", "ui/data/views.py"}


def test_every_bound_is_in_one_place_with_its_reason():
    """What a module calls the most of something comes from there; how much one picture shows is its own affair."""
    for folder in ("qpwl_core", "ui"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if path.name != "bounds.py" and "/study/" not in name and name not in SHOWN:
                found = re.findall(r"^((?:MOST|LARGEST|LONGEST|MAX|LATEST|FARTHEST)\w*)(?:, \w+)* = [0-9(]",
                                   path.read_text(encoding="utf-8"), re.M)
                assert not found, (name, found)
    lines = (ROOT / "qpwl_core/common/bounds.py").read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines):
        if re.match(r"[A-Z_]+(, [A-Z_]+)*(:.*)? = ", line) and not line.endswith("= {"):
            assert "#" in line, line
        assert not line.endswith("{") or "#" in line or "#" in lines[i + 1], line
