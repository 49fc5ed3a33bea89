"""train, embed and evaluate on the command line."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from qpwl_core.cli import main as cli
from qpwl_core.cli import progress as console
from qpwl_core.cli import registry as commands
from qpwl_core.cli.models import config_of, learning_people
from qpwl_core.common.files import read_tensors
from qpwl_core.data.datasets import DATASETS, load_dataset
from qpwl_core.data.splits import split_dataset
from qpwl_core.models.config import Config, preset
from qpwl_core.models.model import load_model
from qpwl_core.training import loop, tuning
from tests.support.places import ROOT
from tests.support.tiny import tiny_recordings

SMALL = ["--filters", "4", "--layers", "2", "--kernel", "3", "--points", "4", "--pairs", "4", "--iterations", "6",
         "--validate-every", "3"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return str(tiny_recordings().save(tmp_path_factory.mktemp("data") / "tiny.npz"))


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("model")
    assert cli.main(["train", "--data", data, *SMALL, "--out", str(out)]) == 0
    return str(out)


def failure(capsys, *argv):
    """The one line on stderr of a command that must fail with exit code 2."""
    assert cli.main(list(argv)) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


# train

def test_options_of_the_recipe(data, tmp_path, capsys):
    start = ["train", "--data", data, "--domain", "eeg", *SMALL, "--out", str(tmp_path / "run")]
    given = ["--recipe", "whiten=false", "--recipe", "compress=null", "--recipe", "clip=5"]
    args = cli.parser().parse_args([*start, *given])
    wanted = {"change": True, "whiten": False, "equalise": True, "compress": None, "clip": 5}
    assert config_of(args, tiny_recordings()).recipe == wanted
    for option, said in (("whiten", "NAME=VALUE"), ("flavour=3", "no option 'flavour'"),
                         ("whiten=maybe", "True or False")):
        assert said in failure(capsys, *start, "--recipe", option)
    assert cli.main([*start, "--recipe", "whiten=false"]) == 0
    assert load_model(tmp_path / "run").recipe.recipe.whiten is False
    assert "recipe" in failure(capsys, *start, "--recipe", "whiten=true", "--resume")


def test_train_prints_a_line_a_validation_and_leaves_a_model(data, tmp_path, capsys):
    assert cli.main(["train", "--data", data, "--domain", "generic", "--method", "mp-npl", *SMALL, "--seed", "3",
                     "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    first, second, last = printed.out.splitlines()
    assert first.startswith("step 3/6  loss ")
    assert "validation AUC" in first
    assert second.endswith("ETA 0:00")
    assert last.startswith(f"{tmp_path}: mp-npl after 6 steps, best validation AUC ")
    config = load_model(tmp_path).config
    assert (config.method, config.filters, config.seed, config.validate_every) == ("mp-npl", 4, 3, 3)
    given = {"method": "mp-npl", "filters": 4, "layers": 2, "kernel": 3, "points": 4, "pairs": 4, "iterations": 6,
             "validate_every": 3, "seed": 3}
    assert config == preset("quick", "generic", **given)               # what was not given is the preset's


def test_every_option_reaches_the_config(data):
    options = {"points": 3, "p": 2.5, "pairs": 5, "iterations": 7, "seed": 8, "device": "cpu", "filters": 9,
               "layers": 2, "kernel": 7, "dilation": 2, "stride": 3, "learning_rate": 0.5, "penalty": 0.25, "crop": 1.5,
               "validate_every": 4, "patience": 6, "validation": 0.5, "method": "qp-cls", "domain": "eeg"}
    flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    args = cli.parser().parse_args(["train", "--data", data, "--preset", "paper", *flags, "--batch-norm",
                                    "--no-multi-class", "--out", "x"])
    assert config_of(args, tiny_recordings()) == preset("paper", **options, batch_norm=True, multi_class=False)


def test_the_domain_is_what_the_data_say(data, tmp_path):
    args = cli.parser().parse_args(["train", "--data", "eeg-simulated", "--out", str(tmp_path)])
    assert config_of(args, load_dataset("eeg-simulated")) == preset("quick", "eeg")
    args = cli.parser().parse_args(["train", "--data", "ipol-gait", "--out", str(tmp_path)])
    wanted = preset("quick", "gait").recipe | dict(DATASETS["ipol-gait"].recipe_options)
    assert config_of(args, tiny_recordings(domain="gait")).recipe == wanted


def test_a_registered_data_set_gives_training_people_to_train_and_test_people_to_evaluate():
    recordings = load_dataset("gait-hapt-30")
    parts = split_dataset(DATASETS["gait-hapt-30"], recordings)
    learn, validation = learning_people("gait-hapt-30", None)
    assert set(learn.subjects) == set(parts.train.subjects)
    assert set(validation.subjects) == set(parts.validation.subjects)
    assert set(commands.people_of("gait-hapt-30", "test").subjects) == set(parts.test.subjects)
    both, nobody = learning_people("gait-hapt-30", 0.3)
    assert set(both.subjects) == set(learn.subjects) | set(validation.subjects)
    assert nobody is None, "with a fraction given, training draws them"


def test_a_bar_on_a_terminal(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main(["train", "--data", data, *SMALL, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "6/6" in printed.err
    assert "loss" in printed.err
    assert "validation AUC 0." in printed.err or "validation AUC 1." in printed.err
    assert "ETA 0:00" in printed.err
    assert printed.out.count("\n") == 1


def test_resume(data, tmp_path, capsys):
    argv = ["train", "--data", data, *SMALL, "--out", str(tmp_path)]
    assert "holds no run to resume" in failure(capsys, *argv, "--resume")
    assert cli.main(argv) == 0
    content = (tmp_path / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert "already holds a run; resume it or name another folder" in failure(capsys, *argv)
    assert "holds a run with points = 4, not 5" in failure(capsys, *argv, "--points", "5", "--resume")
    assert "holds a run with filters = 4, not" in failure(
        capsys, "train", "--data", data, "--preset", "quick", "--out", str(tmp_path), "--resume")
    for again in (argv, ["train", "--data", data, "--out", str(tmp_path)]):
        assert cli.main([*again, "--resume"]) == 0
        assert (tmp_path / "model.safetensors").read_bytes() == content


def test_ctrl_c_keeps_the_checkpoint_and_says_how_to_go_on(data, tmp_path, capsys, monkeypatch):
    argv = ["train", "--data", data, *SMALL, "--out", str(tmp_path)]
    learn = loop.Run.learn

    def stopped(run, batch):
        if run.step == 4:
            raise KeyboardInterrupt
        return learn(run, batch)
    monkeypatch.setattr(loop.Run, "learn", stopped)
    assert cli.main(argv) == 130
    assert capsys.readouterr().err == (f"qpwl_core: stopped; what was reached is kept in {tmp_path}: to go on, add "
                                       "--resume to the command\n")
    assert read_tensors(tmp_path / "checkpoint.safetensors")[1]["step"] == 3
    monkeypatch.undo()
    assert cli.main([*argv, "--resume"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_in_a_process(data, tmp_path):
    argv = [sys.executable, "-m", "qpwl_core", "train", "--data", data, *SMALL, "--out", str(tmp_path / "run"),
            "--iterations", "100000", "--threads", "1"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as running:
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.count("\n") == 1
    assert "add --resume" in errors
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_tune_first(data, tmp_path, capsys, monkeypatch):
    argv = ["train", "--data", data, *SMALL, "--tune", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(console, "show_progress", lambda records: 1 / 0)
    assert "ZeroDivisionError" in failure(capsys, *argv)                 # the search is done, the training is not
    monkeypatch.undo()
    assert cli.main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("try 1") for line in lines)         # it is not searched again
    assert lines[0].split() == ["attempt", "method", "penalty", "learning_rate", "pairs", "iterations", "auc",
                                "seconds"]
    rows = [json.loads(line) for line in (tmp_path / "tuning.jsonl").read_text().splitlines()]
    best = max(rows, key=lambda row: row["auc"])
    assert load_model(tmp_path).config == Config.from_dict(best["config"])
    (tmp_path / "config.json").write_text(json.dumps(rows[1]["config"]))  # as if another than the first had won
    for name in ("checkpoint", "model"):
        (tmp_path / f"{name}.safetensors").unlink()
    assert cli.main([*argv, "--resume"]) == 0
    assert load_model(tmp_path).config == Config.from_dict(rows[1]["config"])


def test_ctrl_c_in_a_search(data, tmp_path, capsys, monkeypatch):
    argv = ["train", "--data", data, *SMALL, "--tune", "2", "--out", str(tmp_path)]

    def stopped(config, recordings, validation=None):
        if config.pairs != 4:                                            # the first trial is the config as it is
            raise KeyboardInterrupt
        return loop.train(config, recordings)
    monkeypatch.setattr(tuning, "train", stopped)
    assert cli.main(argv) == 130
    assert "to go on, give the same command again" in capsys.readouterr().err
    monkeypatch.undo()
    assert cli.main(argv) == 0
    assert "trial 1/2" not in capsys.readouterr().out


def test_only_the_first_of_many_processes_prints(capsys, monkeypatch):
    monkeypatch.setattr(console, "rank", lambda: 1)
    console.say("nothing")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("argv", "words"), [
    (["train", "--out", "x"], "--data"), (["train", "--data", "DATA"], "--out"),
    (["train", "--data", "DATA", "--out", "x", "--method", "best"], "method must be one of qp-wl, qp-npl"),
    (["train", "--data", "DATA", "--out", "x", "--domain", "ecg"], "invalid choice: 'ecg'"),
    (["train", "--data", "DATA", "--out", "x", "--p", "0.5"], "p must be a finite number of at least 1, not 0.5"),
    (["train", "--data", "DATA", "--out", "x", "--points", "0"], "--points must be at least 1, not 0"),
    (["train", "--data", "DATA", "--out", "x", "--pairs", "many"], "invalid int value: 'many'"),
    (["train", "--data", "DATA", "--out", "x", "--device", "abacus"], "device must be auto, cpu or one this machine"),
    (["train", "--data", "DATA", "--out", "x", "--threads", "0"], "--threads must be at least 1, not 0"),
    (["train", "--data", "DATA", "--out", "x", "--tune", "0"], "--tune must be at least 1"),
    (["train", "--data", "none.npz", "--out", "x"], "is neither a file nor a data set"),
    (["embed", "none", "--data", "DATA", "--out", "x.npz"], "none is not a model: a model is a folder"),
    (["embed", "none", "--data", "DATA", "--out", "x.pt"], "--out must name a .npz or .safetensors file"),
    (["evaluate", "none", "--data", "DATA"], "none is not a model: a model is a folder")])
def test_bad_arguments_are_one_line(argv, words, data, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert words in failure(capsys, *[data if text == "DATA" else text for text in argv])
    assert not (tmp_path / "x").exists()


def test_a_file_that_does_not_name_its_domain(tmp_path, capsys):
    recordings = tiny_recordings()
    recordings.info.clear()
    path = recordings.save(tmp_path / "x.npz")
    assert "--domain must say which preprocessing" in failure(capsys, "train", "--data", str(path), "--out", "run")


def test_a_file_in_the_way_of_the_folder(data, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert "cannot be written" in failure(capsys, "train", "--data", data, *SMALL, "--out", str(tmp_path / "file"))


# embed

def test_embed_as_npz_and_safetensors(model, data, tmp_path, capsys):
    embeddings = load_model(model).embed(tiny_recordings())
    assert cli.main(["embed", model, "--data", data, "--out", str(tmp_path / "x.npz")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'x.npz'}: 48 embeddings (4, 6) of 8 subjects\n"
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        assert file["values"].tobytes() == embeddings.values.numpy().tobytes()
        assert torch.equal(torch.from_numpy(file["levels"]), embeddings.levels)
        assert file["subjects"].tolist() == embeddings.subjects.tolist()
        assert file["stimuli"].tolist() == embeddings.stimuli.tolist()
        assert file["sources"].tolist() == list(range(48))
    assert cli.main(["embed", model, "--data", data, "--out", str(tmp_path / "x.safetensors")]) == 0
    arrays, facts = read_tensors(tmp_path / "x.safetensors")
    assert arrays["values"].tobytes() == embeddings.values.numpy().tobytes()
    assert facts == {"subjects": embeddings.subjects.tolist(), "stimuli": embeddings.stimuli.tolist()}


def test_embed_vectors_without_stimuli(data, tmp_path):
    recordings = tiny_recordings()
    object.__setattr__(recordings, "stimuli", None)
    path = str(recordings.save(tmp_path / "plain.npz"))
    assert cli.main(["train", "--data", path, "--method", "mp-npl", *SMALL, "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["embed", str(tmp_path / "run"), "--data", path, "--out", str(tmp_path / "x.npz")]) == 0
    with np.load(tmp_path / "x.npz") as file:
        assert sorted(file.files) == ["sources", "subjects", "values"]
        assert file["values"].shape == (48, 4)


# evaluate

def test_evaluate_writes_what_the_design_says(model, data, tmp_path, capsys):
    assert cli.main(["evaluate", model, "--data", data, "--json", str(tmp_path / "x.json")]) == 0
    printed = capsys.readouterr().out
    results = json.loads((tmp_path / "x.json").read_text())
    assert list(results) == ["subjects", "sequences", "verification", "identification", "imposters"]
    assert (results["subjects"], results["sequences"]) == (8, 48)
    assert list(results["verification"]) == ["1", "2", "3", "4", "5"]
    assert all(set(row) == {"auc", "se", "eer"} for row in results["verification"].values())
    assert all(set(row) == {"fraction", "accuracy", "se"} for row in results["identification"])
    assert all(set(row) == {"fraction", "auc", "se"} for row in results["imposters"])
    assert [row["fraction"] for row in results["identification"]][-1] == 1
    assert [row["fraction"] for row in results["imposters"]][-1] == 0.5
    assert printed.startswith("8 subjects, 48 sequences, 5 of each subject observed, 10 repeats")
    assert f"n = 1     AUC {results['verification']['1']['auc']:.4f}" in printed
    assert cli.main(["evaluate", model, "--data", data, "--json", str(tmp_path / "y.json")]) == 0
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "y.json").read_bytes()


def test_evaluate_says_who_is_left_out(model, tmp_path, capsys):
    some = tiny_recordings().select(index=np.arange(48) != 0)
    path = str(some.save(tmp_path / "some.npz"))
    assert cli.main(["evaluate", model, "--data", path, "--json", str(tmp_path / "x.json")]) == 0
    assert "1 of 8 subjects left out for too few sequences" in capsys.readouterr().out
    results = json.loads((tmp_path / "x.json").read_text())
    assert (results["subjects"], results["sequences"]) == (7, 42)


@pytest.mark.parametrize(("each", "words"), [
    (6, "windows cut from one recording are not compared"), (1, "windows cut from one recording are compared")])
def test_evaluate_says_how_windows_are_compared(each, words, tmp_path, capsys):
    train, test = (tiny_recordings(domain="gait", samples=400).save(tmp_path / "train.npz"),
                   tiny_recordings(each=each, domain="gait", samples=400).save(tmp_path / "test.npz"))
    assert cli.main(["train", "--data", str(train), *SMALL, "--out", str(tmp_path / "run")]) == 0
    # windows of one second, so that even one recording gives six
    model = load_model(tmp_path / "run")
    recipe = type(model.recipe.recipe)(rate=20.0, seconds=1.0, keep=8)
    object.__setattr__(model.recipe, "recipe", recipe)
    model.save(tmp_path / "model")
    capsys.readouterr()
    assert cli.main(["evaluate", str(tmp_path / "model"), "--data", str(test)]) == 0
    assert words in capsys.readouterr().out


def test_evaluate_too_few_people(model, tmp_path, capsys):
    path = str(tiny_recordings(each=3).save(tmp_path / "few.npz"))
    assert "at least two people with enough sequences" in failure(capsys, "evaluate", model, "--data", path)


def test_evaluate_where_the_channels_differ(model, capsys):
    assert "lack the channel 'a'" in failure(capsys, "evaluate", model, "--data", "speech-vowels-9")


def test_a_terminal_reads_a_loss_when_it_shows_it(monkeypatch):
    """An accelerator that is asked for the loss of every step stands still."""
    from qpwl_core.cli.progress import show_progress
    from qpwl_core.training.loop import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    read = []
    monkeypatch.setattr(torch.Tensor, "item", lambda x: read.append(1) or float(x.detach().numpy()))
    monkeypatch.setattr(sys, "stderr", Terminal())
    records = (Progress(step, 500, torch.tensor(0.5), auc=0.75 if step == 500 else None) for step in range(1, 501))
    assert show_progress(records).step == 500
    assert "loss 0.5000, validation AUC 0.7500" in sys.stderr.getvalue()
    assert 2 <= len(read) < 50
