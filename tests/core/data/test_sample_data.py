"""What ships in sample_data/: every file listed with its checksum, real values untouched."""

import hashlib
import re

import numpy as np
import pytest

from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.loading import load_recordings
from tests.support.places import ROOT

SAMPLES = ROOT / "sample_data"
FILES = sorted(path.name for path in SAMPLES.glob("*.npz"))
README = (SAMPLES / "README.md").read_text(encoding="utf-8")


def test_all_that_ships_is_registered():
    assert sorted(dataset.shipped for dataset in DATASETS.values() if dataset.shipped) == FILES


@pytest.mark.parametrize("file", FILES)
def test_checksum_licence_and_counts_stand_in_the_readme(file):
    recordings = load_recordings(SAMPLES / file)
    assert f"{hashlib.sha256((SAMPLES / file).read_bytes()).hexdigest()}  {file}" in README
    row = re.search(rf"(?m)^\| `{file}` .*$", README).group()
    assert row.endswith(f"| {recordings.info['licence']} |")
    assert ("simulated" in row) == recordings.simulated == ("simulated" in file)
    assert f"({len(recordings)})" in row
    assert f"| {len(np.unique(recordings.subjects))} ×" in row
    assert (SAMPLES / file).stat().st_size < 6e6
    if not recordings.simulated:
        assert recordings.info["source"] in row
        assert recordings.info["citation"]


@pytest.mark.shared
@pytest.mark.parametrize("file", [name for name in FILES if "simulated" not in name])
def test_real_values_are_as_they_came(file, shared_data):
    with np.load(SAMPLES / file) as ours, np.load(shared_data / file) as source:
        assert set(ours.files) - {"info"} == set(source.files)
        for name in source.files:
            np.testing.assert_array_equal(ours[name], source[name])
