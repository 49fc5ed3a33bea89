"""The data page: every view of every set, uploads good and bad, downloads that arrive, fail and are stopped."""

import gc
import shutil
import threading
import time
from dataclasses import fields, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import ui.library.data
from qpwl_core.data.datasets import DATASETS, get_dataset, load_dataset
from qpwl_core.data.inspection import remarks, thinned
from qpwl_core.data.preprocessing import RECIPES
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split, split_dataset
from qpwl_core.models.config import preset
from tests.support.official_files import BUILDERS
from tests.support.pages import figures_on
from tests.support.places import ROOT
from tests.support.tiny import tiny_npz, tiny_recordings
from ui.data.figures import split_map
from ui.data.views import MEANING
from ui.library import totals
from ui.library.downloads import Download, _started, expected
from ui.library.totals import bytes_of

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")
SHIPPED = [name for name, dataset in DATASETS.items() if dataset.shipped]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of its own, and no download from an earlier test."""
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))
    _started.clear()
    return tmp_path / "cache"


def opened(data=None, view=None):
    page = AppTest.from_file(str(ROOT / "pages" / "data.py"), default_timeout=60).run()
    if data:
        page.sidebar.selectbox(key="data").set_value(data).run()
    return show(page, view) if view else page


def show(page, view):
    page.button_group(key="data_view").set_value(view).run()
    assert not page.exception
    return page


def upload(page, name, content):
    page.file_uploader(key="data_upload").set_value((name, content, "application/octet-stream")).run()
    assert not page.exception
    return page


@pytest.mark.parametrize("name", SHIPPED)
def test_every_view_of_what_ships(name):
    page, recordings = opened(name), load_dataset(name)
    numbers = {metric.label: metric.value for metric in page.metric}
    assert numbers["People"] == str(len(set(recordings.subjects)))
    assert numbers["Sequences"] == f"{len(recordings):,}"
    assert numbers["Rate"] == f"{recordings.rate:g} Hz"
    assert DATASETS[name].licence in " ".join(text.value for text in page.main.caption).replace("\\", "")
    for view in ("Sequences", "Split", "Recipe"):
        show(page, view)
        assert not page.error
        assert len(figures_on(page)) == (2 if view == "Recipe" else 1)
    assert ("simulated" in name) == ("SIMULATED" in page.sidebar.caption[0].value)


def test_the_split_on_screen_is_that_of_the_core():
    page, recordings = opened("eye-simulated", "Split"), load_dataset("eye-simulated")
    for seed in (0, 3):
        page.number_input(key="data_seed").set_value(seed).run()
        wanted = split_dataset(get_dataset("eye-simulated"), recordings, seed).table()
        shown = next(frame.value for frame in page.dataframe if "part" in frame.value)
        assert shown.to_dict("list") == wanted[["part", "subjects", "sequences", "stimuli"]].to_dict("list")


def test_the_split_map_holds_every_sequence():
    import pandas as pd

    table = pd.DataFrame({"subject": list("aabbc"), "stimulus": list("xyxyx"), "sequences": [1, 2, 3, 4, 5],
                          "part": ["train", "left out", "left out", "test", "validation"]})
    heat = split_map(table, {"a": "Ada (a)", "b": "Bo (b)", "c": "Cy (c)"}).data[0]
    assert heat.y == ("Ada (a)", "Cy (c)", "Bo (b)"), "by their names"
    assert heat.x == ("x", "y")
    found = heat.customdata[..., 1][~np.isnan(heat.z.astype(float))]
    assert sum(found) == 15


def test_people_sequences_channels_and_zoom():
    page = opened("gait-hapt-30", "Sequences")
    page.selectbox(key="data_one").set_value("07").run()
    page.selectbox(key="data_one_sequence").set_value(page.selectbox(key="data_one_sequence").options[3]).run()
    page.slider(key="data_stretch").set_value((2.0, 4.0)).run()
    page.multiselect(key="data_channels").set_value(["gyro_z"]).run()
    assert not page.exception
    figure = str(figures_on(page)[0])
    assert "(07)" in figure
    assert "gyro_z" in figure
    page.sidebar.selectbox(key="data").set_value("speech-vowels-9").run()      # neither person nor channel fits
    assert not page.exception
    page.multiselect(key="data_channels").set_value([]).run()
    assert "Choose a channel" in page.info[0].value


def test_the_recipe_before_and_after():
    page = opened("gait-hapt-30", "Recipe")
    page.slider(key="data_seconds").set_value(2.0).run()
    page.slider(key="data_keep").set_value(3).run()
    recordings = load_dataset("gait-hapt-30")
    fitted = replace(get_dataset("gait-hapt-30").recipe(), seconds=2.0, keep=3).fit(split_dataset(
        get_dataset("gait-hapt-30"), recordings).train)
    seen = fitted.apply(recordings.select(index=[int(np.flatnonzero(recordings.subjects == "01")[0])]))
    assert f"{len(seen)} sequences, {len(seen.sequences[0]) / seen.rate:.2f} s, 6 channels at 50 Hz" in " ".join(
        text.value for text in page.markdown)
    page.slider(key="data_piece").set_value(len(seen)).run()
    assert not page.exception


def test_the_eeg_recipe_is_the_presets_until_a_step_is_taken_out():
    page = opened("eeg-simulated", "Recipe")

    def options():
        table = page.main.table[-1].value.set_index("option")["value"]
        return {name: table[name] for name in ("change", "whiten", "equalise", "compress")}

    assert options() == {name: str(value) for name, value in preset("quick", "eeg").recipe.items()}
    page.button_group(key="data_steps").set_value(["Whitened"]).run()
    assert not page.exception
    assert options() == {"change": "False", "whiten": "True", "equalise": "False", "compress": "none"}


def test_every_option_of_every_recipe_has_a_meaning():
    assert {field.name for recipe in RECIPES.values() for field in fields(recipe)} == set(MEANING)


def test_a_link_to_a_set_that_is_not_there():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.session_state["data"] = "own:../../etc"
    page.run().switch_page("pages/data.py").run()
    assert not page.exception
    assert page.sidebar.selectbox(key="data").value == "gait-hapt-30"


def test_an_upload_is_reported_chosen_and_used():
    page = opened(view="Your own")
    made = tiny_recordings(people=4, each=6)
    few = Recordings([*made.sequences, made.sequences[0] + 1], [*made.subjects, "*bob*"], made.channels, made.rate,
                     [*made.stimuli, "s0"])
    upload(page, "my walk.npz", tiny_npz(few))
    assert not page.error
    assert page.sidebar.selectbox(key="data").value == "own:my-walk"
    assert "5 people, 25 sequences" in " ".join(text.value for text in page.markdown).replace("\\", "")
    assert page.warning[0].value.replace("\\", "") == "\n\n".join(
        f"{said[0].upper()}{said[1:]}." for said in remarks(few))
    assert "\\*bob\\*" in page.warning[0].value
    table = page.main.dataframe[-1].value.set_index("subject")["use"]
    assert table["*bob*"] == "nothing to compare with"
    assert table["p0"] == "trains and is tested"
    page.selectbox(key=next(box.key for box in page.selectbox if box.key.startswith("data_domain"))
                   ).set_value("eeg").run()
    for view in ("People", "Sequences", "Split", "Recipe"):
        show(page, view)
        assert not page.error
    assert "eeg recipe" in " ".join(text.value for text in page.markdown)
    assert [row.split()[0] for row in page.main.table[-1].value["option"]] == [
        field.name for field in fields(RECIPES["eeg"])]
    assert split(few).table()["subjects"].tolist() == show(page, "Split").main.dataframe[-1].value["subjects"].tolist()
    assert "own:my-walk" not in opened().sidebar.selectbox(key="data").options, "it is nobody else's"
    show(page, "Your own")
    next(button for button in page.button if button.label == "Remove").click().run()
    assert not page.exception
    assert page.sidebar.selectbox(key="data").value == "gait-hapt-30"


def test_a_csv_that_does_not_say_its_rate():
    page = opened(view="Your own")
    upload(page, "walk.csv", b"subject,sequence,x\nann,1,0.5\nann,1,0.7\nbob,1,0.2\n")
    assert "rate" in page.error[0].value
    page.number_input(key="data_rate").set_value(50.0).run()
    assert not page.error
    assert "50 Hz" in " ".join(text.value for text in page.markdown)


BAD = {
    "wrong type": ("notes.npz", b"dear diary"),
    "empty": ("empty.csv", b""),
    "NaN": ("nan.npz", tiny_npz(values=np.full_like(np.concatenate(tiny_recordings().sequences), np.nan))),
    "pickled": ("pickled.npz", tiny_npz(subjects=tiny_recordings().subjects.astype(object))),
    "path": ("../../walk.npz", tiny_npz()),
    "hidden": (".npz", tiny_npz()),
    "no recording": ("walk.edf", b"0       " * 40),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_upload_is_one_sentence(kind):
    page = upload(opened(view="Your own"), *BAD[kind])
    assert len(page.error) == 1
    assert "\n" not in page.error[0].value
    assert page.sidebar.selectbox(key="data").value == "gait-hapt-30"
    upload(page, "good.npz", tiny_npz())                          # and the page goes on
    assert not page.error


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(ui.library.data, "MAX_BYTES", 1000)
    page = upload(opened(view="Your own"), "walk.npz", tiny_npz())
    assert "more than the 1000 bytes" in page.error[0].value.replace("\\", "")
    monkeypatch.setattr(ui.library.data, "MAX_BYTES", 2**20)
    monkeypatch.setattr(ui.library.data, "MAX_FILES", 1)
    upload(page, "one.npz", tiny_npz())
    assert not page.error
    assert "remove one first" in upload(page, "two.npz", tiny_npz()).error[0].value


def test_uploads_have_a_total(monkeypatch):
    """Of a session, and of all; what a session held is free again when it is gone."""
    gc.collect()
    each = bytes_of(tiny_recordings())
    monkeypatch.setattr(totals, "VALUES_BYTES_SESSION", int(1.5 * each))
    monkeypatch.setattr(totals, "VALUES_BYTES", int(2.5 * each) + sum(map(bytes_of, totals._held)))
    page = upload(opened(view="Your own"), "one.npz", tiny_npz())
    assert not page.error
    assert "session keeps at most" in upload(page, "two.npz", tiny_npz()).error[0].value
    upload(page, "one.npz", tiny_npz())
    assert not page.error, "in place of the one of that name"
    gc.collect()
    second = upload(opened(view="Your own"), "one.npz", tiny_npz())
    assert not second.error
    third = upload(opened(view="Your own"), "one.npz", tiny_npz())
    assert "of all visitors together" in third.error[0].value
    del second, page
    gc.collect()
    upload(third, "again.npz", tiny_npz())
    assert not third.error


def test_one_person_alone_is_shown_but_not_split():
    page = upload(opened(view="Your own"), "ann.npz", tiny_npz(tiny_recordings(people=1)))
    assert not page.error
    assert "two subjects" in show(page, "Split").info[0].value
    assert "two subjects" in show(page, "Recipe").error[0].value
    assert not show(page, "Sequences").error


class Slow(SimpleHTTPRequestHandler):
    """Sends a file so slowly that it takes a minute, until ``go`` is set."""

    go = threading.Event()

    def copyfile(self, source, outputfile):
        while block := source.read(2**13):
            outputfile.write(block)
            self.go.wait(0.05)

    def log_message(self, *args):
        pass


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A server with the archive of a small set, which is registered with that address."""
    official, served = tmp_path / "official", tmp_path / "served"
    official.mkdir()
    served.mkdir()
    BUILDERS["ipol-gait"](official)
    (official / "filler.bin").write_bytes(np.random.default_rng(0).bytes(2**23))
    shutil.make_archive(str(served / "GaitData"), "zip", official)
    Slow.go.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Slow, directory=served))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/GaitData.zip"
    monkeypatch.setitem(DATASETS, "ipol-gait", replace(DATASETS["ipol-gait"], downloads=(url,), size="8 MB"))
    yield url
    Slow.go.set()
    server.shutdown()
    thread.join()
    server.server_close()


def until(page, phases):
    job = _started()[0]["ipol-gait"]
    for _ in range(400):
        if job.phase in phases:
            return page.run()
        time.sleep(0.05)
    raise AssertionError(f"still {job.phase}")


def test_a_download_is_watched_stopped_resumed_and_used(address):
    page = opened("ipol-gait")
    assert "not on this computer yet" in " ".join(text.value for text in page.markdown)
    page.button(key="data_download").click().run()
    assert not page.exception
    job = _started()[0]["ipol-gait"]
    again = opened("ipol-gait")                               # another session sees the same download
    assert again.get("progress")
    page.button(key="data_stop").click().run()
    until(page, ["stopped"])
    assert page.button(key="data_download").label == "Go on with the download"
    Slow.go.set()
    page.button(key="data_download").click().run()
    assert _started()[0]["ipol-gait"] is not job
    until(page, ["done"])
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric}["People"] == "2"
    assert "ipol-gait" in ui.library.data.available_data()


@pytest.mark.parametrize(("path", "words"), [("nothing-here.zip", "answered 404"), (None, "cannot be reached")])
def test_a_download_that_fails_is_one_sentence(address, monkeypatch, path, words):
    url = address.rpartition("/")[0] + f"/{path}" if path else "http://127.0.0.1:9/GaitData.zip"
    monkeypatch.setitem(DATASETS, "ipol-gait", replace(DATASETS["ipol-gait"], downloads=(url,)))
    page = opened("ipol-gait")
    page.button(key="data_download").click().run()
    until(page, ["failed"])
    assert not page.exception
    assert words in page.error[0].value
    assert "\n" not in page.error[0].value
    assert page.button(key="data_download").label == "Try again"


def test_by_hand_and_sizes(cache):
    page = opened("diem")
    assert "no direct download" in page.info[0].value
    BUILDERS["diem"](_made(cache / "diem"))
    page.button(key="data_look_again").click().run()
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric}["People"] == "2"
    assert all(expected(dataset) > 2**19 for dataset in DATASETS.values() if dataset.downloads)
    job = Download(replace(DATASETS["hapt"], size="1 MB"))
    job.started -= 10
    _made(cache / "hapt").joinpath("x.zip.part").write_bytes(bytes(2**19))
    assert job.progress() == (0.5, "512 kB of about 1 MB, about 10 s left")


def _made(folder):
    folder.mkdir(parents=True)
    return folder


def test_thinned_keeps_every_peak_and_the_order():
    random = np.random.default_rng(0)
    for length in (1, 50, 51, 999, 12345):
        values = random.normal(size=(length, 3)).astype(np.float32)
        samples, thin = thinned(values, 50)
        assert len(samples) == len(thin) <= 50
        assert (np.diff(samples) >= 0).all()
        np.testing.assert_array_equal(thin.min(axis=0), values.min(axis=0))
        np.testing.assert_array_equal(thin.max(axis=0), values.max(axis=0))


def test_remarks():
    assert remarks(tiny_recordings()) == []
    one = Recordings([np.zeros((5, 2))], ["ann"], ("x", "y"), 10)
    said = " ".join(remarks(one))
    for words in ("one person alone", "1 of 1 people", "single sequence", "shorter than 16", "2 of 2 channels never"):
        assert words in said
