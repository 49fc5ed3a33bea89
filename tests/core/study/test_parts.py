"""The parts of a study: equal tries, variants, records, what is asked beside the main table, and its sentences."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from qpwl_core.cli import main as cli
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation import protocol
from qpwl_core.evaluation.bootstrap import Resampled, over_splits, resample, resample_people, resampled_auc
from qpwl_core.evaluation.draws import draw
from qpwl_core.evaluation.paired import holm
from qpwl_core.models import config
from qpwl_core.models.config import preset
from qpwl_core.study import plan, variants
from qpwl_core.study.cells import Distances, cell_record, fewer_people
from qpwl_core.study.record import FORMAT, VERSION, packed_wins, read_record, unpacked_wins, write_record
from qpwl_core.study.report import questions
from qpwl_core.study.report.sentences import in_short, shortfalls, tuning_said, what_a_network_adds
from qpwl_core.study.sets import PRESETS, SETS, Cell
from qpwl_core.study.summary import narrower
from qpwl_core.study.sweeps import fewer_enrolled, swept
from qpwl_core.study.tables import described, judged, named, resampled_cells
from qpwl_core.study.tables.beside import collect_beside
from qpwl_core.training.run import learning_rate

QUICK = plan.planned("quick")


def distances(people=5, each=8, nearer=0.6, seed=0, sources=None):
    names = np.repeat([f"p{i}" for i in range(people)], each)
    values = np.random.default_rng(seed).random((len(names),) * 2)
    return Distances((values - nearer * (names[:, None] == names)).astype(np.float32), names,
                     np.arange(len(names)) if sources is None else sources)


# the plan

def test_every_method_has_the_same_tries_on_splits_that_are_never_tested_on():
    tries = [cell for cell in QUICK if cell.variant.startswith("try-")]
    tested = {(cell.set, cell.seed) for cell in QUICK if not cell.variant.startswith("try-")}
    assert not {(cell.set, cell.seed) for cell in tries} & tested
    for name in PRESETS["quick"].sets:
        of_set = [cell for cell in tries if cell.set == name]
        counts = {method: sum((cell.method, cell.seed) == (method, plan.FIRST) for cell in of_set)
                  for method in SETS[name].methods}
        assert set(counts.values()) == {variants.TRIES}
        assert {cell.seed for cell in of_set} == set(plan.tuning_splits(name))
        for method in SETS[name].methods:
            sent_on = variants.finalists(name, method)
            assert sent_on == [] or (0 in sent_on and 2 <= len(sent_on) <= variants.FINALISTS), "the preset with them"
            again = [(cell.seed, int(cell.variant[-1])) for cell in of_set
                     if cell.method == method and cell.seed != plan.FIRST]
            assert again == [(seed, number) for seed in plan.AGAIN.get(name, ()) for number in sent_on]


@pytest.mark.parametrize("domain", variants.SPACE)
def test_tries_begin_with_the_preset_and_are_drawn_from_the_space(domain):
    assert variants.settings_of_try(0, domain) == {}
    drawn = [variants.settings_of_try(number, domain) for number in range(1, variants.DRAWN + 1)]
    assert len({json.dumps(each) for each in drawn}) == variants.DRAWN
    plain = preset("quick", domain, tuned=False)
    assert variants.settings_of_try(6, domain) == (
        {"learning_rate": 0.4 * plain.learning_rate} if domain == "eye" else
        {"filters": 64} if domain == "eeg" else {"filters": 2 * plain.filters})
    for settings in drawn:
        for name, choices in variants.SPACE[domain].items():
            assert settings[name] in choices
        for name, (low, high) in variants.LOGARITHMIC.items():
            assert 0.99 * low <= settings[name] <= 1.01 * high
    for name, choices in variants.SPACE[domain].items():                      # a Latin hypercube leaves none of few out
        assert len(choices) > 3 or {settings[name] for settings in drawn} == set(choices)
    with pytest.raises(ValueError, match="a try must be from 0 to 6"):
        variants.settings_of_try(7, domain)


def test_all_cells_have_a_config_and_a_name_of_their_own():
    assert len({cell.name for cell in QUICK}) == len(QUICK) == len(set(QUICK))
    for cell in QUICK:
        assert cell.config.seed == cell.seed
    assert {plan.part_of(cell) for cell in QUICK} >= {"tries", "main", "recipes", "points", "orders", "enough", "paper"}
    splits = {name: {c.seed for c in QUICK if c.set == name and not c.variant} for name in PRESETS["quick"].sets}
    assert all(len(seeds) >= 6 for seeds in splits.values())


def test_a_variant_that_changes_nothing_is_the_main_cell():
    own = Cell("eeg-uci", "qp-wl", 1)
    assert plan.plainest(Cell("eeg-uci", "qp-wl", 1, variant=f"points-{own.config.points}")) == own
    other = Cell("eeg-uci", "qp-wl", 1, variant="points-64")
    assert plan.plainest(other) == other
    assert other.config.points == 64
    assert Cell("eeg-uci", "qp-wl", 0, variant="p-1.5").config.p == 1.5
    raw = Cell("eeg-uci", "untrained", 0, variant="recipe-raw").config
    assert (raw.recipe["change"], raw.recipe["compress"]) == (False, None)


@pytest.mark.parametrize("name", variants.NARROW)
def test_m_p_and_people_are_asked_of_networks_alike(name):
    """What is compared differs in nothing but what is asked."""
    narrow = plan.asked(name, 1, "quick")
    main_cell = Cell(name, "qp-wl", 1)
    assert narrow.config.filters == variants.NARROW[name] != main_cell.config.filters
    assert replace(narrow.config, filters=main_cell.config.filters) == main_cell.config
    assert replace(Cell(name, "qp-wl", 1, variant="points-4").config, points=narrow.config.points) == narrow.config
    assert replace(Cell(name, "qp-wl", 1, variant="p-8").config, p=narrow.config.p) == narrow.config
    assert Cell(name, "qp-wl", 1, variant="people-8").config == narrow.config
    for same in (f"points-{narrow.config.points}", f"p-{narrow.config.p:g}"):
        assert plan.plainest(Cell(name, "qp-wl", 1, variant=same)) == narrow
    cells = [cell for cell in QUICK if cell.set == name and plan.part_of(cell) in ("points", "orders", "enough")]
    assert cells.count(narrow) == 1
    assert {cell.config.filters for cell in cells} == {variants.NARROW[name]}
    assert swept(narrow)
    assert not swept(Cell(name, "qp-wl", 1, variant="points-4"))
    assert plan.asked(name, 1, "quick", "untrained") == Cell(name, "untrained", 1)
    assert plan.asked("eeg-uci", 1, "quick") == Cell("eeg-uci", "qp-wl", 1)


def test_pages_say_where_m_and_p_were_asked_of_narrower_networks():
    rows = [{"set": name, "method": "qp-wl", "what": what, "filters": filters}
            for name, what, filters in (("a", "points", 64.0), ("a", "enrolled", 128.0), ("b", "p", 128.0),
                                        ("b", "enrolled", 128.0), ("c", "people", 64.0))]
    study = {"sets": {name: {"title": name.upper()} for name in "abc"}, "sweeps": rows}
    assert narrower(study).endswith(" to save time: A (64 instead of 128).")
    assert narrower(study | {"sweeps": rows[2:]}) == ""
    assert narrower({}) == ""
    assert narrower(study | {"sweeps": [rows[0] | {"filters": None}, rows[1]]}) == "", "a file of before, or damaged"


@pytest.mark.parametrize("variant", ["points", "try-x", "recipe-moon", "magic-3"])
def test_a_variant_that_there_is_not_is_one_sentence(variant):
    with pytest.raises(ValueError, match="a variant must be such as try-3"):
        variants.variant_settings(variant, "eeg-uci", "eeg", "qp-wl")


def test_the_papers_budget_is_the_papers():
    paper = Cell("eeg-uci", "qp-cls", 0, variant="paper").config
    assert (paper.layers, paper.learning_rate, paper.iterations) == (16, 1e-4, 50_000)
    assert (paper.points, paper.p) == (16, 1)
    assert (paper.filters, paper.pairs, paper.multi_class, paper.both_ways) == (32, 16, False, False)
    assert paper.patience * paper.validate_every == 10_000
    assert {learning_rate(step, paper) for step in (0, 17, 49_999)} == {1e-4}
    assert "constant_rate" not in preset("quick", "eeg").to_dict(), "files of before stay what they were"


@pytest.fixture
def untuned(tmp_path, monkeypatch):
    """Nothing was tuned yet; what is, is kept in the test's folder."""
    monkeypatch.setattr(config, "TUNED", tmp_path / "presets.json")
    monkeypatch.setattr(variants, "CHOSEN", tmp_path / "tuned.json")
    for cached in (variants._chosen, config.tuned_presets):
        cached.cache_clear()
    yield tmp_path
    for cached in (variants._chosen, config.tuned_presets):
        cached.cache_clear()


def test_what_wins_is_written_down_and_holds_for_the_main_table_alone(untuned):
    before = Cell("eeg-uci", "qp-wl", 0).config
    scores = {(method, number): {1000: 0.9} for method in ("qp-wl", "qp-npl") for number in range(6)}
    variants.choose("eeg-uci", scores | {("qp-wl", 4): {1000: 0.95}}, "eeg")
    after, settings = Cell("eeg-uci", "qp-wl", 0).config, variants.settings_of_try(4, "eeg")
    assert after.learning_rate == settings["learning_rate"] != before.learning_rate
    assert after.recipe["whiten"] == settings["recipe.whiten"]
    assert variants.chosen("eeg-uci", "qp-npl") == {}, "of equals the first, which is the preset"
    assert Cell("eeg-uci", "qp-wl", 0, variant="try-0").config == before
    assert Cell("eeg-uci", "qp-wl", 0, "smoke").config.learning_rate == before.learning_rate
    assert Cell("eeg-uci", "untrained", 0, variant="recipe-of-qp-wl").config.recipe == after.recipe


def test_signatures_are_tuned_against_forgers_too(untuned):
    """A try that knows everybody and lets forgers in loses; every tablet counts alike, whatever its people."""
    def rates(random, skilled, enrolled=5, normalised=False):
        return {"enrolled": enrolled, "normalised": normalised, "random_eer": random, "skilled_eer": skilled}

    naive = {"visual": {"forgeries": [rates(.0, .9, 1), rates(.0, .3), rates(.0, .0, normalised=True)]},
             "svc": {"forgeries": [rates(.02, .3)]}}
    wary = {"visual": {"forgeries": [rates(.04, .06)]}, "svc": {"forgeries": [rates(.04, .2)]}}
    results = {"verification": {"1": {"auc": 0.99}}, "forgeries": [rates(.1, .3)]}
    assert variants.score_of_try(results, naive, "signature") == pytest.approx(1 - (.15 + .16) / 2)
    assert variants.score_of_try(results, {}, "signature") == pytest.approx(0.8), "one set: what all people say"
    assert variants.score_of_try(results, wary, "gait") == 0.99
    name = "signature-susig"
    for cell in plan.tries("quick", (name,)):
        best = cell.variant == "try-3" and cell.method == "qp-wl"
        auc = {"verification": {"1": {"auc": 0.5 if best else 1.0}}}
        write_record(plan.record_path(cell.name, untuned), {
            "format": FORMAT, "version": VERSION, "config": {}, "results": auc, "of_sets": wary if best else naive})
    assert plan.settle(untuned) == [name]
    kept = json.loads((untuned / "tuned.json").read_text())[name]
    assert kept["qp-wl"] == {"try": 3, "told_apart": pytest.approx(0.915),
                             "settings": variants.settings_of_try(3, "signature")}
    assert {row["try"] for method, row in kept.items() if method != "qp-wl"} == {0}
    assert config.tuned_presets() == {"signature": {"qp-wl": variants.settings_of_try(3, "signature")}}


def keep(name, out, auc_of):
    """Records of all tries that are known of a set, with an AUC by method, try and split."""
    for cell in plan.tries("quick", (name,)):
        auc = auc_of(cell.method, int(cell.variant[-1]), cell.seed)
        write_record(plan.record_path(cell.name, out), {
            "format": FORMAT, "version": VERSION, "config": {}, "results": {"verification": {"1": {"auc": auc}}}})


def test_the_quick_preset_follows_the_tries_of_all_sets_of_its_domain(untuned):
    def won(best):
        return lambda method, number, _: 0.9 + 0.01 * (best.get(number, 0) if method == "qp-npl" else 0)

    for _ in range(2):                                                # the second time for those that go on
        keep("gait-hapt", untuned, won({2: 3, 4: 4}))
        tuned = plan.settle(untuned)
    assert tuned == ["gait-hapt"]
    assert preset("quick", "gait", method="qp-npl") == preset("quick", "gait", tuned=False, method="qp-npl")
    keep("gait-ipol", untuned, won({2: 3, 5: 4}))
    assert plan.settle(untuned) == ["gait-ipol", "gait-hapt"]
    assert variants.chosen("gait-hapt", "qp-npl") == variants.settings_of_try(4, "gait")
    assert variants.chosen("gait-ipol", "qp-npl") == variants.settings_of_try(5, "gait"), "which HAPT did not send on"
    assert config.tuned_presets() == {"gait": {"qp-npl": variants.settings_of_try(2, "gait")}}
    assert preset("quick", "gait", method="qp-npl").layers == variants.settings_of_try(2, "gait")["layers"]
    keep("gait-ipol", untuned, won({2: -10, 4: -10}))
    assert plan.settle(untuned) == ["gait-ipol", "gait-hapt"]
    assert config.tuned_presets() == {"gait": {}}, "sets count alike, on however many splits tries were judged"


def test_of_few_people_what_is_better_than_the_preset_is_judged_again(untuned):
    """One split says who goes on; who is better than the preset by more than a standard error wins, nobody before."""
    first, again = {1: 0.97, 2: 0.95, 5: 0.96, 6: 0.93}, {1: 0.80, 5: 0.92}

    def auc_of(method, number, split):
        if method in ("mp-npl", "qp-npl"):
            return {3: 0.895, 4: 0.885}.get(number, 0.9) if method == "qp-npl" else 0.9
        return (first if split == plan.FIRST else again).get(number, 0.9)

    whole = len(list(plan.tries("quick", ("eeg-uci",))))
    keep("eeg-uci", untuned, auc_of)
    last = plan.record_path("eeg-uci-dtw-1000-try-6", untuned)
    held = last.read_bytes()
    last.unlink()
    assert plan.settle(untuned) == []
    assert variants.finalists("eeg-uci", "qp-wl") == [0, 1, 5], "the two best"
    assert variants.finalists("eeg-uci", "dtw") == [], "not all of its tries are there"
    last.write_bytes(held)
    assert plan.settle(untuned) == []
    assert variants.finalists("eeg-uci", "dtw") == [0, 1, 5]
    assert variants.finalists("eeg-uci", "mp-npl") == [], "all are the preset"
    assert variants.finalists("eeg-uci", "qp-npl") == [0, 3], "a little behind on one split says nothing"
    assert variants.chosen("eeg-uci", "qp-wl") == {}
    finals = [cell for cell in plan.tries("quick", ("eeg-uci",)) if cell.seed != plan.FIRST]
    assert len(finals) == 5 * (3 * (len(SETS["eeg-uci"].methods) - 2) + 2)
    assert len(list(plan.tries("quick", ("eeg-uci",)))) == whole + len(finals)
    assert [plan.stage_of(cell) for cell in (Cell("eeg-uci", "qp-wl", 1000, variant="try-0"), finals[0],
                                             Cell("eeg-uci", "qp-wl", 0))] == [0, 1, 2]
    keep("eeg-uci", untuned, auc_of)
    assert plan.settle(untuned) == ["eeg-uci"]
    assert variants.chosen("eeg-uci", "qp-wl") == variants.settings_of_try(5, "eeg"), "1 was best on the first alone"
    assert variants.chosen("eeg-uci", "mp-npl") == {}
    kept = json.loads((untuned / "tuned.json").read_text())["eeg-uci"]["qp-wl"]
    assert (kept["try"], kept["finalists"]) == (5, [0, 1, 5])
    assert kept["auc"] == pytest.approx((0.96 + 5 * 0.92) / 6)
    before = (untuned / "tuned.json").read_bytes()
    assert plan.settle(untuned) == ["eeg-uci"]
    assert (untuned / "tuned.json").read_bytes() == before
    keep("eeg-uci", untuned, lambda method, number, split: auc_of(method, number, split) + 0.1 * (number == 6))
    assert plan.settle(untuned) == [], "others go on now"
    assert variants.finalists("eeg-uci", "qp-wl") == [0, 1, 6]


def test_tuning_is_said_as_it_was_done():
    """How many tries, who went on, and the names of the cells that every figure is of."""
    tries = [{"set": name, "method": "qp-wl", "attempt": number, "split": split, "score": score, "cell": "",
              "auc": score, "chosen": number == 1, "settings": json.dumps({"p": 2.0} if number == 1 else {})}
             for name, of_splits in (("eeg-uci", {1000: {0: .9, 1: .8, 2: .7}, 1001: {0: .9, 1: .95}}),
                                     ("gait-ipol", {1000: {0: .5, 1: .6, 2: .4}}))
             for split, scores in of_splits.items() for number, score in scores.items()]
    tables = {"tries": pd.DataFrame(tries)}
    said = tuning_said(tables)
    assert said.startswith("Tries per method: 3, the same settings for every method")
    assert "Where one split judges a dozen people (EEG · UCI), up to 2 tries" in said
    assert "less than 0.01 behind the preset there were held against it on 1 more" in said
    assert "elsewhere the best try replaces it." in said
    assert said.endswith("Tuned to the end: EEG · UCI and Gait · IPOL.")
    once = tuning_said({"tries": tables["tries"][lambda rows: rows["split"] == 1000]})
    assert "a dozen" not in once
    assert "The best try replaces the preset." in once
    lines = questions.tuning(tables)
    assert ("| EEG · UCI | QP-WL | 0.9000, 0.8000, 0.7000 | try 0: 0.9000, try 1: 0.8750 | 2 | "
            "`eeg-uci-qp-wl-{1000,1001}-try-1` | p 2.0 |") in lines
    assert "| Gait · IPOL | QP-WL | 0.5000, 0.6000, 0.4000 |  | 1 | `gait-ipol-qp-wl-1000-try-1` | p 2.0 |" in lines


def test_a_row_over_p_names_the_cells_of_all_its_figures():
    rows = [{"what": "p", "set": "eeg-uci", "method": "qp-wl", "value": value, "trained": "anew", "filters": 64.0,
             "auc": .9, "low": .8, "high": 1., "splits": splits, "cells": cells}
            for value, splits, cells in ((1, 3, "eeg-uci-qp-wl-{0,1,2}"), (2, 3, "eeg-uci-qp-wl-{0,1,2}-p-2"),
                                         (3, 2, "eeg-uci-qp-wl-{0,1,2}-p-3"))]
    line = questions.curves({"sweeps": pd.DataFrame(rows)})[6]
    assert line.endswith("| 3, 3, 2 | `eeg-uci-qp-wl-{0,1,2}`, `eeg-uci-qp-wl-{0,1,2}-p-{2,3}` |")


def test_the_list_counts_cells_and_minutes(tmp_path, capsys):
    assert cli.main(["study", "--list", "--out", str(tmp_path)]) == 0
    *rows, total = capsys.readouterr().out.splitlines()[1:]
    cells, done, minutes = map(int, total.split()[-3:])
    assert (cells, done) == (len(QUICK), 0)
    assert minutes > 100
    assert sum(int(row.split()[-3]) for row in rows) == cells


def test_one_try_by_the_command_line(tmp_path, capsys):
    argv = ["study", "--preset", "smoke", "--sets", "gait-hapt", "--methods", "untrained", "--seeds", "1000",
            "--variants", "try-1", "--no-report", "--jobs", "1", "--out", str(tmp_path)]
    assert cli.main(argv) == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["gait-hapt-untrained-1000-try-1.json.gz"]
    assert not (tmp_path / "cells").exists()
    capsys.readouterr()
    assert cli.main([*argv[:-6], "moon", "--out", str(tmp_path)]) == 2


# records

def test_wins_say_all_that_the_bootstrap_needs():
    stack = np.random.default_rng(0).integers(0, 5, (10, 6, 6)).astype(float)        # with ties
    counts = resample_people(6, 50, 3)
    wins = unpacked_wins(packed_wins(stack), 10)
    np.testing.assert_allclose(resampled_auc(stack, counts), resampled_auc_of(wins, counts), rtol=1e-12)
    found = resampled_cells({Cell("eeg-uci", "qp-wl", 3): packed_wins(stack)})
    assert found.auc == pytest.approx(resample({3: stack}).auc)
    assert found.interval() == pytest.approx(resample({3: stack}).interval())


def resampled_auc_of(wins, counts):
    from qpwl_core.evaluation.bootstrap import resampled_wins

    return resampled_wins(wins, counts)


def test_a_record_is_small_and_the_same_bytes_again(smoke, tmp_path):
    out, _ = smoke
    for path in (out / "kept").iterdir():
        assert path.stat().st_size < 20_000
        write_record(tmp_path / path.name, read_record(path))
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_config_is_kept_to_the_last_digit(tmp_path):
    record = {"format": "qpwl-cell", "version": 1, "config": {"penalty": 2.91e-6}, "auc": 0.123456789}
    write_record(tmp_path / "a.json.gz", record)
    assert read_record(tmp_path / "a.json.gz") == record | {"auc": 0.1234568}


@pytest.mark.parametrize("damage", [lambda b: b[:100], lambda b: b"nothing", lambda b: b""])
def test_a_damaged_record_is_one_sentence(smoke, tmp_path, damage):
    out, _ = smoke
    whole = next((out / "kept").iterdir()).read_bytes()
    (tmp_path / "bad.json.gz").write_bytes(damage(whole))
    with pytest.raises(ValueError, match="is not the record of a cell"):
        read_record(tmp_path / "bad.json.gz")
    with pytest.raises(ValueError, match="must be a letter for each three"):
        unpacked_wins("0120", 10)


def test_every_name_in_a_table_leads_to_a_cell_its_config_and_its_people(smoke):
    out, _ = smoke
    cells = pd.read_csv(out / "cells.csv").set_index("cell")
    for name in pd.read_csv(out / "table.csv")["cells"]:
        base, seeds, rest = re.fullmatch(r"(.*)-\{?([\d,]+)\}?(-.*)?", name).groups()
        for seed in seeds.split(","):
            row = cells.loc[f"{base}-{seed}{rest or ''}"]
            assert json.loads(row["config"])["seed"] == int(seed) == row["seed"]
            assert len(row["tested"].split()) == row["test_people"]
            assert (out / "kept" / f"{row.name}.json.gz").exists()
            assert row["reproduce"].startswith("python -m qpwl_core study")
    assert named([Cell("a", "b", 0, variant="p-2"), Cell("a", "b", 2, variant="p-2")]) == "a-b-{0,2}-p-2"


# without training again

def test_fewer_enrolled_sequences_are_a_part_of_those_that_count():
    sources = np.arange(40) // 2                                              # two windows of each recording
    test = distances(sources=sources)
    drawn = draw(test.subjects, seed=7, groups=sources)
    everything = protocol.person_distances(test.values, drawn)[:, 0]
    found = fewer_enrolled(test, 7)
    assert list(found) == [1, 2], "a person has at least two that are not of the same recording"
    assert (found[1] >= found[2]).all()
    assert (found[2] >= everything - 1e-6).all()
    plain = distances()
    assert list(fewer_enrolled(plain, 7)) == [1, 2, 3]
    np.testing.assert_allclose(fewer_enrolled(plain, 7)[3], protocol.person_distances(
        plain.values, draw(plain.subjects, seed=7))[:, 0], rtol=1e-6)


def test_fewer_people_are_the_first_of_more():
    recordings = Recordings([np.zeros((1, 1))] * 9, list("abcdefghi"), ("x",), 1.0)
    few, more = (set(fewer_people(recordings, most, 3).people) for most in (3, 6))
    assert len(few) == 3
    assert few < more
    assert fewer_people(recordings, None, 3) is recordings


# how sure a difference is

def test_splits_are_resampled_beside_people():
    values = np.random.default_rng(0).normal(size=(8, 1000)) * 0.01 + np.linspace(-1, 1, 8)[:, None]
    both, people = over_splits(values), values.mean(0)
    assert both.std() > 10 * people.std(), "what splits differ in is most of it"
    assert both.std() == pytest.approx(np.linspace(-1, 1, 8).std() / np.sqrt(8), rel=0.1)
    np.testing.assert_array_equal(over_splits(values[:2]), values[:2].mean(0))


def test_overlapping_splits_are_less_sure_and_many_comparisons_too():
    random = np.random.default_rng(1)
    aucs = {split: float(x) for split, x in enumerate(random.normal(0.02, 0.01, 6))}
    mine = Resampled(aucs, {split: np.full(10, x) for split, x in aucs.items()})
    other = Resampled(dict.fromkeys(aucs, 0.0), {split: np.zeros(10) for split in aucs})
    plain, corrected = mine.minus(other)["p"], mine.minus(other, share=40 / 60)["p"]
    assert plain == pytest.approx(ttest_1samp(list(aucs.values()), 0).pvalue)
    assert corrected > plain
    np.testing.assert_allclose(holm([0.01, 0.02, 0.03, np.nan]), [0.03, 0.04, 0.04, np.nan])


def differences(rows):
    return judged(pd.DataFrame([{"set": "eeg-uci", "method": "qp-wl", "n": 1, "splits": 6, "cells": "a", "p": 0.001,
                                 "against_cells": "b", **row} for row in rows]))


def test_the_first_paragraph_says_what_is_not_beaten():
    found = differences([{"against": "mp-npl", "difference": 0.02, "low": 0.01, "high": 0.03},
                         {"against": "untrained", "difference": -0.001, "low": -0.01, "high": 0.01, "p": 0.8},
                         {"against": "qp-cls", "difference": 0.03, "low": 0.01, "high": 0.05, "p": 0.2},
                         {"against": "dtw", "difference": -0.02, "low": -0.03, "high": -0.01}])
    no_network = differences([{"against": "untrained", "difference": -0.001, "low": -0.01, "high": 0.01, "p": 0.8}])
    assert shortfalls({"differences": found, "added": no_network, "forgers": found.assign(kind="")}) == [
        "EEG · UCI (6 splits): QP-WL is behind Dynamic time warping (-0.0200) beyond noise; not told apart from "
        "Untrained, Wasserstein (-0.0010); ahead of QP-CLS (+0.0300), but the corrected test doubts it; ahead of "
        "MP-NPL (+0.0200) beyond noise. No network at all is not beaten beyond noise by QP-WL."]
    assert in_short({"differences": found, "added": no_network}) == (
        "AUC at n = 1, mean of splits: QP-WL is first of all rows nowhere; behind Untrained, Wasserstein and "
        "Dynamic time warping on EEG · UCI. Beyond noise it beats MP-NPL on EEG · UCI. It does not beat beyond "
        "noise: Untrained, Wasserstein, QP-CLS and Dynamic time warping on any set. No network at all, on the same "
        "recipe, is not beaten beyond noise by QP-WL on EEG · UCI.")
    assert questions.glance({"differences": found})[:6] == [
        "| AUC of QP-WL at n = 1, minus that of | EEG · UCI (6) |", "| --- | ---: |", "| MP-NPL | +0.0200 ▲ |",
        "| QP-CLS | +0.0300 △ |", "| Untrained, Wasserstein | -0.0010 · |", "| Dynamic time warping | -0.0200 ▼ |"]
    assert questions.glance({"differences": found[:0]}) == []
    elsewhere = found.assign(set="gait-hapt", leads=False)
    both = pd.concat([found, elsewhere])[lambda rows: rows["against"] == "mp-npl"]
    nothing = no_network[:0]
    assert in_short({"differences": both, "added": nothing}).endswith(
        "Beyond noise it beats MP-NPL on EEG · UCI. It does not beat beyond noise: MP-NPL on Gait · HAPT.")
    assert in_short({"differences": found[found["against"] == "mp-npl"], "added": nothing}) == (
        "AUC at n = 1, mean of splits: QP-WL is first of all rows on EEG · UCI. Beyond noise it beats MP-NPL on "
        "EEG · UCI.")
    assert in_short({"differences": found[:0], "added": nothing}) == "Nothing to compare yet."
    assert what_a_network_adds({"added": no_network}, "eeg-uci") == [
        "Against Untrained, Wasserstein on the same recipe the network adds nothing that 6 splits can show: -0.0010 "
        "[-0.0100, +0.0100] AUC at n = 1 over 6 splits."]
    unsure = no_network.assign(difference=0.01, low=0.005, high=0.015, leads=True, clear=False, holm=0.2)
    assert what_a_network_adds({"added": unsure}, "eeg-uci") == [
        "Against Untrained, Wasserstein on the same recipe the network is ahead by +0.0100 [+0.0050, +0.0150] AUC at "
        "n = 1 over 6 splits, but not beyond noise: the corrected test over splits has p = 0.20."]


def test_the_report_of_a_part_of_a_study_says_how_far_it_is(smoke):
    out, _ = smoke
    study = json.loads((out / "study.json").read_text())
    assert len(study["shortfalls"]) == 4
    assert {row["what"] for row in study["sweeps"]} >= {"points", "p", "enrolled"}
    assert {row["sessions"] for row in study["sessions"]} == {"within", "across"}
    tables = collect_beside(["gait-hapt"], "smoke", out)
    text = "\n".join(questions.sections(tables))
    assert "## Across sessions" in text
    assert "No set was tuned alike" in text
    assert "nan" not in text
    record = cell_record(Cell("gait-hapt", "qp-wl", 0, "smoke"), out)
    assert described(Cell("gait-hapt", "qp-wl", 0, "smoke"), record)["tested_people"] == len(record["people"])
