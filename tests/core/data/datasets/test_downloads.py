"""Downloads against a real server on 127.0.0.1: resumed, broken off, wrong, absent."""

import hashlib
import re
import shutil
import socket
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from qpwl_core.data.datasets import DATASETS, get_dataset, load_dataset
from qpwl_core.data.datasets.download import download
from qpwl_core.data.errors import RecordingsError
from tests.support.official_files import BUILDERS

CONTENT = bytes(range(256)) * 4000    # about 1 MB


class Server(ThreadingHTTPServer):
    """Serves ``files`` (path -> bytes); the next ``cuts`` answers break off in the middle."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.ranges, self.log = {}, 0, True, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked and server.ranges else 0
        server.log.append((self.path, start))
        content = server.files.get(self.path.lstrip("/"))
        if content is None:
            return self.send_error(404)
        if asked and server.ranges and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if asked and server.ranges else 200)
        if asked and server.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if server.cuts:
            server.cuts -= 1
            self.wfile.write(content[start:start + (len(content) - start) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(content[start:])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))   # mne's fetcher tries thrice
    return tmp_path / "cache"


def sha(content):
    return hashlib.sha256(content).hexdigest()


def test_whole_file_arrives_and_is_not_fetched_twice(server, tmp_path, capsys):
    server.files["a.bin"] = CONTENT
    path = download(server.url + "a.bin", tmp_path, sha256=sha(CONTENT))
    assert path == tmp_path / "a.bin"
    assert path.read_bytes() == CONTENT
    assert "a.bin" in capsys.readouterr().err            # the progress bar
    download(server.url + "a.bin", tmp_path, sha256=sha(CONTENT))
    assert server.log == [("/a.bin", 0)]
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_goes_on_at_once_while_bytes_keep_coming(server, tmp_path):
    server.files["a.bin"], server.cuts = CONTENT, 2
    assert download(server.url + "a.bin", tmp_path, progress=False).read_bytes() == CONTENT
    starts = [start for _, start in server.log]
    assert len(starts) == 3
    assert 0 == starts[0] < starts[1] < starts[2] < len(CONTENT)


def test_goes_on_at_the_next_call_where_it_stopped(server, tmp_path):
    (tmp_path / "a.bin.part").write_bytes(CONTENT[:300_000])
    server.files["a.bin"] = CONTENT
    assert download(server.url + "a.bin", tmp_path, sha256=sha(CONTENT), progress=False).read_bytes() == CONTENT
    assert server.log == [("/a.bin", 300_000)]
    assert not (tmp_path / "a.bin.part").exists()


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_part_that_is_whole_or_too_long(server, tmp_path, extra):
    (tmp_path / "a.bin.part").write_bytes(CONTENT + extra)
    server.files["a.bin"] = CONTENT
    assert download(server.url + "a.bin", tmp_path, progress=False).read_bytes() == CONTENT


def test_server_that_cannot_continue_sends_everything_again(server, tmp_path):
    (tmp_path / "a.bin.part").write_bytes(b"something else" * 1000)
    server.files["a.bin"], server.ranges = CONTENT, False
    assert download(server.url + "a.bin", tmp_path, progress=False).read_bytes() == CONTENT


def test_wrong_checksum_leaves_nothing(server, tmp_path):
    server.files["a.bin"] = CONTENT
    with pytest.raises(RecordingsError, match=r"a\.bin arrived from 127.* wrong checksum"):
        download(server.url + "a.bin", tmp_path, sha256=sha(b"other"), progress=False)
    assert not list(tmp_path.iterdir())


def test_not_found_and_nobody_there(server, tmp_path):
    with pytest.raises(RecordingsError, match="answered 404"):
        download(server.url + "nope.bin", tmp_path, progress=False)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(RecordingsError, match="cannot be reached"):
            download(f"http://127.0.0.1:{unused.getsockname()[1]}/a.bin", tmp_path, progress=False)
    assert not list(tmp_path.iterdir())


def test_fetch_broken_off_then_finished(server, cache, tmp_path):
    """The state of a data set is 'downloaded' only when all of it has arrived."""
    (tmp_path / "official").mkdir()
    BUILDERS["ipol-gait"](tmp_path / "official")
    archive = shutil.make_archive(str(tmp_path / "GaitData"), "zip", tmp_path / "official")
    dataset = replace(get_dataset("ipol-gait"), downloads=(server.url + "GaitData.zip",))
    with pytest.raises(RecordingsError) as error:
        dataset.fetch(progress=False)
    text = str(error.value)
    assert "404" in text
    assert dataset.url in text
    assert str(cache / "ipol-gait") in text
    assert "\n" not in text
    assert dataset.state == "downloadable"
    with open(archive, "rb") as file:
        server.files["GaitData.zip"] = file.read()
    server.cuts = 1
    folder = dataset.fetch(progress=False)
    assert dataset.state == "downloaded"
    assert dataset.read(folder).subjects.tolist() == ["004", "004", "152"]
    asked = len(server.log)
    assert dataset.fetch(progress=False) == folder
    assert len(server.log) == asked


def test_a_page_instead_of_an_archive_is_not_kept(server, cache):
    server.files["GaitData.zip"] = b"<html>please log in</html>"
    dataset = replace(get_dataset("ipol-gait"), downloads=(server.url + "GaitData.zip",))
    with pytest.raises(RecordingsError, match=r"sent as GaitData\.zip is not an archive; get"):
        dataset.fetch(progress=False)
    assert not (cache / "ipol-gait" / "GaitData.zip").exists()


def test_ltmm_is_fetched_record_by_record_with_checksums(server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    BUILDERS["ltmm"](source)
    names = ["CO001.hea", "CO001.dat", "FL002.hea", "FL002.dat", "RECORDS"]
    server.files = {f"ltmm/{name}": (source / name).read_bytes() for name in names}
    sums = "".join(f"{sha(server.files[f'ltmm/{name}'])} {name}\n" for name in names)
    server.files["ltmm/SHA256SUMS.txt"] = sums.encode()
    dataset = replace(get_dataset("ltmm"), downloads=(server.url + "ltmm/",))
    good, server.files["ltmm/FL002.dat"] = server.files["ltmm/FL002.dat"], b"garbled"
    with pytest.raises(RecordingsError, match=r"FL002\.dat arrived from .* wrong checksum"):
        dataset.fetch(progress=False)
    server.files["ltmm/FL002.dat"] = good
    server.log.clear()
    folder = dataset.fetch(progress=False)
    assert [path for path, _ in server.log] == ["/ltmm/FL002.dat"]      # the rest had arrived
    assert not (folder / "LabWalks").exists()
    assert set(dataset.read(folder).subjects) == {"CO001", "FL002"}


def test_eegbci_uses_the_fetcher_of_mne(server, monkeypatch):
    dataset = replace(get_dataset("eegbci"), downloads=(server.url + "files/eegmmidb/1.0.0/",))
    with pytest.raises(RecordingsError, match="S001 could not be fetched from"):
        dataset.fetch(progress=False)
    assert {path for path, _ in server.log} == {"/files/eegmmidb/1.0.0/S001/S001R01.edf"}
    assert dataset.state == "downloadable"


def test_by_hand_where_the_source_offers_no_direct_address(cache):
    with pytest.raises(RecordingsError, match="diem: its source offers no direct download; get <video>") as error:
        get_dataset("diem").fetch()
    assert str(cache / "diem") in str(error.value)


def test_what_a_person_puts_there_after_a_failed_download_counts(server, cache):
    dataset = replace(get_dataset("ipol-gait"), downloads=(server.url + "GaitData.zip",))
    with pytest.raises(RecordingsError, match="404"):
        dataset.fetch(progress=False)
    BUILDERS["ipol-gait"](cache / "ipol-gait")
    assert dataset.state == "downloaded"
    assert len(load_dataset("ipol-gait")) == 3


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.downloads])
def test_offline_every_data_set_says_what_to_do(name, cache, monkeypatch):
    def offline(*args, **kwargs):
        raise socket.gaierror("no network")

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with pytest.raises(RecordingsError) as error:
        get_dataset(name).fetch(progress=False)
    text = str(error.value)
    assert get_dataset(name).url in text
    assert str(cache / name) in text
    assert "\n" not in text
