"""Scenarios with people who try and with sessions: naive loops, known answers, what is left out, one sentence each."""

import json

import numpy as np
import pytest

from qpwl_core.cli.main import main
from qpwl_core.data.recordings import forgery_mask
from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.bootstrap import resampled_eer
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.evaluation.forgeries import MEASURES, eer_interval, forgeries, forgery_trials, summarise_forgeries
from qpwl_core.evaluation.sessions import across_sessions, sessions_of
from tests.support.tiny import forged_recordings, tiny_config


def world(people=6, each=10, forged=3, seed=0, drift=0.0, miss=2.0, sessions=2):
    """Numbers on a line: a person at 10·i, the second session ``drift`` away, forgeries ``miss`` off."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(people):
        for session in range(1, sessions + 1):
            rows += [(10 * i + drift * (session - 1) + random.normal(), f"p{i}", f"session{session}", "")
                     for _ in range(each)]
        rows += [(10 * i + miss + random.normal(), f"forger-of-p{i}", "forgery", f"p{i}") for _ in range(forged)]
    value, subjects, stimuli, imitates = (np.array(x) for x in zip(*rows, strict=True))
    return np.abs(value[:, None] - value), subjects, imitates, stimuli


def test_trials_are_those_of_a_naive_loop():
    distances, subjects, imitates, stimuli = world()
    first = forgery_trials(distances, subjects, imitates, stimuli, enrolled=3, repeats=1, seed=4)[0]
    random = np.random.default_rng([4, 0])
    enrolled = {name: random.permutation(np.flatnonzero((subjects == name) & (stimuli == "session1")))[:3]
                for name in first.people}
    knocking = {name: random.choice(np.flatnonzero((subjects == name) & (stimuli == "session2")))
                for name in first.people}
    near = lambda row, name: min(distances[row, column] for column in enrolled[name])
    genuine = [near(i, subjects[i]) for i in range(len(subjects)) if stimuli[i] == "session2"]
    skilled = [near(i, imitates[i]) for i in range(len(subjects)) if imitates[i]]
    others = [near(knocking[a], b) for a in first.people for b in first.people if a != b]
    np.testing.assert_allclose(first.genuine, genuine)
    np.testing.assert_allclose(first.skilled, skilled)
    np.testing.assert_allclose(first.random, others)
    spread = [np.median([distances[a, b] for a in own for b in own if a < b]) for own in enrolled.values()]
    np.testing.assert_allclose(first.spread, spread)
    np.testing.assert_allclose(first.normalised().skilled, np.array(skilled) / np.repeat(spread, 3))
    np.testing.assert_allclose(first.normalised().random, [near(knocking[a], b) / spread[j] for a in first.people
                                                           for j, b in enumerate(first.people) if a != b])


def test_rows_and_known_answers():
    far = forgeries(*world(miss=5.0, each=12), repeats=3)
    assert far[["enrolled", "normalised"]].drop_duplicates().to_numpy().tolist() == [
        [1, False], [5, False], [5, True], [10, False], [10, True]]
    assert far.attrs["note"] == ""
    one = far[far["enrolled"] == 5].iloc[0]
    assert (one["subjects"], one["genuine"], one["random"], one["skilled"]) == (6, 72, 30, 18)
    assert (far.loc[far["enrolled"] == 10, "random_eer"] == 0).all()          # ten apart, a deviation of one
    perfect = forgeries(*world(miss=0.0, forged=40), enrolled=(5,), repeats=4)
    assert 0.3 < perfect["skilled_eer"].mean() < 0.7                          # forged to perfection: a coin
    assert perfect["random_eer"].mean() < 0.01
    assert perfect["random_eer"].mean() < perfect["mixed_eer"].mean() < perfect["skilled_eer"].mean()


def test_enrolled_sequences_are_nested_and_more_of_them_are_nearer():
    distances, *who = world()
    few, many = (forgery_trials(distances, *who, enrolled=count, repeats=2)[1] for count in (2, 8))
    assert (many.genuine <= few.genuine).all()
    assert (many.others <= few.others).all()


def test_rates_that_cannot_be_measured_are_none():
    rows = summarise_forgeries(forgeries(*world(), enrolled=(5,), repeats=2))
    assert json.dumps(rows)
    assert rows[0]["skilled_fnmr_1"] is None                                  # 18 trials cannot show 1 %
    assert rows[0]["random_fnmr_5"] is None
    many = summarise_forgeries(forgeries(*world(people=18, forged=20), enrolled=(5,), repeats=2))
    assert all(many[0][name] is not None for name in MEASURES)


def test_one_session_says_so():
    distances, subjects, imitates, stimuli = world(sessions=1)
    for names in (stimuli, None):
        frame = forgeries(distances, subjects, imitates, names, repeats=2)
        assert "one session" in frame.attrs["note"]
        assert frame["enrolled"].unique().tolist() == [1, 5]                  # with ten enrolled nothing is left
        assert frame.loc[frame["enrolled"] == 5, "genuine"].unique().tolist() == [30]
    first = forgery_trials(distances, subjects, imitates, stimuli, enrolled=5, repeats=1)[0]
    own = np.flatnonzero(subjects == "p0")
    np.testing.assert_allclose(first.genuine[:5], distances[np.ix_(own[5:], own[:5])].min(axis=1))


def test_people_without_a_second_session_or_a_forgery_are_left_out():
    distances, subjects, imitates, stimuli = world()
    keep = ~((subjects == "p0") & (stimuli == "session2")) & (imitates != "p1")
    some = forgeries(distances[np.ix_(keep, keep)], subjects[keep], imitates[keep], stimuli[keep], repeats=1)
    assert some["subjects"].unique().tolist() == [4]


def test_negative_cosine_is_normalised_from_its_smallest_value():
    distances, *who = world()
    cosine = distances / distances.max() * 2 - 1
    shifted = forgery_trials((cosine + 1), *who, enrolled=5, repeats=1)[0]
    own = forgery_trials(cosine, *who, enrolled=5, repeats=1)[0]
    np.testing.assert_allclose(own.normalised().genuine, shifted.normalised().genuine)
    assert (own.spread > 0).all()


def test_copies_do_not_divide_by_nought():
    distances, subjects, imitates, stimuli = world()
    same = np.flatnonzero((subjects == "p0") & (stimuli == "session1"))
    distances[np.ix_(same, same)] = 0
    trials = forgery_trials(distances, subjects, imitates, stimuli, enrolled=5, repeats=1)[0]
    assert trials.spread[0] == 0
    assert np.isfinite(trials.normalised().genuine).all()


def test_refusals_are_one_sentence():
    distances, subjects, imitates, stimuli = world()
    with pytest.raises(ValueError, match="enrolled must be a whole number"):
        forgery_trials(distances, subjects, imitates, stimuli, enrolled=0)
    with pytest.raises(ValueError, match="needs two people with 11 sequences to enrol.*there are 0"):
        forgery_trials(distances, subjects, imitates, stimuli, enrolled=11)
    with pytest.raises(ValueError, match="needs two people"):
        forgeries(distances, subjects, np.full(len(subjects), ""), stimuli)
    with pytest.raises(ValueError, match=r"distances must be \(n, n\)"):
        forgery_trials(distances[:3], subjects, imitates, stimuli)
    with pytest.raises(ValueError, match="finite"):
        forgery_trials(distances * np.nan, subjects, imitates, stimuli)
    with pytest.raises(ValueError, match="at least two enrolled"):
        forgery_trials(distances, subjects, imitates, stimuli, enrolled=1)[0].normalised()


def test_resampled_eer_is_that_of_longer_lists():
    random = np.random.default_rng(0)
    genuine, imposter = random.integers(0, 12, 20).astype(float), random.integers(5, 20, 30).astype(float)
    often, seldom = random.integers(0, 4, (25, 20)), random.integers(0, 4, (25, 30))
    wanted = [metrics.eer(np.repeat(genuine, a), np.repeat(imposter, b)) for a, b in zip(often, seldom, strict=True)]
    np.testing.assert_allclose(resampled_eer(genuine, imposter, often, seldom), wanted, atol=1e-12)


@pytest.mark.parametrize("kind", ["random", "skilled"])
def test_the_interval_holds_the_rate(kind):
    trials = forgery_trials(*world(people=12, miss=1.0, drift=3.0), enrolled=3, repeats=3)
    low, high = eer_interval(trials, kind)
    mean = np.mean([metrics.eer(each.genuine, each.against(kind)) for each in trials])
    assert low <= mean <= high
    assert high > low or kind == "random"


def test_sessions_are_found_by_their_names():
    assert sessions_of(["session1", "Session-2", "walking@session10", "ses-03", "forgery", "session"]).tolist() == [
        1, 2, 10, 3, 0, 0]
    assert sessions_of(None) is None
    assert sessions_of(["beach", "obsession1"]) is None


def genuine(drift, **options):
    distances, subjects, imitates, stimuli = world(drift=drift, forged=1, **options)
    mine = imitates == ""
    return distances[np.ix_(mine, mine)], subjects[mine], stimuli[mine]


def test_another_day_is_harder_only_where_people_change():
    same, moved = (across_sessions(*genuine(drift), repeats=4) for drift in (0.0, 9.0))
    assert same["n"].unique().tolist() == [1, 2, 3, 4, 5]
    assert same["enrolled"].unique().tolist() == [5]
    means = moved.groupby("sessions")["auc"].mean()
    assert means["within"] > 0.98
    assert means["across"] < 0.9
    assert same.groupby("sessions")["auc"].mean().min() > 0.98
    pd_within = same[same["sessions"] == "within"].reset_index(drop=True)
    assert pd_within.equals(moved[moved["sessions"] == "within"].reset_index(drop=True))       # the same draws


def test_windows_of_one_recording_are_never_compared():
    distances, subjects, stimuli = genuine(0.0)
    sources = np.arange(len(subjects)) // 2                                    # two windows of each recording
    together = sources[:, None] == sources
    frame = across_sessions(np.where(together, -1e9, distances), subjects, stimuli, sources=sources, repeats=3)
    assert frame["n"].max() == 4                                               # five recordings of each session
    assert frame["auc"].min() > 0.9
    assert frame.equals(across_sessions(np.where(together, 1e9, distances), subjects, stimuli, sources=sources,
                                        repeats=3))


def test_half_of_the_people_decide_how_many_are_observed():
    distances, subjects, stimuli = genuine(0.0)                                # six people, ten and ten
    second = np.flatnonzero(stimuli == "session2")
    fewer = np.setdiff1d(np.arange(len(subjects)), [i for i in second if subjects[i] in ("p0", "p1", "p2", "p3")
                                                    and i % 10 > 2])
    frame = across_sessions(distances[np.ix_(fewer, fewer)], subjects[fewer], stimuli[fewer], repeats=2)
    assert frame["n"].max() == 3                                               # two have more, four have three
    assert frame["subjects"].unique().tolist() == [6]
    assert frame.attrs["note"] == ""


def test_sessions_that_are_not_there_are_one_sentence():
    distances, subjects, stimuli = genuine(0.0)
    with pytest.raises(ValueError, match="must name two sessions"):
        across_sessions(distances, subjects, np.full(len(subjects), "session1"))
    with pytest.raises(ValueError, match="must name two sessions"):
        across_sessions(distances, subjects, np.full(len(subjects), "walk"))
    lonely = np.array([f"session{1 + (i % 20 == 19)}" for i in range(len(subjects))])
    frame = across_sessions(distances, subjects, lonely, repeats=2)
    assert frame["n"].max() == 1                                               # one sequence in the second session
    with pytest.raises(ValueError, match="two people with two recordings"):
        across_sessions(distances, np.arange(len(subjects)), stimuli)


def test_evaluation_has_both_and_no_forger_in_any_other_scenario():
    distances, subjects, imitates, stimuli = world(people=8, drift=1.0)
    results, notes = evaluate_distances(distances, subjects, None, 0, stimuli, imitates)
    mine = ~forgery_mask(imitates, len(subjects))
    honest, _ = evaluate_distances(distances[np.ix_(mine, mine)], subjects[mine])
    assert {name: results[name] for name in honest} == honest
    assert set(results) - set(honest) == {"forgeries", "across_sessions", "within_sessions"}
    assert set(results["across_sessions"]) == set(results["within_sessions"]) == set("12345")
    assert set(results["across_sessions"]["1"]) == {"auc", "se", "eer"}
    assert {"enrolled", "normalised", "random_eer", "skilled_eer", "mixed_eer"} <= set(results["forgeries"][0])
    assert any("8 subjects" in note for note in notes)
    row = next(row for row in results["forgeries"] if row["enrolled"] == 5 and not row["normalised"])
    curve = dict(zip(row["det"]["fmr"], row["det"]["skilled"], strict=True))
    assert (curve[0.05], curve[0.01]) == (row["skilled_fnmr_5"], row["skilled_fnmr_1"]), "the DET curve says the same"
    measured = [rate for rate in row["det"]["random"] if rate is not None]
    assert len(measured) >= 3
    assert measured == sorted(measured, reverse=True), "who lets more strangers in sends fewer owners away"
    assert any(row["normalised"] and row["det"] for row in results["forgeries"])
    json.dumps(results)
    alone, _ = evaluate_distances(distances[np.ix_(mine, mine)], subjects[mine], None, 0, stimuli[mine], None)
    assert "forgeries" not in alone


def test_the_command_prints_and_writes_it(tmp_path, capsys):
    from collections import deque

    from qpwl_core.training.loop import train

    data = forged_recordings(people=6)
    deque(train(tiny_config(), data), maxlen=1).pop().model.save(tmp_path / "model")
    path = str(forged_recordings(people=5, seed=3).save(tmp_path / "signed.npz"))
    assert main(["evaluate", str(tmp_path / "model"), "--data", path, "--json", str(tmp_path / "r.json")]) == 0
    said = capsys.readouterr().out
    assert "forgeries       E = 5     EER random" in said
    assert "across sessions n = 5" in said
    stored = json.loads((tmp_path / "r.json").read_text())
    assert [row["enrolled"] for row in stored["forgeries"]] == [1, 5, 5]
    assert stored["subjects"] == 5
