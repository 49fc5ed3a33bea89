"""What takes long is computed once per machine."""

import threading

import numpy as np

from ui.visitors import once as module
from ui.visitors.once import forget, once


def test_one_computes_and_the_others_wait(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CLASS", str(tmp_path))
    calls, found = [], []

    def compute():
        calls.append(1)
        return np.arange(5.0)

    threads = [threading.Thread(target=lambda: found.append(once("/runs/a", (1, None), compute))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all((x == np.arange(5.0)).all() for x in found)
    once("/runs/b", (1, None), compute)
    once("/runs/a", (2, None), compute)
    assert len(calls) == 3, "another model, another question"
    path = next((tmp_path / "once").glob("a-*.npy"))
    path.write_bytes(b"half")
    once("/runs/a", (1, None), compute)
    once("/runs/a", (2, None), compute)
    assert len(calls) == 4, "what is damaged is computed again"
    forget("/runs/a")
    assert [each.name[0] for each in (tmp_path / "once").glob("*.npy")] == ["b"]


def test_it_is_bounded_and_does_nothing_for_one_person(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CLASS", str(tmp_path))
    monkeypatch.setattr(module, "LARGEST", 3000)
    for i in range(10):
        once("/runs/a", (i,), lambda: np.zeros(100))
    assert sum(path.stat().st_size for path in (tmp_path / "once").glob("*.npy")) <= 3000 + 928
    monkeypatch.delenv("QPWL_CLASS")
    assert once("/runs/a", (0,), lambda: "computed") == "computed"
