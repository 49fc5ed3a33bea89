"""Two processes on gloo follow one process with the same batches: losses, weights, early stop, resume, files.

torchrun starts this file once with two processes; each works through CASES and leaves what it saw in a folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from qpwl_core.common.files import read_tensors  # noqa: E402  (after the path)
from qpwl_core.models.methods import METHODS  # noqa: E402  (after the path)
from qpwl_core.training import processes as distributed  # noqa: E402  (after the path)
from qpwl_core.training.devices import precision_of  # noqa: E402  (after the path)
from qpwl_core.training.loop import train  # noqa: E402  (after the path)
from qpwl_core.training.run import Run  # noqa: E402  (after the path)
from tests.support.tiny import tiny_config, tiny_recordings  # noqa: E402  (after the path)

# One validation at the end, so that the model is the one after the last step.
CASES = {name: {"method": name, "validate_every": 12} for name, row in METHODS.items() if row.loss != "none"}
CASES["uneven"] = {"pairs": 5, "validate_every": 12}
CASES["batch-norm"] = {"batch_norm": True, "validate_every": 12}
CASES["batch-norm-uneven"] = {"batch_norm": True, "pairs": 5, "stride": 2, "validate_every": 12}
STOPS = {"patience": 1, "validate_every": 1, "iterations": 60}


def trained(folder, name, changes, resume=False, most=None):
    """Train, or leave after so many records; what this process saw goes to <name>.<rank>.json."""
    records = train(tiny_config(**changes), tiny_recordings(), folder / name, resume)
    seen = []
    for record in records:
        seen.append(record)
        if len(seen) == most:
            records.close()
    (folder / f"{name}.{distributed.rank()}.json").write_text(json.dumps(
        [[r.step, r.loss, r.auc, r.best_auc] for r in seen]))
    return seen


def work(folder):
    import torch.distributed as dist

    dist.init_process_group("gloo")          # once for all cases; `train` would do it for one
    for name, changes in CASES.items():
        trained(folder, name, changes)
    trained(folder, "stopped", STOPS)
    for name in ("whole", "resumed"):
        trained(folder, name, {}, most=6 if name == "resumed" else None)
        dist.barrier()
    trained(folder, "resumed", {}, resume=True)
    dist.destroy_process_group()
    for name in ("met", "met-again"):        # now `train` brings them together
        trained(folder, name, {})


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The folder that two processes have filled."""
    folder = tmp_path_factory.mktemp("two")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__,
               str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def seen(folder, name, rank=0):
    return json.loads((folder / f"{name}.{rank}.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_two_processes_follow_one(two, tmp_path, name):
    alone = trained(tmp_path, name, CASES[name])
    assert len(seen(two, name)) == len(alone) == 13
    np.testing.assert_allclose([r[1] for r in seen(two, name)], [r.loss for r in alone], rtol=1e-4, atol=1e-5)
    theirs, _ = read_tensors(two / name / "checkpoint.safetensors")
    ours, _ = read_tensors(tmp_path / name / "checkpoint.safetensors")
    assert ours.keys() == theirs.keys()
    for key in ours:
        if not key.startswith("adam."):
            np.testing.assert_allclose(theirs[key], ours[key], rtol=1e-3, atol=1e-4, err_msg=key)


@pytest.mark.parametrize("name", [*CASES, "stopped", "whole", "resumed", "met", "met-again"])
def test_all_processes_see_the_same(two, name):
    assert seen(two, name, 0) == seen(two, name, 1)


def test_all_stop_early_together(two):
    records = seen(two, "stopped")
    steps = records[-1][0]
    assert steps < STOPS["iterations"]
    assert records[-2][2] <= records[-2][3]                       # the last validation was no better than the best
    assert len((two / "stopped" / "metrics.jsonl").read_text().splitlines()) == steps


def test_only_the_first_process_writes(two):
    card = json.loads((two / "whole" / "card.json").read_text())
    assert card["training"]["processes"] == 2
    assert [json.loads(line)["step"] for line in (two / "whole" / "metrics.jsonl").read_text().splitlines()] == \
        list(range(1, 13))


@pytest.mark.parametrize("name", ["resumed", "met", "met-again"])
def test_resumed_or_repeated_by_two_processes_is_the_same_to_the_bit(two, name):
    whole, _ = read_tensors(two / "whole" / "model.safetensors")
    again, _ = read_tensors(two / name / "model.safetensors")
    assert whole.keys() == again.keys()
    assert all(whole[key].tobytes() == again[key].tobytes() for key in whole)


@pytest.mark.parametrize("pairs", [2, 3, 5, 32])
def test_shares_are_fair_and_complete(monkeypatch, pairs):
    for processes in (2, 3):
        if pairs < processes:
            continue
        shares = []
        for rank in range(processes):
            monkeypatch.setattr(distributed, "together", lambda: True)
            monkeypatch.setattr(distributed, "count", lambda n=processes: n)
            monkeypatch.setattr(distributed, "rank", lambda n=rank: n)
            shares.append(distributed.rows_of_process(pairs))
        assert sorted(torch.cat(shares).tolist()) == list(range(2 * pairs))
        assert max(map(len, shares)) - min(map(len, shares)) <= 2            # one pair
        assert all((s[len(s) // 2:] == s[:len(s) // 2] + pairs).all() for s in shares)


def test_more_processes_than_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(distributed, "together", lambda: True)
    monkeypatch.setattr(distributed, "count", lambda: 4)
    with pytest.raises(ValueError, match="pairs must be at least the number of processes, 4, and a batch has 3"):
        distributed.rows_of_process(3)


def test_alone_it_does_nothing():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    distributed.share_batch_norms(module)
    distributed.wait_for_all()
    assert type(module[0]) is torch.nn.BatchNorm1d
    assert (distributed.rank(), distributed.count(), distributed.together()) == (0, 1, False)
    x = torch.ones(4, 2)
    assert distributed.gather(x[distributed.rows_of_process(2)], distributed.rows_of_process(2), 4) is not None
    assert distributed.from_first([0.5], torch.device("cpu")) == [0.5]
    with distributed.meeting(torch.device("cpu")):
        assert not distributed.together()


def test_a_device_that_cannot_meet_is_refused(monkeypatch):
    monkeypatch.setattr(distributed, "under_torchrun", lambda: True)
    with pytest.raises(ValueError, match="device must be cuda or cpu for more than one process, not 'mps'"), \
            distributed.meeting(torch.device("mps")):
        pass


def test_each_process_has_a_card_of_its_own(monkeypatch):
    monkeypatch.setattr(distributed, "under_torchrun", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert distributed.device_of_process(torch.device("cuda")) == torch.device("cuda:1")
    assert distributed.device_of_process(torch.device("cuda:0")) == torch.device("cuda:0")
    assert distributed.device_of_process(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match="--nproc-per-node must not exceed the number of GPUs of a machine, 2 here"):
        distributed.device_of_process(torch.device("cuda"))


# mixed precision, on a CPU for its logic

@pytest.mark.parametrize("changes", [{}, {"batch_norm": True}, {"method": "attentive-npl"}, {"method": "jaeger-2019"}])
def test_bfloat16_convolutions_give_close_losses(changes):
    config, recordings = tiny_config(**changes), tiny_recordings()
    whole, half = Run(config, recordings), Run(config, recordings)
    assert whole.precision == torch.float32
    half.precision = torch.bfloat16
    losses = [[run.learn(run.sampler.batch(step)) for step in range(4)] for run in (whole, half)]
    assert losses[0] != losses[1]
    np.testing.assert_allclose(*losses, rtol=0.05)
    assert all(p.dtype == torch.float32 for p in half.embedder.parameters())


def test_bfloat16_is_for_cards_that_have_it(monkeypatch):
    assert precision_of(torch.device("cpu")) == torch.float32
    for has, wanted in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda emulated, has=has: has)
        assert precision_of(torch.device("cuda")) == wanted


if __name__ == "__main__":
    work(Path(sys.argv[1]))
