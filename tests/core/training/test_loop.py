"""The loop: seeded, never losing work, one sentence for what cannot be trained."""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

from qpwl_core.common.files import FileError, read_json, read_tensors
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split_validation
from qpwl_core.models.embedder import Embedder
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import load_model
from qpwl_core.training import run
from qpwl_core.training.devices import device_of
from qpwl_core.training.loop import train
from qpwl_core.training.run import Run, learning_rate
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings

CHECKPOINT = "checkpoint.safetensors"


@pytest.fixture(scope="module")
def recordings():
    return tiny_recordings()


def trained(config, recordings, *args, **options):
    """All records of a training; the last one has the model."""
    return list(train(config, recordings, *args, **options))


def weights(model):
    return {name: x.numpy() for name, x in model.embedder.state_dict().items()}


def assert_same(a, b):
    """The same names and the same bits."""
    assert a.keys() == b.keys()
    for name, x in a.items():
        assert x.dtype == b[name].dtype
        assert x.tobytes() == b[name].tobytes(), name


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def interrupted(config, recordings, out, after):
    """A run that was left after so many records."""
    records = train(config, recordings, out)
    for _ in range(after):
        next(records)
    records.close()


# what it yields

def test_records_tell_where_a_run_stands(recordings, tmp_path):
    config = tiny_config()
    records = trained(config, recordings, tmp_path)
    assert [r.step for r in records] == [*range(1, 13), 12]
    assert {r.steps for r in records} == {12}
    assert [r.step for r in records[:-1] if r.auc is not None] == [4, 8, 12]
    assert all(0 <= r.auc <= 1 for r in records if r.auc is not None)
    assert records[-1].best_auc == max(r.auc for r in records[:-1] if r.auc is not None)
    assert all(np.isfinite(r.loss) and r.per_second > 0 for r in records)
    assert all(r.eta > 0 for r in records[:-2])
    assert records[-2].eta == records[-1].eta == 0
    for record in records:
        assert len(record.levels) == config.points + 2
        assert (record.levels[0], record.levels[-1]) == (0, 1)
        assert list(record.levels) == sorted(record.levels)
    assert [r.model is not None for r in records] == [False] * 12 + [True]
    assert lines(tmp_path) == [json.loads(json.dumps(r.record())) for r in records[:-1]]
    assert {p.name for p in tmp_path.iterdir()} == {"config.json", "metrics.jsonl", CHECKPOINT, "model.safetensors",
                                                    "card.json"}


def test_the_card_says_how_it_was_trained(recordings, tmp_path):
    model = trained(tiny_config(), recordings, tmp_path)[-1].model
    card = load_model(tmp_path).card
    assert card == model.card
    assert card["training"]["steps"] == 12
    assert card["data"] == {"name": "tiny", "domain": "generic", "subjects": 8, "sequences": 48}


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.loss != "none"])
def test_every_method_learns(method, recordings):
    """It is no proof of quality: the loss of one batch falls when trained on it again and again."""
    run = Run(tiny_config(method=method, iterations=40, learning_rate=1e-2), recordings)
    batch = run.sampler.batch(0)
    losses = [run.learn(batch) for _ in range(40)]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_the_learning_rate_rises_and_falls():
    config = tiny_config(iterations=100, learning_rate=1.0)
    rates = [learning_rate(step, config) for step in range(101)]
    assert rates[0] == pytest.approx(1 / 25)
    assert rates[15] == max(rates) == 1
    assert rates[:16] == sorted(rates[:16])
    assert rates[15:] == sorted(rates[15:], reverse=True)
    assert rates[100] == pytest.approx(1e-4)
    assert learning_rate(0, tiny_config(iterations=1)) > 0


def test_one_step_is_a_run(recordings):
    records = trained(tiny_config(iterations=1), recordings)
    assert [r.step for r in records] == [1, 1]
    assert records[0].auc is not None


# the same again

def test_the_same_config_gives_the_same_weights(recordings):
    first, again, other = (trained(tiny_config(seed=s), recordings)[-1] for s in (3, 3, 4))
    assert_same(weights(first.model), weights(again.model))
    assert first.loss == again.loss != other.loss


@pytest.fixture(scope="module", params=["qp-wl", "qp-cls", "jaeger-2019"])
def whole(request, recordings, tmp_path_factory):
    """A run that nothing interrupted: its config, its model and its folder."""
    config, out = tiny_config(method=request.param, batch_norm=True), tmp_path_factory.mktemp("whole")
    return config, trained(config, recordings, out)[-1].model, out


@pytest.mark.parametrize("at", [4, 8, 12])
def test_resumed_at_any_validation_ends_bit_identical(at, whole, recordings, tmp_path):
    config, model, out = whole
    interrupted(config, recordings, tmp_path, at + (at < 12))
    torch.randn(7)                                                           # other users of chance do not disturb it
    resumed = trained(config, recordings, tmp_path, resume=True)
    assert_same(weights(model), weights(resumed[-1].model))
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "model.safetensors").read_bytes()
    curves = [[(r["step"], r["loss"], r["auc"]) for r in lines(folder)] for folder in (out, tmp_path)]
    assert curves[0] == curves[1]


def test_resumed_before_the_first_checkpoint_starts_again(recordings, tmp_path):
    config = tiny_config()
    interrupted(config, recordings, tmp_path, 2)
    (tmp_path / CHECKPOINT).unlink()         # which a killed process would not have written
    assert_same(weights(trained(config, recordings, tmp_path, resume=True)[-1].model),
                weights(trained(config, recordings)[-1].model))


@pytest.mark.parametrize("stop", [2, 6])
def test_closed_it_keeps_all_that_it_reached(recordings, tmp_path, stop):
    interrupted(tiny_config(), recordings, tmp_path, stop)
    assert read_tensors(tmp_path / CHECKPOINT)[1]["step"] == stop
    again = trained(tiny_config(), recordings, tmp_path, resume=True)
    assert again[0].step == stop + 1
    assert_same(weights(again[-1].model), weights(trained(tiny_config(), recordings)[-1].model))


def test_a_finished_run_resumes_to_the_same_model(recordings, tmp_path):
    first = trained(tiny_config(), recordings, tmp_path)[-1].model
    again = trained(tiny_config(), recordings, tmp_path, resume=True)
    assert len(again) == 1
    assert_same(weights(first), weights(again[0].model))
    assert again[0].model.card["training"]["seconds"] >= first.card["training"]["seconds"]


def test_no_record_is_lost_between_metrics_and_checkpoint(recordings, tmp_path, monkeypatch):
    """Killed between the two files, the curve has no gap."""
    config = tiny_config()
    save = Run.save

    def killed(run, path):
        if run.step == 8:
            raise KeyboardInterrupt
        save(run, path)

    monkeypatch.setattr(Run, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(config, recordings, tmp_path)
    monkeypatch.undo()
    trained(config, recordings, tmp_path, resume=True)
    steps = [r["step"] for r in lines(tmp_path)]
    assert steps == list(range(1, 13))


SLOW = """
import sys, torch
from tests.support.tiny import tiny_config, tiny_recordings
from qpwl_core.training.loop import train
torch.set_num_threads(int(sys.argv[2]))
for record in train(tiny_config(iterations=60), tiny_recordings(), sys.argv[1]):
    print(record.step, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 as POSIX has it")
def test_killed_and_resumed_ends_bit_identical(recordings, tmp_path):
    """One kill of a real process; scripts/kill_points.py does 200."""
    config = tiny_config(iterations=60)
    with subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path / "killed"), str(torch.get_num_threads())],
                          env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}, cwd=ROOT,
                          stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if int(line) >= 17:
                os.kill(running.pid, signal.SIGKILL)
                break
    assert running.returncode == -signal.SIGKILL
    assert 16 <= read_tensors(tmp_path / "killed" / CHECKPOINT)[1]["step"] < 60
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    trained(config, recordings, tmp_path / "killed", resume=True)
    trained(config, recordings, tmp_path / "whole")
    for name in ("model.safetensors", CHECKPOINT):
        assert_same(read_tensors(tmp_path / "killed" / name)[0], read_tensors(tmp_path / "whole" / name)[0])


# best and early

@pytest.fixture
def scripted(monkeypatch):
    """Validation AUCs as a test wants them."""
    def script(*aucs):
        remaining = iter(aucs)
        monkeypatch.setattr(run, "validation_auc", lambda *_: next(remaining))
    return script


def test_the_best_model_is_kept_and_not_the_last(recordings, scripted, tmp_path):
    scripted(0.6, 0.9, 0.7)
    records = train(tiny_config(), recordings, tmp_path)
    for record in records:
        if record.step == 8 and record.auc is not None:
            now, _ = read_tensors(tmp_path / CHECKPOINT)
    assert record.best_auc == 0.9
    assert_same(weights(record.model), {k.removeprefix("now."): v for k, v in now.items() if k.startswith("now.")})
    last, _ = read_tensors(tmp_path / CHECKPOINT)
    assert any((last[f"best.{k}"] != last[f"now.{k}"]).any() for k in weights(record.model))


def test_of_equal_validations_the_later_is_kept(recordings, scripted):
    """One person alone to validate on always gives 0.5: that must not keep the first, hardly trained weights."""
    scripted(0.5, 0.5, 0.5)
    thrice = trained(tiny_config(), recordings)[-1].model
    scripted(0.5)
    assert_same(weights(thrice), weights(trained(tiny_config(validate_every=100), recordings)[-1].model))


def test_early_stopping(recordings, scripted, tmp_path):
    scripted(0.8, 0.7, 0.8, 0.9)                                # a tie is no progress
    records = trained(tiny_config(iterations=40, patience=2), recordings, tmp_path)
    assert records[-1].step == 12
    assert (records[-1].best_auc, records[-1].eta) == (0.8, 0)
    again = trained(tiny_config(iterations=40, patience=2), recordings, tmp_path, resume=True)
    assert len(again) == 1
    assert_same(weights(records[-1].model), weights(again[0].model))


# stopping

def batch_threads():
    return [t for t in threading.enumerate() if t.name.startswith("batches")]


def test_stop_consuming_and_training_stops(recordings):
    records = train(tiny_config(iterations=10_000), recordings)
    next(records)
    assert batch_threads()
    records.close()
    assert not batch_threads()
    with pytest.raises(StopIteration):
        next(records)


def test_a_failure_ends_the_thread_too(recordings, monkeypatch):
    monkeypatch.setattr(Run, "learn", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trained(tiny_config(), recordings)
    time.sleep(0.01)
    assert not batch_threads()


# what cannot be trained

def sentence(error):
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("people", "each", "words"), [
    (1, 6, "at least three people, two to learn from and one to validate on, and there is 1"),
    (2, 6, "at least three people, two to learn from and one to validate on, and there are 2"),
    (6, 1, "at least two people with two sequences each, and there are 0 such people")])
def test_too_few_people_or_sequences(people, each, words, tmp_path):
    with pytest.raises(RecordingsError) as error:
        trained(tiny_config(), tiny_recordings(people, each), tmp_path / "run")
    assert words in sentence(error)
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_not_finite_is_one_sentence(recordings, tmp_path):
    with pytest.raises(ValueError) as error:
        trained(tiny_config(learning_rate=1e30, iterations=40, clip=1e30), recordings, tmp_path)
    assert "try a smaller learning rate" in sentence(error)
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_loss_of_nan_keeps_the_checkpoint_before_it(recordings, tmp_path, monkeypatch):
    loss, calls = Embedder.loss, iter(range(100))
    monkeypatch.setattr(Embedder, "loss",
                        lambda *args: loss(*args) * (float("nan") if next(calls) == 5 else 1))
    with pytest.raises(ValueError) as error:
        trained(tiny_config(), recordings, tmp_path)
    assert sentence(error) == "training diverged at step 6, try a smaller learning rate: the loss is nan"
    assert read_tensors(tmp_path / CHECKPOINT)[1]["step"] == 4


def test_validation_people_are_never_learned_from(recordings):
    learn, validate = split_validation(recordings, 0.2, 0)
    assert not set(learn.subjects) & set(validate.subjects)
    assert len(learn) + len(validate) == len(recordings)
    for people, apart in ((3, 1), (4, 2), (5, 2), (10, 2), (20, 4)):
        assert len(set(split_validation(tiny_recordings(people), 0.2, 0)[1].subjects)) == apart


def test_devices():
    assert device_of("cpu") == torch.device("cpu")
    assert device_of("auto").type in ("cuda", "mps", "cpu")
    for wrong in ("gpu", "cuda:99", ""):
        with pytest.raises(ValueError, match="device must be auto, cpu or one this machine has"):
            device_of(wrong)


# folders

def test_a_folder_with_a_run_is_not_overwritten(recordings, tmp_path):
    interrupted(tiny_config(), recordings, tmp_path, 5)
    with pytest.raises(FileError, match="already holds a run; resume it or name another folder"):
        trained(tiny_config(), recordings, tmp_path)


def test_nothing_to_resume(recordings, tmp_path):
    for out in (tmp_path, tmp_path / "none", None):
        with pytest.raises(FileError, match="no run to resume"):
            trained(tiny_config(), recordings, out, resume=True)


def test_another_config_is_not_resumed(recordings, tmp_path):
    interrupted(tiny_config(), recordings, tmp_path, 5)
    with pytest.raises(FileError, match="with points = 4, not 8"):
        trained(tiny_config(points=8), recordings, tmp_path, resume=True)
    assert trained(tiny_config(device="cpu"), recordings, tmp_path, resume=True)[-1].step == 12


def test_other_recordings_are_not_resumed(recordings, tmp_path):
    interrupted(tiny_config(), recordings, tmp_path, 5)
    with pytest.raises(FileError, match="other recordings"):
        trained(tiny_config(), tiny_recordings(seed=1), tmp_path, resume=True)
    more = Recordings([np.tile(x, 2) for x in recordings.sequences], recordings.subjects, tuple("abcd"), 20.0)
    with pytest.raises(FileError, match=r"convolutions.0.weight \(4, 2, 3\), where this architecture has \(4, 4, 3\)"):
        trained(tiny_config(), more, tmp_path, resume=True)


@pytest.mark.parametrize("damage", ["truncated", "foreign", "emptied", "config"])
def test_a_damaged_run_is_one_sentence(damage, recordings, tmp_path):
    interrupted(tiny_config(), recordings, tmp_path, 5)
    path = tmp_path / ("config.json" if damage == "config" else CHECKPOINT)
    content = path.read_bytes()
    if damage == "foreign":
        from safetensors.numpy import save
        content = save({"x": np.zeros(3)})
    path.write_bytes({"truncated": content[:-40], "emptied": b"", "config": content[:50]}.get(damage, content))
    with pytest.raises(FileError) as error:
        trained(tiny_config(), recordings, tmp_path, resume=True)
    assert str(path) in sentence(error)


def test_what_a_kill_left_half_written_goes(recordings, tmp_path):
    interrupted(tiny_config(), recordings, tmp_path, 5)
    (tmp_path / ".checkpoint.safetensors.0123456789abcdef").write_bytes(b"half")
    (tmp_path / ".mine").write_bytes(b"not ours")
    trained(tiny_config(), recordings, tmp_path, resume=True)
    assert {p.name for p in tmp_path.iterdir() if p.name.startswith(".")} == {".mine"}


def test_a_full_disk_keeps_the_last_good_checkpoint(recordings, tmp_path, monkeypatch):
    config, real_sync, syncs = tiny_config(), os.fsync, []

    def full(descriptor):
        syncs.append(descriptor)
        if len(syncs) > 3:                                     # config, metrics and the first checkpoint went well
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real_sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError) as error:
        trained(config, recordings, tmp_path)
    assert "no space left on device; what was there before is unharmed" in sentence(error)
    monkeypatch.undo()
    assert read_tensors(tmp_path / CHECKPOINT)[1]["step"] == 4
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    assert_same(weights(trained(config, recordings, tmp_path, resume=True)[-1].model),
                weights(trained(config, recordings)[-1].model))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB, where one may mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True,
                          check=False)
    if done.returncode:
        pytest.skip("mounting a disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux")
def test_a_disk_that_is_really_full(recordings, small_disk):
    config = tiny_config()
    interrupted(config, recordings, small_disk, 5)
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(FileError, match="no space left on device"):
        trained(config, recordings, small_disk, resume=True)
    assert read_tensors(small_disk / CHECKPOINT)[1]["step"] == 5
    filler.unlink()
    assert trained(config, recordings, small_disk, resume=True)[-1].step == 12


def test_a_folder_that_cannot_be_written(recordings, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="cannot be written"):
        trained(tiny_config(), recordings, tmp_path / "file" / "run")
    if os.geteuid():                                           # root may write anywhere
        tmp_path.chmod(0o500)
        with pytest.raises(FileError, match="permission denied; nothing was written"):
            trained(tiny_config(), recordings, tmp_path / "run")
        tmp_path.chmod(0o700)



@pytest.mark.parametrize("there", [True, False])
def test_the_card_says_whether_compiled_kernels_ran(tmp_path, monkeypatch, there):
    """They change the last bits of the weights."""
    from qpwl_core.transport import kernels as module

    if not there:
        monkeypatch.setattr(module, "_loaded", [None])
    *_, last = train(tiny_config(iterations=2, validate_every=1), tiny_recordings(), tmp_path)
    said = read_json(tmp_path / "card.json")["training"]["compiled_kernels"]
    assert said is (there and module.kernels() is not None)
    assert last.model.card["training"]["compiled_kernels"] is said
