"""Archives that are damaged or mean harm: one sentence with the archive's name, nothing written, nothing unbounded."""

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from qpwl_core.data.datasets import files, get_dataset
from qpwl_core.data.errors import RecordingsError
from tests.support.official_files import BUILDERS

IPOL = get_dataset("ipol-gait")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "official").mkdir()
    return tmp_path / "official"


def refused(path, match, dataset=IPOL):
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(RecordingsError, match=match) as error:
        dataset.read(path)
    assert "\n" not in str(error.value)
    assert path.name in str(error.value)
    assert sorted(path.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["../4-1.csv", "/tmp/4-1.csv", "a/../../4-1.csv", "..\\4-1.csv", "C:/4-1.csv"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_path_traversal_is_refused(tmp_path, name, kind):
    path = tmp_path / f"bad.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "x")
    else:
        with tarfile.open(path, "w") as archive:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    refused(path, "leads out of the archive")


def test_zip_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("4-1.csv", "w") as member:
        for _ in range(80):
            member.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    refused(path, "larger than any file")


def test_gzip_bomb_is_refused(tmp_path):
    (tmp_path / "co2a0000364.rd.000.gz").write_bytes(gzip.compress(b" " * (files.MEMBER_BYTES + 1)))
    refused(tmp_path / "co2a0000364.rd.000.gz", "more than any trial holds", get_dataset("uci-eeg-small"))


def test_archives_in_archives_end_somewhere(tmp_path):
    inner = b""
    for _ in range(files.DEPTH + 2):
        outer = io.BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr("inner.zip", inner)
        inner = outer.getvalue()
    (tmp_path / "outer.zip").write_bytes(inner)
    refused(tmp_path / "outer.zip", "deep inside others")


@pytest.mark.parametrize(("kind", "damage"), [
    (kind, damage) for kind in ("zip", "tar", "tar.gz") for damage in ("empty", "cut", "garbled", "garbage")
    if (kind, damage) != ("tar", "garbled")])                               # tar has no checksum of its content
def test_damaged_archives(folder, tmp_path, kind, damage):
    BUILDERS["ipol-gait"](folder)
    form = {"zip": "zip", "tar": "tar", "tar.gz": "gztar"}[kind]
    whole = Path(shutil.make_archive(str(tmp_path / "x"), form, folder)).read_bytes()
    middle = len(whole) // 2
    content = {"empty": b"", "cut": whole[:middle], "garbage": b"not an archive at all" * 100,
               "garbled": whole[:middle] + bytes(400) + whole[middle + 400:]}[damage]
    (tmp_path / f"data.{kind}").write_bytes(content)
    refused(tmp_path / f"data.{kind}", "damaged|is cut|not a table|holds no file")


def test_links_in_a_tar_are_not_followed(folder, tmp_path):
    made = BUILDERS["ipol-gait"](folder)
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        archive.add(folder, "data")
        link = tarfile.TarInfo("data/9-9.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert len(IPOL.read(tmp_path / "links.tar")) == len(made)


def test_encrypted_zip(tmp_path, folder):
    BUILDERS["ipol-gait"](folder)
    path = tmp_path / "locked.zip"
    shutil.make_archive(str(tmp_path / "locked"), "zip", folder)
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):            # set the bit that says encrypted
        at = content.find(mark)
        while at >= 0:
            content[at + place] |= 1
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    refused(path, "damaged")
