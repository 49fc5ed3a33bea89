import os
import subprocess
import sys

import pytest
import torch

from qpwl_core.common.paths import cache_folder
from qpwl_core.transport import kernels as module
from qpwl_core.transport.distances import pairwise_wasserstein
from qpwl_core.transport.kernels import kernels


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
    code = "from qpwl_core.transport.kernels import kernels; assert kernels() is not None"
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    assert len(list(fresh.rglob("*.so"))) == 1
