"""mne's Raw and Epochs into Recordings and back.

mne keeps electrical channels (EEG, EOG, ...) in volts, Recordings keep them in microvolts: the bridge scales them by a
million on the way, all others pass as they are. Trigger channels of mne are left out. A round trip gives the same
values back; through a .fif file, which mne writes in single precision, the last bit may differ.
"""

import numpy as np

from qpwl_core.common.bounds import VALUES_BYTES_FILE as MAX_BYTES
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.buffers import check_size, new_values
from qpwl_core.data.formats.writers import VALUE
from qpwl_core.data.recordings import BLOCK, Recordings

ELECTRICAL = ("eeg", "eog", "ecg", "emg", "seeg", "ecog", "dbs")
MICRO = 1e6


def from_raw(raw, subject=None, stimulus=None, *, lazy=None, max_bytes=MAX_BYTES) -> Recordings:
    """One sequence from an ``mne.io.Raw``.

    Without ``subject``, mne's ``subject_info`` names it (``his_id``); without ``stimulus``, an annotation that lasts as
    long as the recording does, if there is one.
    """
    if subject is None:
        subject = (raw.info["subject_info"] or {}).get("his_id")
    if not subject:
        raise RecordingsError("the raw recording names no subject (his_id in its subject_info), so pass one")
    if stimulus is None and len(raw.annotations) == 1 and raw.annotations.duration[0] >= raw.times[-1]:
        stimulus = str(raw.annotations.description[0])
    picks, scale, info = _channels(raw.info)
    check_size(raw.n_times * len(picks) * VALUE.itemsize, max_bytes)
    values = new_values(raw.n_times, len(picks), lazy)
    step = max(1, BLOCK // len(picks))
    for start in range(0, raw.n_times, step):
        stop = min(start + step, raw.n_times)
        with np.errstate(over="ignore"):
            values[start:stop] = raw.get_data(picks, start, stop).T * scale  # (T, D)
    channels = [raw.ch_names[i] for i in picks]
    return Recordings([values], [subject], channels, raw.info["sfreq"], None if stimulus is None else [stimulus], info)


def from_epochs(epochs, subjects=None, *, lazy=None, max_bytes=MAX_BYTES) -> Recordings:
    """One sequence per epoch from an ``mne.Epochs``; stimuli are the names of its events where there are several.

    ``subjects``: one name, or one per epoch; by default the column ``subject`` of the metadata. Its column ``stimulus``
    goes before the events' names.
    """
    epochs = epochs.copy().drop_bad(verbose="ERROR")  # epochs that are to be rejected are so only now
    metadata = {} if epochs.metadata is None else epochs.metadata
    if subjects is None:
        if "subject" not in metadata:
            raise RecordingsError("the epochs name no subjects (a column subject in their metadata), so pass them")
        subjects = metadata["subject"]
    subjects = [subjects] * len(epochs) if isinstance(subjects, str) else list(subjects)
    stimuli = None
    if "stimulus" in metadata:
        stimuli = list(metadata["stimulus"])
    elif len(epochs.event_id) > 1:
        names = {number: name for name, number in epochs.event_id.items()}
        stimuli = [names[number] for number in epochs.events[:, 2].tolist()]
    imitates = [str(name) for name in metadata["imitates"]] if "imitates" in metadata else None
    picks, scale, info = _channels(epochs.info)
    samples = len(epochs.times)
    check_size(len(epochs) * samples * len(picks) * VALUE.itemsize, max_bytes)
    values = new_values(len(epochs) * samples, len(picks), lazy)
    step = max(1, BLOCK // (samples * len(picks)))
    for start in range(0, len(epochs), step):
        block = epochs.get_data(picks, item=slice(start, start + step), copy=False, verbose="ERROR")  # (n, D, T)
        with np.errstate(over="ignore"):
            values[start * samples:(start + len(block)) * samples] = (
                block.transpose(0, 2, 1).reshape(-1, len(picks)) * scale)
    sequences = [values[i * samples:(i + 1) * samples] for i in range(len(epochs))]
    return Recordings(sequences, subjects, [epochs.ch_names[i] for i in picks], epochs.info["sfreq"], stimuli, info,
                      imitates)


def to_raw(recordings, i, electrical=None):
    """Sequence ``i`` as an ``mne.io.RawArray``: its subject in ``subject_info``, its stimulus an annotation.

    ``electrical``: whether the channels are EEG in microvolts; by default as ``info`` says (units µV or domain eeg).
    """
    import mne

    info, scale = _mne_info(recordings, electrical)
    values = recordings.sequences[i]
    raw = mne.io.RawArray(values.T.astype(np.float64) / scale, info, verbose="ERROR")
    raw.info["subject_info"] = {"his_id": str(recordings.subjects[i])}
    if recordings.stimuli is not None:
        raw.set_annotations(mne.Annotations(0, len(values) / recordings.rate, str(recordings.stimuli[i])))
    return raw


def to_epochs(recordings, electrical=None):
    """All sequences, equally long, as an ``mne.EpochsArray``: an event for each stimulus, subjects in the metadata.

    ``electrical``: as in ``to_raw``.
    """
    import mne
    import pandas as pd

    lengths = np.unique(recordings.lengths)
    if len(lengths) > 1:
        raise RecordingsError(f"epochs must have equally many samples, and there are {lengths[0]} to {lengths[-1]}")
    metadata = pd.DataFrame({"subject": recordings.subjects})
    if recordings.imitates is not None:
        metadata["imitates"] = recordings.imitates
    event_id, kinds = {"sequence": 1}, np.ones(len(recordings), int)
    if recordings.stimuli is not None:
        metadata["stimulus"] = recordings.stimuli
        names, kinds = np.unique(recordings.stimuli, return_inverse=True)
        event_id, kinds = {str(name): number + 1 for number, name in enumerate(names)}, kinds + 1
    events = np.column_stack([np.arange(len(recordings)) * lengths[0], np.zeros(len(recordings), int), kinds])
    info, scale = _mne_info(recordings, electrical)
    data = np.stack([values.T for values in recordings.sequences], dtype=np.float64) / scale  # (n, D, T)
    return mne.EpochsArray(data, info, events, event_id=event_id, metadata=metadata, verbose="ERROR")


def _channels(info):
    """Which of mne's channels are kept, their factors (D,), and what to note about the units."""
    kinds = info.get_channel_types()
    picks = [i for i, kind in enumerate(kinds) if kind != "stim"]
    if not picks:
        raise RecordingsError("there is no channel but triggers")
    electrical = [kinds[i] in ELECTRICAL for i in picks]
    return picks, np.where(electrical, MICRO, 1.0), {"units": "µV"} if all(electrical) else {}


def _mne_info(recordings, electrical):
    import mne

    if electrical is None:
        electrical = recordings.info.get("units") in ("µV", "μV", "uV") or recordings.info.get("domain") == "eeg"
    kind = "eeg" if electrical else "misc"
    info = mne.create_info(list(recordings.channels), recordings.rate, kind, verbose="ERROR")
    return info, MICRO if electrical else 1.0
