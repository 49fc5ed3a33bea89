import os
import subprocess
import sys
import threading

import pytest
import torch

from qpwl_core import kernels as module
from qpwl_core.distances import pairwise_wasserstein
from qpwl_core.kernels import cache_folder, in_threads, kernels


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """As if nothing had been loaded, with an empty cache folder."""
    monkeypatch.setattr(module, "_loaded", [])
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path))
    monkeypatch.delenv("QPWL_COMPILE", raising=False)
    return tmp_path


def distance():
    a = torch.randn(4, 2, 5).sort(-1).values
    return pairwise_wasserstein(a, a, torch.linspace(0, 1, 5))


def test_built_once_then_taken_from_the_cache(fresh, monkeypatch):
    assert kernels() is not None, "this machine has a compiler"
    (library,) = fresh.rglob("*.so")
    written = library.stat().st_mtime_ns
    monkeypatch.setattr(module, "_loaded", [])
    assert kernels() is not None
    assert library.stat().st_mtime_ns == written
    assert not library.parent.stat().st_mode & 0o022, "others cannot put code there"


@pytest.mark.parametrize("compiler", ["/nonexistent/c++", sys.executable, "/bin/false"])
def test_without_a_working_compiler_it_says_so_once_and_goes_on(fresh, monkeypatch, compiler):
    monkeypatch.setenv("CXX", compiler)
    with pytest.warns(RuntimeWarning, match="without compiled kernels") as seen:
        first = distance()
    assert len(seen) == 1
    assert distance().shape == first.shape  # a second warning would be an error here


def test_a_compiler_that_breaks_on_the_source_is_survived(fresh, monkeypatch, tmp_path):
    broken = tmp_path / "broken.cpp"
    broken.write_text("this is no C++")
    monkeypatch.setattr(module, "SOURCE", broken)
    with pytest.warns(RuntimeWarning, match="without compiled kernels"):
        assert kernels() is None


def test_no_compiler_on_the_path(fresh, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.warns(RuntimeWarning, match="no C\\+\\+ compiler found"):
        assert kernels() is None


def test_switched_off_on_purpose_is_quiet(fresh, monkeypatch):
    monkeypatch.setenv("QPWL_COMPILE", "0")
    assert kernels() is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="ownership is POSIX's")
def test_a_cache_that_others_can_write_to_is_not_trusted(fresh):
    folder = fresh / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    assert kernels() is not None
    assert not list(folder.iterdir())


def test_an_unwritable_cache_is_survived(fresh, monkeypatch):
    (fresh / "file").write_text("")
    monkeypatch.setenv("QPWL_CACHE", str(fresh / "file"))
    assert kernels() is not None


def test_the_cache_folder_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_two_processes_may_build_at_once(fresh):
    code = "from qpwl_core.kernels import kernels; assert kernels() is not None"
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    assert len(list(fresh.rglob("*.so"))) == 1


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_threads_cover_the_range_exactly_once(count, threads, monkeypatch):
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: threads)
    seen, lock = [], threading.Lock()

    def work(first, last):
        with lock:
            seen.extend(range(first, last))

    in_threads(work, count)
    assert sorted(seen) == list(range(count))


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: 4)

    def work(first, last):
        if first > 2:
            raise ValueError("from a thread")

    with pytest.raises(ValueError, match="from a thread"):
        in_threads(work, 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own():
    """A DataLoader worker that embeds must not wait for its parent's threads."""
    code = """
import os, torch
from qpwl_core.kernels import in_threads
torch.set_num_threads(4)
in_threads(lambda a, b: None, 8)
child = os.fork()
if child == 0:
    in_threads(lambda a, b: None, 8)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
