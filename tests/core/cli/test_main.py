"""The command line: what it prints, its exit codes, and one line for every error."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qpwl_core.cli import main as cli
from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from tests.support.places import ROOT


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, text=True, capture_output=True, timeout=120,
                          check=False, **options)


@pytest.fixture
def file(tmp_path):
    recordings = Recordings([np.zeros((50, 2)), np.ones((30, 2))], ["ann", "bob"], ("x", "y"), 10,
                            info={"name": "walk", "licence": "CC0"})
    return recordings.save(tmp_path / "walk.npz")


def failure(capsys, *argv):
    """The one line on stderr of a command that must fail with exit code 2 and print nothing."""
    assert cli.main(list(argv)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


def test_datasets_lists_all(capsys):
    assert cli.main(["datasets"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == len(DATASETS) + 1
    assert all(name in printed for name in DATASETS)


@pytest.mark.parametrize("domain", ["eye", "eeg"])
def test_simulate_writes_a_labelled_file(domain, tmp_path, capsys):
    out = tmp_path / "made.npz"
    assert cli.main(["simulate", domain, "--out", str(out), "--subjects", "2", "--sequences", "3", "--seed", "7"]) == 0
    assert "6 sequences, 2 subjects" in capsys.readouterr().out
    made = load_recordings(out)
    assert made.simulated
    assert made.info["source"] == f"python -m qpwl_core simulate {domain} --subjects 2 --sequences 3 --seed 7"


def test_info_of_a_file(file, capsys):
    assert cli.main(["info", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "licence     CC0" in lines
    assert "samples     80 (30 to 50 a sequence)" in lines
    assert "stimuli     none" in lines
    assert lines[-1].split() == ["bob", "1", "0", "30", "3.0"]


def test_info_of_a_data_set_says_where_it_is_simulated(capsys):
    assert cli.main(["info", "eeg-simulated"]) == 0
    printed = capsys.readouterr().out
    assert "simulated   yes" in printed
    assert "subjects    40" in printed


def test_info_of_a_data_set_that_is_not_there_says_what_to_do(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path))
    assert DATASETS["diem"].url in failure(capsys, "info", "diem")


def test_unknown_data_names_what_there_is(capsys):
    assert "'nope' is neither a file nor a data set; there are gait-hapt-30" in failure(capsys, "info", "nope")


def test_a_bad_file_is_one_line(tmp_path, capsys):
    (tmp_path / "bad.npz").write_bytes(b"not a zip\nat all")
    assert "bad.npz" in failure(capsys, "info", str(tmp_path / "bad.npz"))


@pytest.mark.parametrize(("argv", "words"), [
    ([], "required: command"), (["dance"], "invalid choice: 'dance'"), (["simulate", "eye"], "--out"),
    (["simulate", "gait", "--out", "x.npz"], "invalid choice: 'gait'"),
    (["simulate", "eye", "--out", "x.npz", "--seed", "one"], "invalid int value: 'one'"),
    (["simulate", "eye", "--out", "x.txt"], "--out must name a .npz or .csv file, not 'x.txt'"),
    (["simulate", "eye", "--out", "no/such/x.npz"], "folder that does not exist: 'no/such'"),
    (["simulate", "eye", "--out", "x.npz", "--subjects", "0"], "--subjects must be at least 1, not 0"),
    (["simulate", "eeg", "--out", "x.npz", "--seed", "-1"], "--seed must be at least 0, not -1"),
    (["info"], "PATH|NAME"), (["datasets", "extra"], "unrecognized arguments: extra"),
    (["info", "a\nb"], r"'a\nb' is neither")])
def test_bad_arguments_are_one_line(argv, words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert words in failure(capsys, *argv)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("error", "line"), [
    (ValueError("two\nlines"), "qpwl_core: two lines\n"), (KeyError("x"), "qpwl_core: unexpected KeyError: 'x'\n"),
    (PermissionError(13, "Permission denied", "/a/b.npz"), "qpwl_core: /a/b.npz: Permission denied\n"),
    (OSError(28, "No space left on device"), "qpwl_core: No space left on device\n")])
def test_every_error_is_one_line(error, line, capsys, monkeypatch):
    def fail(_):
        raise error
    monkeypatch.setitem(cli.COMMANDS, "datasets", (fail, ()))
    monkeypatch.setattr(fail, "__doc__", "Fail.")
    assert failure(capsys, "datasets") == line


def test_interrupt_is_130(capsys, monkeypatch):
    def stop(_):
        """Stop."""
        raise KeyboardInterrupt
    monkeypatch.setitem(cli.COMMANDS, "datasets", (stop, ()))
    assert cli.main(["datasets"]) == 130
    assert capsys.readouterr() == ("", "")


def test_help_is_no_error_and_each_command_has_some(capsys):
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, (run, _) in cli.COMMANDS.items():
        assert name in printed
        assert run.__doc__.splitlines()[0].endswith(".")
        assert cli.main([name, "--help"]) == 0


def test_as_a_program(tmp_path):
    good = python("-m", "qpwl_core", "simulate", "eeg", "--out", str(tmp_path / "x.npz"), "--subjects", "1")
    assert (good.returncode, good.stderr) == (0, "")
    bad = python("-m", "qpwl_core", "info", str(tmp_path / "none.npz"))
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_plain_terminals_and_quick_start():
    """An ASCII terminal gets µ escaped; asking for help loads nothing heavy."""
    done = python("-m", "qpwl_core", "info", "eeg-simulated", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\xb5V" in done.stdout
    heavy = "import sys; from qpwl_core.cli.main import main; main(['--help']); " \
            "print([m for m in ('numpy', 'torch', 'mne', 'pandas', 'scipy') if m in sys.modules])"
    assert python("-c", heavy).stdout.endswith("[]\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals as POSIX has them")
def test_a_closed_pipe_and_ctrl_c_are_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "qpwl_core", "datasets"], cwd=ROOT, stdout=writer, text=True,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")

    slow = "import os, signal; from qpwl_core.cli import main as cli\n" \
           "def wait(_):\n 'Wait.'\n os.kill(os.getpid(), signal.SIGINT)\n import time; time.sleep(60)\n" \
           "cli.COMMANDS['datasets'] = (wait, ()); raise SystemExit(cli.main(['datasets']))"
    stopped = python("-c", slow, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert (stopped.returncode, stopped.stderr) == (130, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "qpwl_core", "datasets"], cwd=ROOT, stdout=full, text=True,
                              stderr=subprocess.PIPE, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (2, "qpwl_core: No space left on device\n")


@pytest.mark.parametrize(("argv", "words"), [
    (["train", "--data", "x.npz", "--out", ""], "--out must not be empty"),
    (["train", "--data", " ", "--out", "x"], "--data must not be empty"),
    (["train", "--data", "x.npz", "--out", "x", "--seed", str(2**64)], "--seed must be at most"),
    (["train", "--data", "x.npz", "--out", "x", "--seed", "-1"], "--seed must be at least 0"),
    (["train", "--data", "x.npz", "--out", "x", "--threads", "100000"], "--threads must be at most"),
    (["train", "--data", "x.npz", "--out", "x", "--pairs", "2.5"], "invalid int value"),
    (["train", "--data", "x.npz", "--out", "x", "--tune", "1000000000"], "--tune must be at most 10,000"),
    (["train", "--data", "x.npz", "--out", "x", "--dilation", "1" + 18 * "0"], "--dilation must be at most"),
    (["evaluate", "x", "--data", "y", "--seed", str(2**70)], "--seed must be at most"),
    (["study", "--jobs", "1000000"], "--jobs must be at most"),
    (["study", "--seeds", "0", str(2**64)], "--seeds must be at most"),
    (["enrol", "", "--list"], "--model must not be empty"),
    (["simulate", "eye", "--out", "x.npz", "--subjects", "99999999"], "--subjects must be at most")])
def test_options_out_of_their_range_at_once(argv, words, capsys):
    assert cli.main(argv) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_pipe_where_a_file_should_be(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.npz")
    assert cli.main(["info", str(tmp_path / "pipe.npz")]) == 2
    assert "no such file" in capsys.readouterr().err
