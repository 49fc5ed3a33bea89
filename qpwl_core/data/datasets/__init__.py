"""The registry of data sets: look one up, read it, fetch it, list them all."""

from __future__ import annotations

from pathlib import Path

from qpwl_core.common.paths import cache_folder, sample_data
from qpwl_core.common.plugins import load_plugins
from qpwl_core.common.text import quoted, shown
from qpwl_core.data.datasets import (
    diem,
    eegbci,
    gazecom,
    hapt,
    ipol_gait,
    japanese_vowels,
    ltmm,
    shipped,
    susig,
    svc2004,
    uci_eeg,
)
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings

__all__ = ["DATASETS", "Dataset", "add_dataset", "datasets_table", "get_dataset", "load_dataset"]

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (
    shipped.GAIT_HAPT_30, shipped.SPEECH_VOWELS_9, shipped.EYE_SIMULATED, shipped.EEG_SIMULATED,
    diem.DIEM, gazecom.GAZECOM, ltmm.LTMM, ipol_gait.IPOL_GAIT, hapt.HAPT,
    uci_eeg.UCI_EEG_SMALL, uci_eeg.UCI_EEG_FULL, eegbci.EEGBCI, japanese_vowels.JAPANESE_VOWELS,
    susig.VISUAL, susig.BLIND, svc2004.SVC2004)}


def get_dataset(name: str) -> Dataset:
    """The data set of this name."""
    if name not in DATASETS:
        raise RecordingsError(f"there is no data set {shown(name)}; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def load_dataset(name: str, folder=None) -> Recordings:
    """The Recordings of a data set: what ships, else the official files in ``folder``, else those in the cache.

    Reading gigabytes of official files takes minutes, so what was read from the cache is kept there as one .npz file.
    """
    dataset = get_dataset(name)
    if folder is not None:
        return dataset.read(folder)
    if dataset.state == "shipped":
        return dataset.read(sample_data())
    if dataset.shipped:
        raise dataset.not_installed()
    if dataset.state != "downloaded":
        raise dataset.instructions("it is not downloaded")
    from qpwl_core.data.loading import load_recordings

    kept: Path = cache_folder() / f"{name}.npz"
    newest = max(path.stat().st_mtime for path in dataset.folder.rglob("*"))
    if not kept.exists() or kept.stat().st_mtime < newest:
        dataset.read(dataset.folder).save(kept, compressed=False)  # so that it can be mapped into memory
    return load_recordings(kept)


def datasets_table():
    """One row per data set: name, domain, subjects, rate, channels (how many), licence, state (a DataFrame)."""
    import pandas as pd

    return pd.DataFrame([{
        "name": dataset.name, "domain": dataset.domain, "subjects": dataset.subjects, "rate": dataset.rate,
        "channels": len(dataset.channels), "licence": dataset.licence, "state": dataset.state,
    } for dataset in DATASETS.values()])


def add_dataset(dataset: Dataset) -> None:
    """Add a declaration to DATASETS: what a plugin calls."""
    if DATASETS.get(dataset.name, dataset) != dataset:
        raise ValueError(f"there is a data set {quoted(dataset.name)} already: give yours another name")
    DATASETS[dataset.name] = dataset


load_plugins()
