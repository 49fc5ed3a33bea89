"""The command that measures, without measuring: its figures, how it compares them, and that none is out of date.

Rows are known answers here, given to the command in a process of its own: no test depends on how long something took.
"""

import importlib.util
import json
import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT

BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
FIGURES = ROOT / "benchmarks" / "figures.json"


def in_python(code: str):
    """What a process prints last, as JSON."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def line(what, ratio, floor, noise="", benchmark="one"):
    return {"benchmark": benchmark, "what": what, "measured": "", "reference": "", "ratio": str(ratio),
            "noise": str(noise), "floor": floor, "ok": True}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_a_benchmark_imports_is_there(name):
    """Also in code that it hands to another process, where nothing else would notice."""
    text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    for module, names in re.findall(r"(?:from|import) (qpwl_core[\w.]*)(?: import ([\w, ]+))?", text):
        assert importlib.util.find_spec(module) is not None, module
        for wanted in filter(None, names.split(",")):
            assert hasattr(importlib.import_module(module), wanted.split()[0]), f"{module} has no {wanted}"


def test_figures_of_every_benchmark_are_kept():
    rows = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert sorted({row["benchmark"] for row in rows}) == BENCHMARKS
    assert len({row["what"] for row in rows}) == len(rows), "rows are known by what they measure"
    for row in rows:
        assert float(row["ratio"]) >= 0, row["what"]


def test_slower_is_what_differs_by_more_than_its_noise():
    before = [line("steps", 2.0, ">= 1.5", 0.1), line("seconds", 1.0, "<= 1.2", 0.05),
              line("page", 2.0, "<= 3 and 0.5 s"), line("gone", 1.0, "<= 2")]
    now = {"same": [line("steps", 1.85, ">= 1.5", 0.1), line("seconds", 1.09, "<= 1.2", 0.05),
                    line("page", 2.3, "<= 3 and 0.5 s"), line("new", 9.0, "<= 10")],
           "quicker": [line("steps", 4.0, ">= 1.5", 0.1), line("seconds", 0.2, "<= 1.2", 0.05)],
           "slower": [line("steps", 1.75, ">= 1.5", 0.1), line("seconds", 1.2, "<= 1.2", 0.05),
                      line("page", 2.9, "<= 3 and 0.5 s")]}
    found = in_python("import json; from benchmarks.__main__ import slower; "
                      f"print(json.dumps({{k: slower(v, {before!r}) for k, v in {now!r}.items()}}))")
    assert found["same"] == found["quicker"] == []
    assert [text.split(":")[1].strip() for text in found["slower"]] == ["steps", "seconds", "page"]
    assert "1.75, and it was 2" in found["slower"][0]


def test_figures_are_renewed_benchmark_by_benchmark():
    """A row whose name has changed leaves no other behind."""
    kept = [line("old name", 1, "<= 2", benchmark="one"), line("stays", 1, "<= 2", benchmark="two")]
    rows = [line("new name", 1, "<= 2", benchmark="one")]
    found = in_python("import json; from benchmarks.__main__ import merged; "
                      f"print(json.dumps(merged({kept!r}, {rows!r})))")
    assert [row["what"] for row in found] == ["new name", "stays"]


@pytest.mark.parametrize(("noisy", "rounds", "reached"), [(0.0, 3, True), (0.5, 12, True), (9.0, 60, True)])
def test_rounds_repeat_until_the_noise_is_below_the_margin(noisy, rounds, reached):
    """A clock of its own: a turn takes a second; the first nine of ours take longer by as much as ``noisy`` says."""
    code = f"""
import json
from benchmarks import _timing
clock, count = [0.0], [0]
_timing.time.perf_counter = lambda: clock[0]
def turn():
    clock[0] += 1
    count[0] += 1
    return 1.0 + {noisy} * (count[0] % 3 == 0) * (count[0] < 11 or {noisy} > 1), 1.0
floor = 1.1
ours, reference, ratio, noise = _timing.repeat_to(floor, turn, at_least=False, rounds=3, seconds=60)
print(json.dumps([count[0] - 1, ratio - noise <= floor, noise]))
"""
    taken, ok, noise = in_python(code)
    assert ok == reached
    assert taken == pytest.approx(rounds, abs=3)
    assert (noise < 0.1) == (noisy < 1), "within a minute, or it says how much"


def test_the_command_compares(tmp_path):
    """One quick benchmark, held against figures that no machine has."""
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "benchmarks", *map(str, arguments)], cwd=ROOT, capture_output=True,
                              text=True, check=False)

    known = next(row for row in json.loads(FIGURES.read_text(encoding="utf-8")) if row["benchmark"] == "protocol")
    for ratio, words in ((1e-9, "slower: all scenarios"), (1e9, "nothing got slower")):
        figures = tmp_path / "figures.json"
        figures.write_text(json.dumps([known | {"ratio": str(ratio), "noise": str(ratio / 10)}]), encoding="utf-8")
        done = run("protocol", "--json", tmp_path / "kept.json", "--compare", figures)
        assert words in done.stdout, done.stderr
        assert done.returncode == 1 or ratio > 1
    (row,) = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert row["benchmark"] == "protocol"
    unknown = run("nothing")
    assert unknown.returncode == 2
    assert "there are: app, desk, " in unknown.stderr
