"""The study: what it is made of, cells that are whole or not there, the smoke study from end to end, its report."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from qpwl_core.cli import main as cli
from qpwl_core.common.files import read_json
from qpwl_core.data.datasets import load_dataset
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation import bootstrap as compare
from qpwl_core.evaluation import metrics, protocol
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.models.gallery import Gallery, dense_levels, load_gallery
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import load_model
from qpwl_core.study import cells as making
from qpwl_core.study import galleries, shipping, variants
from qpwl_core.study.cells import Distances, cell_record, drop_outdated, is_whole, make_cell, read_distances
from qpwl_core.study.record import record_path, write_record
from qpwl_core.study.report.sentences import verdicts
from qpwl_core.study.runner import run
from qpwl_core.study.scores import GRID, score, stack_of
from qpwl_core.study.sets import OF_THE_PAPER, PRESETS, SETS, Cell, cells_of, simplified
from qpwl_core.study.tables import collect, resampled_cells
from tests.support.tiny import tiny_recordings

SMOKE = cells_of("smoke")


# what a study is made of

def test_every_set_declares_what_a_study_needs():
    for name, own in SETS.items():
        assert own.name == name
        assert own.title
        assert all(own.terms.values())
        assert own.domain == (own.stands_for or "signature")          # of which the paper has none
        for method in own.methods:
            assert Cell(name, method, 0).config.domain == own.domain
    real = [own for own in SETS.values() if own.ships]
    assert {own.domain for own in real} == {"eye", "gait", "eeg", "signature"}
    assert not any(own.simulated or own.fixed for own in real)


def test_presets_hold_the_paper_and_what_is_beyond():
    cells = cells_of("quick")
    rows = sum(len(SETS[name].methods) for name in PRESETS["quick"].sets)
    assert len(cells) == len(set(cells)) == 10 * rows
    assert {cell.seed for cell in cells[:rows]} == {0}                        # an early stop leaves all of one seed
    for name in PRESETS["quick"].sets:
        assert SETS[name].fixed or {*OF_THE_PAPER, "qp-wl-pyramid", "untrained", "untrained-cosine"} <= {
            cell.method for cell in cells if cell.set == name}
    assert [c.method for c in cells if c.set == "eye-gazecom-fixed" and c.seed == 0] == ["qp-wl", "jaeger-2019"]
    assert not any(METHODS[c.method].network == "jaeger" and not SETS[c.set].fixed for c in cells)
    assert all(SETS[name].simulated or not SETS[name].file for name in PRESETS["smoke"].sets)      # it ships
    assert cells_of("quick", ["gait-hapt"], ["qp-ms"], [3]) == [Cell("gait-hapt", "qp-ms", 3)]
    same = {json.dumps(Cell("eeg-uci", m, 0, variant="try-3").config.to_dict() | {"method": ""})
            for m in SETS["eeg-uci"].methods}
    assert len(same) == 1, "a try is the same network, batches and steps for all methods of a set"


def test_the_fixed_set_compares_like_with_like():
    """Both have the same budget and the same tries; each keeps the recipe that was best for it, as on every set."""
    for variant in ("", *(f"try-{number}" for number in range(variants.TRIES))):
        ours, theirs = (Cell("eye-gazecom-fixed", method, 0, variant=variant).config
                        for method in ("qp-wl", "jaeger-2019"))
        assert (ours.iterations, ours.pairs, theirs.crop) == (theirs.iterations, theirs.pairs, 0)
        if variant:
            assert ours.recipe == theirs.recipe
        if variant == "try-0":
            assert ours.recipe == {"validity": False, "fine": False, "screen": [1280, 720, 0.4, 0.225, 0.45]}


def test_simplified_has_one_gaze_point_no_pupil_and_one_length():
    eyes = load_dataset("eye-simulated").select(index=range(12))
    plain = simplified(eyes)
    shortest = eyes.lengths.min()
    assert (plain.channels, set(plain.lengths.tolist())) == (("x_px", "y_px"), {shortest})
    assert len(plain) == (eyes.lengths // shortest).sum()
    both = eyes.sequences[0][:shortest]
    np.testing.assert_allclose(plain.sequences[0][:, 0], (both[:, 0] + both[:, 3]) / 2)
    one = Recordings([np.arange(30.0).reshape(10, 3), np.arange(15.0).reshape(5, 3)], ["a", "b"],
                     ("x_px", "y_px", "confidence"), 250.0, ["s", "t"])
    cut = simplified(one)
    assert cut.channels == one.channels
    assert (cut.stimuli.tolist(), cut.subjects.tolist()) == (["s", "s", "t"], ["a", "a", "b"])
    np.testing.assert_array_equal(cut.sequences[1], one.sequences[0][5:])


@pytest.mark.shared
def test_the_real_sets_load_and_split_without_overlap(shared_data):
    eeg = SETS["eeg-uci"].load(shared_data)
    assert (len(set(eeg.subjects)), len(eeg.channels)) == (28, 16)
    eye = SETS["eye-gazecom"].load(shared_data)
    assert eye.info["citation"] == SETS["eye-gazecom"].terms["citation"]
    learn, test = SETS["eye-gazecom"].parts(eye, seed=1)
    assert not set(learn.subjects) & set(test.subjects)
    assert not set(learn.stimuli) & set(test.stimuli)
    assert len(set(learn.subjects)) == 24
    assert len(SETS["eye-gazecom"].load(shared_data, people=7).select(index=slice(None)).require(7).channels) == 3


@pytest.mark.shared
def test_signatures_of_three_tablets_are_one_set_and_forgeries_follow_whom_they_imitate(shared_data):
    own = SETS["signature-susig"]
    signed = own.load(shared_data)
    assert len(signed.people) == 74 + 90 + 28
    assert {name.rpartition("-")[0] for name in signed.people} == {"susig-visual", "susig-blind", "svc2004"}
    assert all(text in own.terms["citation"] for text in ("Kholmatov", "Yeung"))
    learn, test = own.parts(signed, seed=0)
    assert not set(learn.claims) & set(test.claims)
    assert set(test.imitates[test.is_forgery]) == set(test.people)


# scores

def with_forgeries(people=6, each=12, seed=0):
    """Distances of people of two sets, in two sessions, and three forgeries of each, nearly as near as their own."""
    names = [f"{'ab'[i % 2]}-p{i}" for i in range(people)]
    subjects = np.array([*np.repeat(names, each), *(f"forger-of-{name}" for name in np.repeat(names, 3))])
    imitates = np.array([""] * (people * each) + [name for name in names for _ in range(3)])
    stimuli = np.array([f"session{1 + (i % each >= 6)}" for i in range(people * each)] + ["forgery"] * (3 * people))
    claims = np.where(imitates == "", subjects, imitates)
    values = np.random.default_rng(seed).random((len(subjects),) * 2)
    values = values + 2 - (claims[:, None] == claims) * np.where(imitates == "", 1.5, 1)
    return Distances(values.astype(np.float32), subjects, np.arange(len(subjects)), stimuli, imitates)


def test_forgers_are_nobody_in_a_cell_and_have_scores_to_themselves(tmp_path):
    test = with_forgeries()
    found = score(test, with_forgeries(seed=1), seed=0)
    assert (found["subjects"], found["sequences"]) == (6, 72)
    assert found["verification"] == score(test.genuine(), with_forgeries(seed=1).genuine(), seed=0)["verification"]
    tried = {row["enrolled"]: row for row in found["results"]["forgeries"] if not row["normalised"]}
    assert tried[5]["skilled"] == 18
    assert tried[5]["skilled_eer"] > tried[5]["random_eer"]
    assert set(found["results"]["across_sessions"]) == {"1", "2", "3", "4", "5"}
    assert {row["subjects"] for row in found["of_sets"]["a"]["forgeries"]} == {3}
    making.write_distances(tmp_path, {"test": test, "calibration": with_forgeries(seed=1)})
    again = read_distances(tmp_path)
    assert score(again["test"], again["calibration"], seed=0) == found


def distances(people=6, each=8, nearer=1.0, seed=0):
    names = np.repeat([f"p{i}" for i in range(people)], each)
    values = np.random.default_rng(seed).random((len(names),) * 2)
    return Distances((values - nearer * (names[:, None] == names)).astype(np.float32), names, np.arange(len(names)))


def test_scores_are_those_of_the_protocol():
    test = distances()
    found = score(test, distances(seed=1), seed=4)
    plain = protocol.verification(test.values, test.subjects, seed=4)
    rows = pd.DataFrame(found["verification"])
    np.testing.assert_array_equal(rows[["auc", "eer"]], plain[["auc", "eer"]])
    identified = protocol.identification(test.values, test.subjects, seed=4)
    assert [row["accuracy"] for row in found["identification"]] == identified["accuracy"].tolist()
    assert [row["auc"] for row in found["imposters"]] == protocol.imposters(test.values, test.subjects,
                                                                            seed=4)["auc"].tolist()
    summary, _ = evaluate_distances(test.values, test.subjects, test.sources, 4)
    assert rows[rows["n"] == 5]["auc"].mean() == pytest.approx(summary["verification"]["5"]["auc"])
    assert rows["fnmr_0.1"].notna().all()
    assert rows["fnmr_0.01"].isna().all(), "30 trials cannot measure it"
    curve = metrics.mean_roc([metrics.genuine_and_imposter(m) for m in
                              stack_of(test, 4)[0][:, 4]], [0.1])
    place = GRID.tolist().index(0.1)
    assert np.mean([c[place] for c in found["roc"]["5"]]) == pytest.approx(curve["tpr"][0], abs=1e-5)
    everyone = identified[identified["fraction"] == 1]["accuracy"].mean()
    assert np.mean([c[0] for c in found["cmc"]]) == pytest.approx(everyone)
    assert {row["aimed"] for row in found["calibrated"]} == {0.1, 0.01}
    assert found["windows_apart"] is None


def test_scores_without_people_to_calibrate_on():
    assert score(distances(), distances(people=1), 0)["calibrated"] == []


@pytest.mark.parametrize(("change", "words"), [
    (lambda d: Distances(d.values * np.nan, d.subjects, d.sources), "distances must be finite, got 2304 NaN"),
    (lambda d: Distances(d.values * 0, d.subjects, d.sources), "distances must differ to tell people apart"),
    (lambda d: distances(people=1), "at least two people"),
    (lambda d: distances(each=5), "fewer than 6 are too few"),
])
def test_bad_distances_are_one_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        score(change(distances()), distances(), 0)


def test_who_has_too_few_sequences_is_left_out_and_named():
    test = distances()
    keep = np.arange(len(test.subjects)) >= 5                # p0 has three left
    few = Distances(test.values[np.ix_(keep, keep)], test.subjects[keep], test.sources[keep])
    found = score(few, distances(), 0)
    assert (found["left_out"], found["subjects"]) == (["p0"], 5)


def test_words_tell_a_lead_from_a_tie_from_being_led():
    rows = [{"set": "eeg-uci", "against": "qp-npl", "n": 1, "difference": 0.02, "low": 0.01, "high": 0.03},
            {"set": "eeg-uci", "against": "qp-npl", "n": 2, "difference": 0.01, "low": -0.01, "high": 0.03},
            {"set": "eeg-uci", "against": "mp-npl", "n": 1, "difference": -0.012, "low": -0.02, "high": -0.001},
            {"set": "eeg-uci", "against": "mp-npl", "n": 2, "difference": -0.00001, "low": -0.01, "high": 0.01},
            {"set": "eeg-uci", "against": "pswe-npl", "n": 1, "difference": -0.003, "low": -0.01, "high": 0.01}]
    assert verdicts({"differences": pd.DataFrame(rows)}, "eeg-uci") == [
        "QP-WL leads QP-NPL at every n (by 0.0200, 0.0100); other people could turn it round at n = 2.",
        "QP-WL against MP-NPL: level at n = 2, behind at n = 1 (by 0.0120).",
        "QP-WL against Sliced Wasserstein pooling + N-pair: behind at every n (by 0.0030); other people could turn "
        "it round at every n."]


# cells

@pytest.fixture
def tiny_cell(monkeypatch):
    """A cell of a tiny set, all of whose sequences could ship."""
    own = replace(SETS["gait-hapt"], ships=(12, 4, 1000))
    monkeypatch.setitem(SETS, "gait-hapt", own)
    tiny = tiny_recordings(people=12, each=8, domain="gait")
    monkeypatch.setattr(type(own), "load", lambda self, folder, people=None: tiny)
    monkeypatch.setitem(PRESETS, "smoke", PRESETS["smoke"].__class__(
        ("gait-hapt",), ("qp-wl",), (0,), changes={"filters": 4, "layers": 2, "kernel": 3, "points": 4, "pairs": 4,
                                                   "iterations": 6, "validate_every": 3}))
    return Cell("gait-hapt", "qp-wl", 0, "smoke")


def test_a_cell_is_a_model_with_all_a_card_says(tiny_cell, tmp_path):
    assert make_cell(tiny_cell, tmp_path, "nowhere", 1) == {"cell": tiny_cell.name, "error": None}
    folder = tmp_path / "cells" / tiny_cell.name
    model, card, parts = load_model(folder), read_json(folder / "card.json"), read_distances(folder)
    assert {"title", "set", "terms", "data", "split", "training", "results", "notes", "reproduce", "config",
            "recipe", "sha256"} <= set(card)
    assert card["reproduce"] == ("python -m qpwl_core study --preset smoke --sets gait-hapt --methods qp-wl --seeds 0 "
                                 "--threads 1")
    names = [set(card["split"][part]) for part in ("train", "validation", "test")]
    assert sum(map(len, names)) == len(set.union(*names)) == 12
    gallery = load_gallery(folder)
    assert set(gallery.part("test").people) == names[2]
    assert set(gallery.part("calibration").people) == names[1]
    by_person = np.argsort(parts["test"].subjects, kind="stable")
    np.testing.assert_allclose(parts["test"].values[np.ix_(by_person, by_person)], gallery.part("test").distances(),
                               rtol=0.02, atol=0.02)
    assert card["results"] == evaluate_distances(parts["test"].values, parts["test"].subjects,
                                                 parts["test"].sources, 0)[0]
    assert not (tmp_path / "runs" / tiny_cell.name).exists()
    assert model.config == tiny_cell.config


def test_a_cell_that_is_there_is_not_made_again_and_old_scores_are(tiny_cell, tmp_path, monkeypatch):
    make_cell(tiny_cell, tmp_path, "nowhere", 1)
    folder = tmp_path / "cells" / tiny_cell.name
    scores = (folder / "scores.json").read_bytes()
    (folder / "scores.json").write_text('{"version": 0}')
    monkeypatch.setattr(making, "train", None)
    assert make_cell(tiny_cell, tmp_path, "nowhere", 1)["error"] is None
    assert (folder / "scores.json").read_bytes() == scores
    monkeypatch.setitem(PRESETS["smoke"].changes, "iterations", 9)
    with pytest.raises(ValueError, match="was trained with iterations = 6, not 9: name another --out, or say"):
        is_whole(tiny_cell, tmp_path)
    assert drop_outdated([tiny_cell], tmp_path) == [tiny_cell.name]
    assert not is_whole(tiny_cell, tmp_path)
    assert drop_outdated([tiny_cell], tmp_path) == []


def test_a_cell_that_fails_is_said_in_one_sentence(tiny_cell, tmp_path, monkeypatch):
    monkeypatch.setattr(making, "write_distances", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    result = make_cell(tiny_cell, tmp_path, "nowhere", 1)
    assert "No space left" in result["error"]
    assert not is_whole(tiny_cell, tmp_path)
    monkeypatch.undo()


def test_small_galleries_are_the_same_for_every_method(tiny_cell, tmp_path):
    make_cell(tiny_cell, tmp_path, "nowhere", 1)
    gallery = load_gallery(tmp_path / "cells" / tiny_cell.name)
    small = galleries.smaller(gallery, 3, 2, 6)
    again = galleries.smaller(gallery.select(np.arange(len(gallery))), 3, 2, 6)
    assert [len(small.part(part).people) for part in ("test", "calibration")] == [3, 2]
    assert np.unique(small.subjects, return_counts=True)[1].max() == 6
    np.testing.assert_array_equal(small.sources, again.sources)


# the whole

def test_the_smoke_study_goes_on_where_it_was_interrupted_and_is_whole(smoke):
    out, printed = smoke
    assert all(is_whole(cell, out) for cell in SMOKE)
    assert not (out / "runs").exists()
    assert f"{len(SMOKE)}/{len(SMOKE)} cells" in printed
    assert "ETA 0:00" in printed
    assert str(out / "report.html") in printed


def test_its_files_agree_with_the_cells(smoke):
    out, _ = smoke
    study, table = json.loads((out / "study.json").read_text()), pd.read_csv(out / "table.csv")
    assert (study["format"], study["preset"], len(study["cells"])) == ("qpwl-study", "smoke", len(SMOKE))
    assert study["sets"]["eye-simulated"]["simulated"]
    assert study["command"] == "python -m qpwl_core study --preset smoke"
    verified = pd.read_csv(out / "verification.csv")
    assert len(verified) == len(SMOKE) * 10 * 5
    for row in study["verification"]:
        own = verified[(verified["set"] == row["set"]) & (verified["method"] == row["method"])
                       & (verified["n"] == row["n"])]["auc"]
        cards = [cell_record(c, out)["results"]["verification"][str(row["n"])]["auc"]
                 for c in SMOKE if (c.set, c.method) == (row["set"], row["method"])]
        assert row["auc"] == pytest.approx(own.mean()) == pytest.approx(np.mean(cards))
        assert row["se"] == pytest.approx(own.std() / np.sqrt(len(own)))
        assert row["low"] <= row["high"]
    assert len(table) == len(study["verification"])
    for row in study["differences"]:
        aucs = {m: next(r["auc"] for r in study["verification"] if (r["set"], r["method"], r["n"])
                        == (row["set"], m, row["n"])) for m in (row["method"], row["against"])}
        assert row["difference"] == pytest.approx(aucs[row["method"]] - aucs[row["against"]], abs=1e-6)
        assert row["leads"] == (row["difference"] > 0)


def test_intervals_of_the_table_are_those_of_compare(smoke):
    out, _ = smoke
    tables = collect([c for c in SMOKE if c.set == "gait-hapt"], out)
    part = read_distances(out / "cells" / "gait-hapt-qp-wl-0")["test"]           # what ships is kept whole
    stacks = {0: stack_of(part, 0)[0][:, 0]}
    cell = Cell("gait-hapt", "qp-wl", 0, "smoke")
    wins = {cell: cell_record(cell, out)["wins"]["1"]}
    assert resampled_cells(wins).interval() == pytest.approx(compare.resample(stacks).interval(), abs=1e-12)
    row = tables["table"].query("method == 'qp-wl' and n == 1").iloc[0]
    assert row["low"] < row["auc"] < row["high"]


def test_the_results_page_has_all_methods_and_says_where_it_comes_from(smoke):
    out, _ = smoke
    text = (out / "RESULTS.md").read_text()
    assert "do not edit" in text
    assert "python -m qpwl_core study --preset smoke" in text
    for cell in SMOKE:
        assert METHODS[cell.method].title in text
        assert SETS[cell.set].title in text
    assert "*0.9923 ± 0.0008*" in text, "the paper's gait beside ours"
    assert "Simulated recordings" in text
    assert "0.9466" not in text, "nothing of the paper beside what is simulated"
    for line in text.splitlines():
        assert "nan" not in line.lower().split()


def test_what_ships_is_small_and_says_what_is_in_its_gallery(smoke):
    out, _ = smoke
    folders = sorted(path.name for path in (out / "models").iterdir())
    assert folders == ["gait-hapt-mp-npl", "gait-hapt-qp-wl"]
    for name in folders:
        card, gallery = read_json(out / "models" / name / "card.json"), load_gallery(out / "models" / name)
        assert load_model(out / "models" / name).card["set"] == "gait-hapt"
        assert gallery.model == card["sha256"]
        test = gallery.part("test")
        assert card["gallery"]["test"] == test.people
        assert card["gallery"]["results"] == evaluate_distances(test.distances(), test.subjects, test.sources, 0,
                                                                test.stimuli)[0]
        assert np.unique(gallery.subjects, return_counts=True)[1].max() <= SETS["gait-hapt"].ships[2]
    assert cli.main(["compare", *(str(out / "models" / name) for name in folders)]) == 0


def test_a_small_gallery_keeps_both_sessions_and_forgeries_of_its_people():
    seen = with_forgeries(people=4)
    n = len(seen.subjects)
    gallery = Gallery(np.zeros((n, 2, 2)), np.array([0.0, 1.0]), None, np.zeros((n, 2)), seen.subjects, seen.stimuli,
                      seen.sources, np.full(n, "test"), "mp-npl", 1.0, "", seen.imitates)
    small = galleries.smaller(gallery, 3, 0, 6)
    assert len(small.people) == 3
    assert set(small.imitates[small.is_forgery]) == set(small.people)
    for name in small.people:
        sessions = small.stimuli[small.subjects == name].tolist()
        assert (sessions.count("session1"), sessions.count("session2")) == (3, 3)
        assert (small.imitates == name).sum() == 3


def gallery_of_names(names, levels=(0.0, 1.0), filters=2, own=None):
    n = len(names)
    return Gallery(np.random.default_rng(0).random((n, filters, len(levels))), np.array(levels), own,
                   np.zeros((n, 2)), np.array(names), None, np.arange(n), np.full(n, "calibration"), "mp-npl", 1.0, "")


def test_a_small_gallery_has_people_of_every_set_that_was_joined():
    names = np.repeat([*(f"susig-visual-{i}" for i in range(20)), "svc2004-1", "svc2004-2"], 7)
    small = galleries.smaller(gallery_of_names(names), 0, 4, 6, origins=["susig-blind-", "svc2004-"])
    assert len(small.people) == 4
    assert [name for name in small.people if name.startswith("svc")] == ["svc2004-1", "svc2004-2"]
    one = galleries.smaller(gallery_of_names(names), 0, 4, 6)
    assert sum(name.startswith("susig") for name in one.people) == 4, "what it was before, where nothing is joined"


def test_a_recipe_that_loses_a_sequence_leaves_the_others_in_their_place():
    names = np.repeat([f"p{i}" for i in range(9)], 8)
    gallery = gallery_of_names(names)
    some = gallery.select(np.delete(np.arange(len(gallery)), [3, 17, 40, 41, 42]))        # of four people
    first, again = (galleries.smaller(each, 0, 5, 6) for each in (gallery, some))
    assert len(set(first.people) - set(again.people)) <= 1, "whoever has too few now, and nobody else"
    both = [name for name in first.people if name in again.people]
    lost = {3, 17, 40, 41, 42}
    for name in both:
        kept, then = (set(each.sources[each.subjects == name].tolist()) for each in (first, again))
        assert kept - lost <= then


def test_a_gallery_of_very_many_filters_ships_with_fewer_levels_and_the_same_distances():
    own = np.array([0.0, 0.013, 0.4, 1.0])
    gallery = gallery_of_names(["a", "b"], dense_levels(own), 128, own)
    thin = galleries.thinner(gallery)
    assert (len(gallery.levels), len(thin.levels)) == (67, 35)
    assert np.isin(own, thin.levels).all()
    np.testing.assert_array_equal(thin.values, gallery.values[:, :, np.isin(gallery.levels, thin.levels)])
    few = gallery_of_names(["a", "b"], dense_levels(own), 64, own)
    assert galleries.thinner(few) is few


def test_a_card_tells_what_learns_nothing_on_the_same_people(tmp_path):
    cell, rows = Cell("signature-susig", "qp-wl", 0), [{"enrolled": 5, "random_eer": 0.01}]
    assert shipping.nothing_learned(cell, tmp_path) == {}
    for method, results in (("dtw", {"forgeries": rows}), ("untrained", {}), ("qp-cls", {"forgeries": rows})):
        write_record(record_path(Cell(cell.set, method, 0).name, tmp_path), {
            "format": "qpwl-cell", "version": 1, "config": {}, "results": results})
    assert shipping.nothing_learned(cell, tmp_path) == {"dtw": rows}
    assert shipping.nothing_learned(Cell(cell.set, "qp-wl", 1), tmp_path) == {}, "of another split: other people"


def test_too_large_to_ship(smoke, tmp_path, monkeypatch):
    out, _ = smoke
    monkeypatch.setattr(shipping, "LARGEST", 1000)
    with pytest.raises(ValueError, match="models that ship have at most"):
        shipping.ship(SMOKE, out, tmp_path / "models")


def test_the_report_can_be_written_again_without_training(smoke, tmp_path, capsys):
    out, _ = smoke
    shutil.copytree(out / "cells" / "gait-hapt-qp-wl-0", tmp_path / "cells" / "gait-hapt-qp-wl-0")
    command = ["study", "--preset", "smoke", "--report-only", "--out"]
    assert cli.main([*command, str(tmp_path)]) == 0          # one method alone: nothing to compare
    assert (tmp_path / "report.html").exists()
    capsys.readouterr()
    assert cli.main([*command, str(tmp_path / "none")]) == 2
    assert "holds no cell of this study" in capsys.readouterr().err


# bad input

@pytest.mark.parametrize(("argv", "words"), [
    (["--sets", "moon"], "there is no 'moon' among the sets; there are eye-gazecom, "),
    (["--methods", "magic"], "there is no 'magic' among the methods; there are qp-wl, "),
    (["--seeds", "-1"], "--seeds must be at least 0, not -1"),
    (["--sets", "gait-hapt", "--methods", "jaeger-2019"], "jaeger-2019 needs sequences of one length"),
    (["--jobs", "0", "--preset", "smoke"], "--jobs must be at least 1, not 0"),
    (["--threads", "0", "--preset", "smoke"], "--threads must be at least 1, not 0"),
    (["--data", "nowhere"], "needs eye-gazecom-40.npz, and 'nowhere' has no such file; --data names the folder"),
    (["--preset", "smoke", "--dask", "moon"], "there is no Dask scheduler at moon"),
])
def test_bad_input_is_one_line(argv, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["study", "--out", str(tmp_path / "out"), *argv]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error
    assert not list(tmp_path.glob("out/cells/*"))


def test_failed_cells_do_not_stop_the_others(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("qpwl_core.study.runner.make_cell", lambda cell, *_: {"cell": cell.name, "error": "it broke"})
    assert cli.main(["study", "--preset", "smoke", "--sets", "gait-hapt", "--jobs", "1", "--out", str(tmp_path)]) == 2
    assert "4 of 4 cells failed: gait-hapt-qp-wl-0: it broke; " in capsys.readouterr().err


# a cluster

@pytest.mark.filterwarnings("ignore")
def test_on_a_dask_cluster_of_two_processes(smoke, tmp_path):
    """A real scheduler and two workers: the same weights, bit for bit, as on this machine."""
    from distributed import LocalCluster

    out, _ = smoke
    cells = cells_of("smoke", ["gait-hapt"], None, [0])
    with LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None) as cluster:
        assert len({worker.pid for worker in cluster.workers.values()}) == 2
        assert run(cells, tmp_path, "nowhere", dask=cluster.scheduler_address) == []
    for cell in cells:
        here, there = (cell_record(cell, home) for home in (out, tmp_path))
        assert here["sha256"] == there["sha256"]
