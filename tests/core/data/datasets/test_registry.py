"""Every registered data set: its declaration, its reader on official files that the tests write, and damage."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

from qpwl_core.data.datasets import DATASETS, datasets_table, get_dataset, load_dataset
from qpwl_core.data.domains import DOMAINS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.preprocessing import RECIPES
from tests.support.official_files import BUILDERS, BY_PATH, TOLERANCE

OFFICIAL = [name for name, dataset in DATASETS.items() if not dataset.shipped]
SHIPPED = [name for name, dataset in DATASETS.items() if dataset.shipped]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "official").mkdir()
    return tmp_path / "official"


def check(recordings, made, name):
    dataset = get_dataset(name)
    assert recordings.channels == dataset.channels
    assert recordings.rate == dataset.rate
    assert list(zip(recordings.subjects, recordings.stimuli, strict=True)) == [key[:2] for key in made]
    for values, wanted in zip(recordings.sequences, made.values(), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-6, atol=TOLERANCE.get(name, 1e-7))
    assert recordings.info["name"] == name
    assert recordings.info["licence"] == dataset.licence


def sentence(error):
    """The message is one line, and not that of a library."""
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 700
    return text


@pytest.mark.parametrize("name", DATASETS)
def test_declaration_is_whole(name):
    dataset = DATASETS[name]
    assert dataset.name == name
    assert re.fullmatch(r"[a-z0-9-]+", name)
    assert dataset.domain in DOMAINS
    assert isinstance(dataset.recipe(), RECIPES[dataset.domain])
    assert all((dataset.title, dataset.licence, dataset.citation, dataset.url, dataset.size, dataset.example))
    assert dataset.subjects > 1
    assert dataset.rate > 0
    assert len(set(dataset.channels)) == len(dataset.channels) > 0
    assert bool(dataset.train_subjects) == bool(dataset.test_subjects)
    if not dataset.shipped:
        assert dataset.url.startswith("https://")
        assert re.compile(dataset.pattern).groupindex
        assert name in BUILDERS, "a new data set wants a builder in official_files.py"


@pytest.mark.parametrize(("name", "train", "test"), [("diem", 105, 105), ("ltmm", 36, 35), ("uci-eeg-full", 61, 60)])
def test_sizes_of_the_paper(name, train, test):
    assert (DATASETS[name].train_subjects, DATASETS[name].test_subjects) == (train, test)
    assert DATASETS[name].stimuli_disjoint == (name == "diem")


@pytest.mark.parametrize("name", OFFICIAL)
def test_reads_official_files(name, folder):
    made = BUILDERS[name](folder)
    check(get_dataset(name).read(folder), made, name)
    check(load_dataset(name, folder), made, name)


@pytest.mark.parametrize("name", [name for name in OFFICIAL if name not in BY_PATH])
@pytest.mark.parametrize("kind", ["zip", "tar.gz", "nested", "beside"])
def test_reads_archives_without_unpacking(name, kind, folder, tmp_path):
    made = BUILDERS[name](folder)
    packed = tmp_path / "packed"
    packed.mkdir()
    if kind == "beside":                                     # the archive and what came out of it
        shutil.copytree(folder, packed, dirs_exist_ok=True)
    form = {"zip": "zip", "beside": "zip", "tar.gz": "gztar", "nested": "gztar"}[kind]
    archive = shutil.make_archive(str(packed / "official"), form, folder)
    if kind == "nested":
        with zipfile.ZipFile(packed / "outer.zip", "w") as outer:
            outer.write(archive, "inner.tar.gz")
        (packed / "official.tar.gz").unlink()
    check(get_dataset(name).read(packed), made, name)
    if kind != "beside":
        check(get_dataset(name).read(next(packed.iterdir())), made, name)
    assert not [path for path in packed.rglob("*") if path.is_file() and path.suffix not in (".zip", ".gz")] \
        or kind == "beside"


@pytest.mark.parametrize("name", BY_PATH)
def test_says_where_an_archive_must_be_unpacked(name, folder, tmp_path):
    BUILDERS[name](folder)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
    with pytest.raises(RecordingsError, match="unpack"):
        get_dataset(name).read(archive)


@pytest.mark.parametrize("name", OFFICIAL)
def test_says_what_is_wanted_of_an_empty_or_missing_folder(name, folder):
    with pytest.raises(RecordingsError) as error:
        get_dataset(name).read(folder)
    assert "official" in sentence(error)
    assert DATASETS[name].url in sentence(error)
    with pytest.raises(RecordingsError, match="not there"):
        get_dataset(name).read(folder / "nowhere")


@pytest.mark.parametrize(("name", "damage"), [
    (name, damage) for name in OFFICIAL for damage in ("empty", "garbage", "binary", "nan", "half a line")
    if damage != "nan" or name not in (*BY_PATH, "uci-eeg-small", "uci-eeg-full")])      # those are not plain tables
def test_damaged_files_give_one_sentence(name, damage, folder):
    BUILDERS[name](folder)
    pattern = re.compile(DATASETS[name].pattern)
    victim = sorted(path for path in folder.rglob("*") if path.is_file() and pattern.fullmatch(path.name))[0]
    old = victim.read_bytes()
    new = {"empty": b"", "garbage": b"what is this\nI do not know\n", "binary": bytes(range(128, 256)) * 20,
           "nan": old.replace(old.split()[-1], b"nan"), "half a line": old[:len(old) * 2 // 3]}[damage]
    victim.write_bytes(new)
    if damage == "empty" and victim.suffix == ".gz":
        assert get_dataset(name).read(folder).info["empty_files"] == "2"   # the source itself has empty ones
        return
    with pytest.raises(RecordingsError) as error:
        get_dataset(name).read(folder)
    assert victim.name in sentence(error) or victim.stem in sentence(error)


@pytest.mark.parametrize("name", OFFICIAL)
def test_says_what_to_download_when_it_is_not_there(name, cache):
    with pytest.raises(RecordingsError) as error:
        load_dataset(name)
    text = sentence(error)
    assert DATASETS[name].url in text
    assert str(cache / name) in text


def test_cache_is_read_and_kept_as_one_file(cache):
    folder = cache / "ipol-gait"
    folder.mkdir(parents=True)
    made = BUILDERS["ipol-gait"](folder)
    assert get_dataset("ipol-gait").state == "downloaded"
    check(load_dataset("ipol-gait"), made, "ipol-gait")
    assert (cache / "ipol-gait.npz").exists()
    check(load_dataset("ipol-gait"), made, "ipol-gait")
    (folder / "4-2.csv").unlink()
    (folder / "7-1.csv").write_bytes((folder / "152-1.csv").read_bytes())   # newer than the kept file: read again
    kept = (cache / "ipol-gait.npz").stat().st_mtime
    import os

    os.utime(folder / "7-1.csv", (kept + 5, kept + 5))
    assert "7-1" in load_dataset("ipol-gait").stimuli


def test_unknown_name():
    with pytest.raises(RecordingsError, match="there is no data set 'nope'; there are gait-hapt-30"):
        get_dataset("nope")


def test_table_lists_everything(cache):
    table = datasets_table()
    assert table["name"].tolist() == list(DATASETS)
    state = table.set_index("name")["state"]
    assert state["gait-hapt-30"] == "shipped"
    assert state["diem"] == "by hand"
    assert state["ltmm"] == "downloadable"
    (cache / "ltmm").mkdir(parents=True)
    (cache / "ltmm" / "CO001.dat.part").touch()
    assert get_dataset("ltmm").state == "downloadable"
    (cache / "ltmm" / "CO001.hea").touch()
    assert get_dataset("ltmm").state == "downloaded"
    (cache / "ltmm" / ".partial").touch()
    assert get_dataset("ltmm").state == "downloadable"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_sets_load_as_declared(name):
    dataset = get_dataset(name)
    recordings = load_dataset(name)
    assert recordings.channels == dataset.channels
    assert recordings.rate == dataset.rate
    assert len(np.unique(recordings.subjects)) == dataset.subjects
    assert recordings.info["name"] == name
    assert recordings.simulated == ("simulated" in name)
    assert dataset.fetch() == dataset.fetch(progress=False)


def test_importing_the_registry_is_quick():
    heavy = "import sys, qpwl_core.data.datasets, qpwl_core.data.preprocessing, qpwl_core.data.splits; " \
            "print([m for m in ('torch', 'mne', 'wfdb', 'pooch', 'pandas', 'scipy.signal') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_uci_full_nests_as_the_source_does(folder, tmp_path):
    """eeg_full.tar holds co2a0000364.tar.gz, which holds the trials, and the site packs that into a zip."""
    made = BUILDERS["uci-eeg-full"](folder)
    for subject in ("co2a0000364", "co3c0000402"):
        shutil.make_archive(str(tmp_path / subject), "gztar", folder, subject)
    with tarfile.open(tmp_path / "eeg_full.tar", "w") as tar:
        for subject in ("co2a0000364", "co3c0000402"):
            tar.add(tmp_path / f"{subject}.tar.gz", f"{subject}.tar.gz")
    with zipfile.ZipFile(tmp_path / "eeg+database.zip", "w") as site:
        site.write(tmp_path / "eeg_full.tar", "eeg_full.tar")
    check(get_dataset("uci-eeg-full").read(tmp_path / "eeg+database.zip"), made, "uci-eeg-full")
