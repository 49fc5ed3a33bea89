"""Files as browsers send them: bounded for each visitor and for all, and whoever sends too much reads why."""

import asyncio
import errno
import gc
import io
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile

import pytest
from starlette.datastructures import UploadFile
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from qpwl_core.common.files import FileError
from qpwl_core.data.errors import RecordingsError
from tests.support.tiny import tiny_recordings
from ui.library import shelf, totals
from ui.library.data import take_upload
from ui.visitors import arriving
from ui.visitors.uploads import Own, of_visitor


def test_the_server_bounds_the_files_it_is_sent(monkeypatch):
    """What is too much arrives empty, and its page says why: the server's own word would be the number of an error."""
    files = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(arriving, "UPLOADED_BYTES_SESSION", 100)
    monkeypatch.setattr(arriving, "UPLOADED_BYTES", 150)
    add = arriving.bounded(files)

    def sent(session, number, count):
        add(session, UploadedFileRec(number, "x.npz", "", b"." * count))
        file = UploadedFile(files.file_storage[session][number], None)
        return len(file.getvalue()), arriving.refusal(file)

    assert sent("a", "1", 90) == (90, "")
    assert sent("a", "2", 20) == (0, arriving.of_one())
    assert sent("b", "3", 70) == (0, arriving.of_all())
    assert "100 bytes together" in arriving.of_one()
    assert "150 bytes together" in arriving.of_all()
    files.remove_session_files("a")
    assert sent("b", "4", 70) == (70, "")


def test_all_tabs_of_a_visitor_count_together(monkeypatch):
    files = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(arriving, "UPLOADED_BYTES_SESSION", 100)
    monkeypatch.setattr(arriving, "owner_of", lambda session, _: session[0])
    add = arriving.bounded(files)
    for session, number, kept in (("ann 1", "1", 60), ("ann 2", "2", 0), ("bob 1", "3", 60)):
        add(session, UploadedFileRec(number, "x", "", b"." * 60))
        assert len(files.file_storage[session][number].data) == kept


def test_what_is_too_much_is_let_go_while_it_comes(monkeypatch):
    """Neither memory nor disk fill up with what nobody will get; a full disk is a sentence, too."""
    files = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(arriving, "UPLOADED_BYTES", 150)
    monkeypatch.setattr(UploadFile, "write", UploadFile.write)
    monkeypatch.setattr(UploadFile, "read", UploadFile.read)
    arriving.watch_arriving(files)

    def full(data):
        raise OSError(errno.ENOSPC, "No space left on device")

    coming = [SpooledTemporaryFile(max_size=10) for _ in range(3)]          # noqa: SIM115  (closed below)

    async def come():
        one, two, three = (UploadFile(held.enter_context(file), size=0) for file in coming)
        for _ in range(8):
            for file in (one, two):
                await file.write(b"." * 10)
        assert sorted(file.file.tell() for file in (one, two)) == [0, 80]
        three.file.write = full
        await three.write(b"." * 30)
        for file in (one, two, three):
            await file.seek(0)
        return [await file.read() for file in (one, two, three)]

    with ExitStack() as held:
        found = asyncio.run(come())
    assert sorted(map(len, found)) == [0, 0, 80]
    said = [each.sentence for each in found if isinstance(each, arriving.Refused)]
    assert said == [arriving.of_all(), "this file cannot be taken: no space left on device"]


def test_a_page_says_why_a_file_is_empty(tmp_path, monkeypatch):
    monkeypatch.setitem(arriving._refused, "7", arriving.of_all())
    file = UploadedFile(UploadedFileRec("7", "x.npz", "", b""), None)
    with pytest.raises(RecordingsError, match="all visitors upload may have 512 MB together"):
        take_upload(file, file.name)
    with pytest.raises(FileError, match="all visitors upload may have 512 MB together"):
        shelf.add_model([("card.json", io.BytesIO()), (file.name, file)], tmp_path)


def test_a_visitor_with_many_tabs_holds_their_uploads_once(tmp_path):
    """Seen: each tab held them once more, and a few tabs of one took what all may have together."""
    gc.collect()
    first = of_visitor(tmp_path / "ann", totals.hold)
    first["walk"] = Own("walk", tiny_recordings(), "generic")
    tabs = [of_visitor(tmp_path / "ann", totals.hold) for _ in range(20)]
    assert all(tab["walk"] is first["walk"] for tab in tabs)
    assert not of_visitor(tmp_path / "bob", totals.hold)
    del first, tabs
    gc.collect()
    before = sum(map(totals.bytes_of, totals._held))
    again = of_visitor(tmp_path / "ann", totals.hold)                       # from the disk
    assert list(again) == ["walk"]
    assert sum(map(totals.bytes_of, totals._held)) == before + totals.bytes_of(tiny_recordings())
