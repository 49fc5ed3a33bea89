"""The four sets that ship in sample_data/: two real ones under CC BY 4.0, two simulated ones."""

from __future__ import annotations

from dataclasses import replace

from qpwl_core.data.datasets import diem, hapt, japanese_vowels, uci_eeg
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.recordings import Recordings


def read(dataset, folder):
    """The shipped .npz file, its info completed from the declaration."""
    from qpwl_core.data.loading import load_recordings

    found = load_recordings(folder / dataset.shipped)
    given = {"name": dataset.name, "domain": dataset.domain, "licence": dataset.licence, "citation": dataset.citation,
             "source": dataset.url, **dict(dataset.info)}
    return Recordings(found.sequences, found.subjects, found.channels, found.rate, found.stimuli, given | found.info)


def _ships(dataset, name, title):
    return replace(dataset, name=name, title=title, shipped=f"{name}.npz", reader=read, downloads=(), size="under 6 MB",
                   example=f"sample_data/{name}.npz", pattern="", exclude="")


def _simulated(name, domain, title, rate, channels, subjects, **more):
    return Dataset(
        name=name, domain=domain, title=title, rate=rate, channels=channels, subjects=subjects, licence="CC0 1.0",
        citation="simulated by QP-WL Lab (python -m qpwl_core simulate); no person was recorded",
        url="sample_data/README.md", size="under 6 MB", example=f"sample_data/{name}.npz", shipped=f"{name}.npz",
        reader=read, info=(("simulated", "yes"),), **more)


GAIT_HAPT_30 = _ships(hapt.HAPT, "gait-hapt-30", "walking, up and down stairs, phone at the waist")
SPEECH_VOWELS_9 = _ships(japanese_vowels.JAPANESE_VOWELS, "speech-vowels-9", "one vowel pair of nine speakers, cepstra")
EYE_SIMULATED = _simulated("eye-simulated", "eye", "simulated gaze and pupil of both eyes", 30.0,
                           diem.DIEM.channels, 40, stimuli_disjoint=True)
EEG_SIMULATED = _simulated("eeg-simulated", "eeg", "simulated trials of one second, 64 channels", 256.0,
                           uci_eeg.CHANNELS, 40)
