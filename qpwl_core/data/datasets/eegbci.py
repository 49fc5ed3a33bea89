"""EEGBCI: 109 people at rest, eyes open and eyes closed, 64 channels at 160 Hz (PhysioNet, through mne)."""

from __future__ import annotations

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.errors import RecordingsError

RUNS = (1, 2)           # one minute with eyes open, one with eyes closed; the other twelve would take 6 GB of memory
SECONDS = 10            # a minute is cut into windows, so that a person has several sequences
ELECTRODES = """FC5 FC3 FC1 FCz FC2 FC4 FC6 C5 C3 C1 Cz C2 C4 C6 CP5 CP3 CP1 CPz CP2 CP4 CP6 Fp1 Fpz Fp2 AF7 AF3 AFz
AF4 AF8 F7 F5 F3 F1 Fz F2 F4 F6 F8 FT7 FT8 T7 T8 T9 T10 TP7 TP8 P7 P5 P3 P1 Pz P2 P4 P6 P8 PO7 PO3 POz PO4 PO8 O1 Oz O2
Iz"""
CHANNELS = tuple(ELECTRODES.split())


def read(dataset, folder):
    """A file is one run in EDF. Values in µV; the stimulus is the run (R01), so windows of a run share it.

    A few people (88, 92, 100) were recorded at another rate. They are left out, not resampled: a person must not be
    known by what a resampler leaves. ``info`` names them.
    """
    other, sequences = {}, []
    for member in sorted(dataset.members(folder), key=lambda member: member.base):
        subject, run = member.match["subject"], member.match["run"]
        values, rate = _run(member.loose())
        if abs(rate - dataset.rate) > 1e-6:
            other[subject] = f"{subject} ({rate:g} Hz)"
            continue
        window = round(SECONDS * rate)
        sequences += [(subject, run, values[i:i + window]) for i in range(0, len(values) - window + 1, window)]
    if not sequences:
        raise RecordingsError(f"{shown(folder)} holds no run of {SECONDS} s or more at {dataset.rate:g} Hz")
    return dataset.recordings(sequences, left_out=", ".join(other.values()) or "nobody")


def _run(path):
    """Values (T, 64) in µV and the rate of one EDF file."""
    from qpwl_core.data.loading import load_recordings

    run = load_recordings(path, lazy=False)
    known = {name.upper(): name for name in CHANNELS}
    names = [known.get(name.strip(".").upper(), name) for name in run.channels]  # official: Fc5., Cz..
    missing = [name for name in CHANNELS if name not in names]
    if missing:
        raise RecordingsError(f"{shown(path.name)} lacks the channel {missing[0]} of EEGBCI")
    return run.sequences[0][:, [names.index(name) for name in CHANNELS]], run.rate


def fetch(dataset, folder, progress):
    """mne's own fetcher: it knows the checksums and skips what is there."""
    import mne
    import pooch
    from tqdm import tqdm

    pooch.get_logger().setLevel("WARNING")  # else it prints a line per file
    base = dataset.downloads[0]
    for subject in tqdm(range(1, dataset.subjects + 1), desc="EEGBCI, people", disable=progress is not True):
        if callable(progress):
            progress(0)  # mne does not say how many bytes it fetched
        try:
            mne.datasets.eegbci.load_data(subject, RUNS, path=folder, update_path=False, base_url=base, verbose="ERROR")
        except Exception as error:  # requests' and pooch's errors alike
            raise RecordingsError(f"S{subject:03d} could not be fetched from {base} ({type(error).__name__})") from None


EEGBCI = Dataset(
    name="eegbci", domain="eeg", title="one minute at rest with eyes open and one with eyes closed, 64 channels",
    rate=160.0, channels=CHANNELS, subjects=109, licence="ODC-BY 1.0",
    citation="Schalk, McFarland, Hinterberger, Birbaumer, Wolpaw: BCI2000. IEEE Transactions on Biomedical Engineering "
             "51(6), 2004; Goldberger et al.: PhysioBank, PhysioToolkit, and PhysioNet. Circulation 101(23), 2000",
    url="https://physionet.org/content/eegmmidb/1.0.0/", size="280 MB", example="S001/S001R01.edf",
    pattern=r"S(?P<subject>\d{3})(?P<run>R0[12])\.edf", downloads=("https://physionet.org/files/eegmmidb/1.0.0/",),
    fetcher=fetch, reader=read, info=(("units", "µV"),))
