"""No option can crash the command line, hang it or be silently wrong: every option of every command, from the registry.

Values that no option takes are given to each in turn; whatever they are, the answer is one sentence and exit code 2,
or, where such a value has a meaning (a folder called "x"), success. All files are in a folder of the test.
"""

import os
import signal

import pytest

from qpwl_core.cli import main as cli
from qpwl_core.cli.registry import COMMANDS, ranges
from qpwl_core.models.gallery import build_gallery
from qpwl_core.training.loop import train
from tests.support.tiny import tiny_config, tiny_recordings

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and alarms as POSIX has them")
BASE = {
    "simulate": ["eye", "--out", "s.npz", "--subjects", "1", "--sequences", "1"], "info": ["x.npz"],
    "train": ["--data", "x.npz", "--out", "run", "--domain", "generic", "--iterations", "1", "--filters", "2",
              "--layers", "1", "--pairs", "2", "--device", "cpu", "--points", "2"],
    "embed": ["model", "--data", "x.npz", "--out", "e.npz"], "evaluate": ["model", "--data", "x.npz"],
    "enrol": ["model", "--name", "ann", "--data", "one.npz"],
    "identify": ["model", "--data", "one.npz", "--threshold", "1"],
    "verify": ["model", "--name", "ann", "--data", "one.npz", "--threshold", "1"],
    "study": ["--preset", "smoke", "--list", "--out", "study"], "compare": ["model", "model"]}
NUMBERS = ["", "nan", "1e400", "-1", "9" * 5000, str(2**64), "--"]
WORDS = ["", "\0", "y" * 100_000, "pipe.npz", "folder.npz", "\udcff", "--"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    people = tiny_recordings()
    people.save(folder / "x.npz")
    tiny_recordings(1, 6).save(folder / "one.npz")
    *_, last = train(tiny_config(), people, folder / "model")
    build_gallery(last.model, people, people).save(folder / "model")
    os.mkfifo(folder / "pipe.npz")
    (folder / "folder.npz").mkdir()
    return folder


def given(command: str, names: tuple, value: str) -> list[str]:
    """The command with this value for one of its arguments, and all others as they should be."""
    base = list(BASE[command])
    if not names[0].startswith("--"):
        return [command, value, *base[1:]]
    if names[0] in base:
        at = base.index(names[0])
        del base[at:at + 2]
    return [command, *base, f"{names[0]}={value}"]


def test_every_command_is_tried():
    assert set(COMMANDS) - set(BASE) == {"datasets", "methods", "models"}, "which take no arguments"


@pytest.mark.parametrize("command", BASE)
def test_whatever_an_option_is_given(place, command, capsys, monkeypatch):
    def too_long(*_):
        raise AssertionError(f"it hangs: {argv}")

    monkeypatch.chdir(place)
    monkeypatch.setenv("QPWL_DESK", str(place / "desk"))
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for names, options in COMMANDS[command][1]:
            if options.get("action") in ("store_true", None) or names[0] == "--recipe":
                for value in NUMBERS if options.get("type") else WORDS:
                    if options.get("action") == "store_true":
                        continue
                    argv = given(command, names, value)
                    signal.alarm(60)
                    code = cli.main(argv)
                    signal.alarm(0)
                    said = capsys.readouterr().err
                    assert code in (0, 2), (argv, said)
                    if code == 2:
                        assert said.count("\n") == 1, (argv, said[:300])
                        assert "unexpected" not in said, (argv, said[:300])
                        assert len(said) < 1200, (names, len(said))
                    elif options.get("type") and (names[0], value) != ("--threshold", "-1"):     # cosine has such
                        pytest.fail(f"{argv[-1][:80]} was taken")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_every_number_has_a_range_that_its_help_states(capsys):
    for command, (_, arguments) in COMMANDS.items():
        cli.main([command, "--help"])
        stated = " ".join(capsys.readouterr().out.split())
        for names, options in arguments:
            if options.get("type") in (int, float):
                least, most = ranges()[names[0].lstrip("-").replace("-", "_")]
                assert least < most
                assert f" to {most:,}" in stated or f" to {most:g}" in stated, (command, names)


@pytest.mark.parametrize("device", ["meta", "tpu", "cuda:99", "cpu:x", ""])
def test_devices_that_are_none(place, device, capsys, monkeypatch):
    monkeypatch.chdir(place)
    for argv in (["embed", "model", "--data", "x.npz", "--out", "d.npz"], ["evaluate", "model", "--data", "x.npz"]):
        assert cli.main([*argv, f"--device={device}"]) == 2
        said = capsys.readouterr().err
        assert "device must" in said or "--device must not be empty" in said
        assert said.count("\n") == 1
