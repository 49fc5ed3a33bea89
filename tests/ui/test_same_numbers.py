"""A number that appears on two pages is the same number: all are held against the core, and so against each other."""

import json
import re

import pandas as pd
import pytest

from qpwl_core.common.friendly import friendly_names
from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.splits import split_dataset
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import space_of_gallery
from qpwl_core.evaluation.first_look import first_look, ranking
from qpwl_core.evaluation.pairs import draw_triple, filter_aucs, pairs_of, some_of_each
from qpwl_core.evaluation.trials import auc_by_n
from qpwl_core.models.gallery import load_gallery
from qpwl_core.transport.distances import pairwise_wasserstein
from tests.support.matching import trials_of
from tests.support.pages import figures_on, opened, said, stored
from tests.support.places import ROOT
from ui.library.comparisons import labels_of
from ui.library.data import recordings_of
from ui.library.models import SHIPPED, Entry

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves


@pytest.mark.parametrize("model", ["eeg-uci-qp-wl", "gait-hapt-qp-wl"])
def test_the_auc_of_a_model_on_distances_and_in_three_views_of_verification(model):
    auc = auc_by_n(trials_of(Entry(model, "ships", SHIPPED / model, {})))["auc"][0]
    page = opened("distances", model=model)
    assert re.search(r"AUC (\S+) against", said(page, "markdown"))[1] == f"{auc:.3f}"
    page = opened("verification", models=[model], verification_view="paper")
    assert page.table[0].value["n = 1"][0].split()[0] == f"{auc:.4f}"
    page.segmented_control(key="verification_view").set_value("sure").run()
    assert page.table[0].value["AUC"][0].split()[0] == f"{auc:.3f}"
    page = opened("distances", model=model, distances_view="tune")
    assert f"{auc:.3f}" in " ".join(element.proto.json for element in page.get("bidi_component")), "the present setting"


@pytest.mark.parametrize("data", ["gait-hapt-30", "eeg-simulated"])
def test_the_people_of_a_split_on_data_and_on_train(data):
    parts = split_dataset(DATASETS[data], recordings_of(data), 0)
    people = [len(set(parts.recordings.subjects[parts.index[part]])) for part in ("train", "validation", "test")]
    page = opened("data", data=data, data_view="Split")
    assert page.dataframe[0].value["subjects"].tolist()[:3] == people
    page = opened("train", data=data)
    words = f"{people[0]} people to learn from, {people[1]} to validate on, {people[2]} to test on"
    assert words in said(page, "markdown")


def test_a_person_has_one_name_on_filters_verification_and_at_the_desk(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path))
    gallery = load_gallery(SHIPPED / "gait-hapt-qp-wl")
    person = gallery.part("test").people[0]
    name = friendly_names([person])[person]
    assert f"{name} ({person})" in opened("filters", model="gait-hapt-qp-wl").multiselect(key="filters_people").options
    page = opened("identification", models=["gait-hapt-qp-wl"], identification_view="mistaken")
    assert f"{name} ({person})" in page.selectbox(key="who").options
    page = opened("desk", model="gait-hapt-qp-wl")
    assert f"{name} ({person})" in page.selectbox(key="desk-person").options
    page.button(key="desk-three").click().run()
    assert name in [each.name for each in Desk(tmp_path, space_of_gallery(gallery)).people()]


def test_a_pair_is_as_far_apart_on_home_as_on_distances():
    model = "eeg-uci-qp-wl"
    test, look = load_gallery(SHIPPED / model).part("test"), first_look(SHIPPED / model)
    index = set(some_of_each(test.subjects, test.sources, 8).tolist())              # the sequences that Distances shows
    draw, triple = next((number, triple) for number in range(1, 999)
                        if set(triple := draw_triple(test.subjects, test.sources, look.seed + number - 1)) <= index)
    seen = test.embeddings()
    of_filters = pairwise_wasserstein(seen.values[[triple[0]]], seen.values[list(triple[1:])], seen.levels, test.p,
                                      per_filter=True)[0].numpy()                                      # (2, K)
    home = opened("home", home_draw=draw)
    in_best = of_filters[:, look.order[0]]
    words = " ".join(element.value for element in home.latex)
    assert all(f"{x:.3f}" in words for x in in_best), "the best filter"
    assert all(f"{x:.2f}" in words for x in of_filters.sum(1)), "all filters"
    pictures = " ".join(element.proto.json for element in home.get("bidi_component"))
    assert all(f"W = {x:.3f}" in pictures for x in in_best)
    labels = labels_of("", "", test)
    for other, whole in zip(triple[1:], of_filters.sum(1), strict=True):
        page = opened("distances", model=model, distances_view="disagree", distances_first=str(labels[triple[0]]),
                      distances_second=str(labels[other]))
        assert any(f"= {whole:.4g}\n" in element.value for element in page.latex), "the distance of the same two"


def test_a_filter_has_the_auc_of_the_core_on_home_and_on_filters():
    model = "eeg-uci-qp-wl"
    gallery = load_gallery(SHIPPED / model)
    part, aucs = ranking(gallery)
    home = said(opened("home"), "caption")
    people = len(gallery.part(part).people)
    assert f"Filter {aucs.argmax() + 1} of {len(aucs)}" in home
    assert f"AUC {aucs.max():.3f} over all pairs of sequences of {people} {part} people" in home
    test = gallery.part("test")
    few = test.select(some_of_each(test.subjects, test.sources, 200 // len(test.people)))
    seen = few.embeddings()
    on_test = filter_aucs(seen.values, seen.levels, pairs_of(few.subjects, few.sources), gallery.p)
    page = opened("filters", model=model, filters_view="one")
    assert f"Filter {on_test.argmax() + 1}: AUC {on_test.max():.3f} over all pairs" in said(page, "subheader",
                                                                                           "markdown")


def test_home_counts_what_train_and_data_list(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path))
    home = {each.label: each.value for each in opened("home").metric}
    assert home["Models"] == str(len(opened("train", train_view="Models").dataframe[0].value))
    assert home["Data sets"] == str(len(opened("train").selectbox(key="data").options))


def test_a_model_has_one_auc_on_train_verification_and_in_the_study():
    """The models that ship are the study's first split: its mean over all splits has theirs in it."""
    repeats = pd.read_csv(ROOT / "results/verification.csv")
    listed = opened("train", train_view="Models").dataframe[0].value.set_index("model")
    found = 0
    for folder in sorted(path.parent for path in SHIPPED.glob("*/card.json")):
        card = json.loads((folder / "card.json").read_text())
        assert listed["AUC"][card["title"]] == card["results"]["verification"]["1"]["auc"]
        rows = repeats[(repeats["set"] == card["set"]) & (repeats["method"] == card["config"]["method"])
                       & (repeats["seed"] == 0)]
        if len(rows):
            found += 1
            for n in "12345":
                assert card["results"]["verification"][n]["auc"] == pytest.approx(
                    rows[rows["n"] == int(n)]["auc"].mean(), abs=5e-8), (folder.name, n)
    assert found >= 16
    page = opened("verification", models=["gait-hapt-qp-wl"], verification_view="paper")
    card = json.loads((SHIPPED / "gait-hapt-qp-wl/card.json").read_text())["results"]
    rows = page.table[0].value.to_dict("records")
    shown = next(row for row in rows if f"{card['sequences']} sequences" in row["AUC"])
    assert shown["n = 1"].startswith(f"{card['verification']['1']['auc']:.4f} ")


@pytest.mark.parametrize("name", ["eeg-uci", "gait-hapt"])
def test_an_auc_of_the_study_is_the_same_in_all_views_of_results(name):
    repeats = pd.read_csv(ROOT / "results/verification.csv")
    of_set = repeats[repeats["set"] == name]
    means = of_set.groupby(["method", "n"])["auc"].mean()
    page = opened("results", **{"results-set": name, "results_view": "table"})
    first = page.table[0].value.set_index("AUC")
    assert first["n = 1"]["QP-WL, ours"].split()[0] == f"{means['qp-wl', 1]:.4f}"
    errors = page.table[1].value.set_index("method")
    assert errors["AUC, people resampled"]["QP-WL"].split()[0] == f"{means['qp-wl', 1]:.4f}"
    page.segmented_control(key="results_view").set_value("curves").run()
    curve = next(trace for trace in figures_on(page)[1]["data"] if trace.get("name") == "QP-WL")
    assert stored(curve["y"]) == pytest.approx(means["qp-wl"].tolist(), abs=1e-9)
    page.segmented_control(key="results_view").set_value("leads").run()
    by = means["qp-wl"] - means["mp-npl"]
    lines = [line for text in page.markdown for line in text.value.replace("\\", "").splitlines()]
    sentence = next(line for line in lines if "MP-NPL" in line)
    digits = [float(number) for number in re.findall(r"0[.]\d{4}", sentence)]
    assert len(digits) == 5, sentence
    assert sorted(digits) == sorted(by.abs().round(4)), sentence
