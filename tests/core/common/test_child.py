"""Heavy work elsewhere: a value or a sentence comes back, whatever happens there."""

import os
import signal
import time

import numpy as np
import pytest

from qpwl_core.common import bounds
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.files import FileError

HERE = os.getpid()


def double(x):
    return 2 * x, os.getpid()


def refuse():
    raise FileError("it is no good")


def odd():
    raise KeyError("what")


def greedy():
    return np.ones(2**31)                       # 16 GB


def greedy_torch():
    import torch

    return torch.ones(2**31)


def slow():
    time.sleep(60)


def dead():
    os.kill(os.getpid(), signal.SIGKILL)


def prints():
    print("not an answer")
    os.write(1, b"neither")
    return "an answer"


def test_a_value_comes_back_from_elsewhere():
    found, pid = in_child(double, np.arange(3))
    assert found.tolist() == [0, 2, 4]
    assert pid != HERE
    assert in_child(double, 2) == (4, pid), "it waits for the next one"
    assert in_child(prints) == "an answer"


@pytest.mark.parametrize(("work", "kind", "says"), [
    (refuse, FileError, "^it is no good$"), (odd, ChildError, "unexpected KeyError"),
    (greedy, ChildError, "more than 1.5 GB"), (greedy_torch, ChildError, "more than 1.5 GB"),
    (dead, ChildError, r"its process was ended \(code -9\)"), (slow, ChildError, "longer than 1 seconds")])
def test_whatever_happens_a_sentence_comes_back(work, kind, says):
    with pytest.raises(kind, match=says):
        in_child(work, seconds=1 if work is slow else 60)
    assert in_child(double, 1)[0] == 2


def tensors(x):
    import torch

    return {"both": [x, torch.arange(4.0).reshape(2, 2)[:, 1], torch.zeros(0)]}


def endless():
    return np.zeros(bounds.ANSWER_BYTES + 1, np.uint8)


def not_to_be_sent():
    return lambda: None


def test_tensors_and_arrays_come_as_plain_bytes_and_can_be_written_to():
    import torch

    array, column, empty = in_child(tensors, torch.ones(3))["both"]
    assert column.tolist() == [1.0, 3.0]
    assert empty.shape == (0,)
    array += 1
    assert array.tolist() == [2.0, 2.0, 2.0]
    found, _ = in_child(double, np.arange(6).reshape(2, 3).T)
    found[0, 0] = 7


def test_an_answer_has_a_bound_and_must_be_something_to_hand_over():
    with pytest.raises(ChildError, match="its result has 512 MB, and 512 MB is the most"):
        in_child(endless)
    with pytest.raises(ChildError, match="lambda"):
        in_child(not_to_be_sent)
    assert in_child(double, 1)[0] == 2
