"""Tiny folders in the official format of each data set: what BUILDERS[name](folder) writes, it also returns.

Each builder returns {(subject, stimulus): values (T, D)} as the reader must give them, in the reader's order.
"""

import gzip

import numpy as np

from qpwl_core.data.datasets import get_dataset
from qpwl_core.data.datasets.ltmm import quiet_wfdb


def numbers(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).round(3)


def rows(values, separator=" "):
    return "".join(separator.join(f"{x:g}" for x in row) + "\n" for row in values)


def diem(folder):
    made = {}
    for i, subject in enumerate(("diem1s01", "diem2s10")):
        values = numbers(i, 20, 6) * 10 + 500
        events = np.ones((20, 2))
        events[3, 0], events[4, 1] = 0, -1                                  # a blink left, an error right
        table = np.column_stack([np.arange(1, 21), values[:, :3], events[:, 0], values[:, 3:], events[:, 1]])
        path = folder / "clip_1280x720" / "event_data" / f"{subject}.asc_{i + 7}_clip_1280x720.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rows(table, "\t"))
        values[3, 2] = values[4, 5] = 0
        made[subject, "clip_1280x720"] = values
    return made


def gazecom(folder):
    made = {}
    for i, (subject, movie) in enumerate((("AAF", "beach"), ("AAF", "bridge_1"), ("B1K", "st_petri_gate"))):
        values = numbers(i, 30, 3)
        time = np.arange(30) * 4000 + 1000
        text = "gaze 1280 720\ngeometry distance 0.45 width 0.4 height 0.225\n" + rows(np.column_stack([time, values]))
        (folder / f"{subject}_{movie}.coord").write_text(text)
        made[subject, movie] = values
    (folder / "stop_motion").mkdir()
    (folder / "stop_motion" / "AAF_golf.coord").write_text("not wanted")
    return made


def ipol_gait(folder):
    made = {}
    for i, name in enumerate(("4-2", "4-10", "152-1")):
        values = numbers(i, 25, 16)
        header = "LAV,LAX,LAY,LAZ,LRV,LRX,LRY,LRZ,RAV,RAX,RAY,RAZ,RRV,RRX,RRY,RRZ\n"
        (folder / f"{name}.csv").write_text(header + rows(values, ","))
        (folder / f"{name}.json").write_text("{}")
        made[f"{int(name.split('-')[0]):03d}", name] = values[:, [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15]]
    return made


def uci_trial(subject, trial, condition, values, names):
    text = f"# {subject}.rd\n# 120 trials, 64 chans, 416 samples 368 post_stim samples\n# 3.906000 msecs uV\n"
    text += f"# {condition}, trial {trial}\n"
    for column, name in enumerate(names):
        text += f"# {name} chan {column}\n"
        text += "".join(f"{trial} {name} {t} {x:.3f}\n" for t, x in enumerate(values[:, column]))
    return text


def uci_eeg(folder):
    names, made = get_dataset("uci-eeg-full").channels, {}
    trials = (("co2a0000364", 0, "S1 obj ", "S1 obj"), ("co2a0000364", 9, "S2 match err", "S2 match err"),
              ("co3c0000402", 2, "S2 nomatch", "S2 nomatch"))
    for i, (subject, trial, condition, stimulus) in enumerate(trials):
        values = numbers(i, 16, 64)
        (folder / subject).mkdir(exist_ok=True)
        text = uci_trial(subject, trial, condition, values, names)
        (folder / subject / f"{subject}.rd.{trial:03d}.gz").write_bytes(gzip.compress(text.encode()))
        made[subject, stimulus] = values
    (folder / "co3c0000402" / "co3c0000402.rd.005.gz").write_bytes(gzip.compress(b""))
    return made


def hapt(folder):
    raw, made, labels = folder / "RawData", {}, ""
    raw.mkdir()
    for experiment, user in ((1, 1), (2, 1), (3, 10)):
        values = numbers(experiment, 60, 6)
        (raw / f"acc_exp{experiment:02d}_user{user:02d}.txt").write_text(rows(values[:, :3]))
        (raw / f"gyro_exp{experiment:02d}_user{user:02d}.txt").write_text(rows(values[:, 3:]))
        labels += f"{experiment} {user} 5 1 9\n{experiment} {user} 1 10 29\n{experiment} {user} 3 31 60\n"
        session = 2 if experiment == 2 else 1
        made[f"{user:02d}", f"walking@session{session}"] = values[9:29]     # counted from 1, the last one included
        made[f"{user:02d}", f"downstairs@session{session}"] = values[30:60]
    (raw / "labels.txt").write_text(labels)
    return made


def japanese_vowels(folder):
    made = {}
    for part, counts in (("train", [30] * 9), ("test", [31, 35, 88, 44, 29, 24, 40, 50, 29])):
        text = ""
        for speaker, count in enumerate(counts, 1):
            for i in range(count):
                values = numbers(100 * speaker + i, 7 + i % 3, 12)
                text += rows(values) + "\n"
                made[f"speaker-{speaker}", part, i] = values
        (folder / f"ae.{part}").write_text(text)
    return {(*key[:2], i): values for i, (key, values) in enumerate(made.items())}


def ltmm(folder):
    dataset, made = get_dataset("ltmm"), {}
    for i, record in enumerate(("CO001", "FL002")):
        values = numbers(i, 60 * 100 * 3, 6) * [1, 1, 1, 20, 20, 20]
        digital = np.round(values * 200).astype(int)
        with quiet_wfdb() as wfdb:
            wfdb.wrsamp(record, fs=100, units=["g"] * 3 + ["deg/s"] * 3, sig_name=list(dataset.channels),
                        d_signal=digital, fmt=["16"] * 6, adc_gain=[200.0] * 6, baseline=[0] * 6, write_dir=str(folder))
        for window in range(3):
            made[record, "day-1", window] = digital[window * 6000:(window + 1) * 6000] / 200
    (folder / "LabWalks").mkdir()
    (folder / "LabWalks" / "CO001_base.hea").write_text("not wanted")
    (folder / "RECORDS").write_text("CO001\nFL002\nLabWalks/CO001_base\n")
    return made


def write_edf(path, values, rate, names):
    import mne

    raw = mne.io.RawArray(values.T * 1e-6, mne.create_info(list(names), rate, "eeg"), verbose="ERROR")
    raw.set_annotations(mne.Annotations([0.0], [1.0], ["T0"]))             # official runs have an annotation channel
    path.parent.mkdir(parents=True, exist_ok=True)
    mne.export.export_raw(path, raw, physical_range="channelwise", overwrite=True, verbose="ERROR")


def eegbci(folder):
    names, made = get_dataset("eegbci").channels, {}
    official = [name.capitalize() + "." * (4 - len(name)) for name in names]            # Fc5., Cz..
    for subject, rate in (("001", 160), ("088", 128), ("002", 160)):
        for run in ("R01", "R02"):
            values = numbers(int(subject), 21 * rate, 64) * 20
            write_edf(folder / f"S{subject}" / f"S{subject}{run}.edf", values, rate, official)
            if rate == 160:
                for window in range(2):
                    made[subject, run, window] = values[window * 1600:(window + 1) * 1600]
    return {key: made[key] for key in sorted(made)}


def pen_rows(seed):
    """A pen that writes two strokes with 50 ms between them: time ms, x, y, pressure, last of a stroke, (T, 5)."""
    time = np.concatenate([np.arange(30) * 10, 340 + np.arange(25) * 10])
    return np.column_stack([time, np.round(100 * numbers(seed, 55, 3)) + 3000, np.arange(55) == 29])


def even_pen(table, up):
    """What a reader makes of them: 10 ms apart, straight between the strokes, where the pen is up at ``up``."""
    even = np.arange(59) * 10
    columns = [np.interp(even, table[:, 0], column) for column in table[:, 1:4].T]
    return np.column_stack([*columns, ~np.isin(even, up)])


def susig(folder, part, files):
    made = {}
    for i, (place, subject, stimulus) in enumerate(files):
        table = pen_rows(i)
        path = folder / part / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("X, Y, TStamp, Pres., EndPts\nDataSize: 55\n" + rows(table[:, [1, 2, 0, 3, 4]]))
        made[subject, stimulus] = even_pen(table, (290, 300, 310, 320, 330))
    return made


def susig_visual(folder):
    susig(folder, "other/BlindSubCorpus", [("FORGERY/001_f_1.sig", "not", "wanted")])
    return susig(folder, "VisualSubCorpus", [
        ("GENUINE/SESSION1/001_1_1.sig", "001", "session1"), ("GENUINE/SESSION2/001_2_1.sig", "001", "session2"),
        ("GENUINE/SESSION1/002_1_1.sig", "002", "session1"), ("FORGERY/001_f_1.sig", "forger-of-001", "forgery")])


def susig_blind(folder):
    susig(folder, "VisualSubCorpus", [("FORGERY/003_f_1.sig", "not", "wanted")])
    return susig(folder, "BlindSubCorpus", [
        ("GENUINE/003_g_1.sig", "003", "session1"), ("GENUINE/004_g_1.sig", "004", "session1"),
        ("FORGERY/003_f_1.sig", "forger-of-003", "forgery")])


def svc2004(folder):
    made = {}
    for i, (name, subject, stimulus) in enumerate((
            ("U2S1", "02", "session1"), ("U2S11", "02", "session2"), ("U10S3", "10", "session1"),
            ("U10S40", "forger-of-10", "forgery"))):
        table = pen_rows(i)
        button = np.ones(55)
        button[[0, 30]] = 0                                                 # the first point of a stroke
        (folder / "Task2").mkdir(exist_ok=True)
        (folder / "Task2" / f"{name}.TXT").write_text("55\n" + rows(np.column_stack(
            [table[:, 1:3], table[:, 0] + 5000, button, numbers(i, 55, 2), table[:, 3]])))
        made[subject, stimulus] = even_pen(table, (0, 290, 300, 310, 320, 330, 340))
    return made


BUILDERS = {"diem": diem, "gazecom": gazecom, "ipol-gait": ipol_gait, "uci-eeg-small": uci_eeg, "uci-eeg-full": uci_eeg,
            "hapt": hapt, "japanese-vowels": japanese_vowels, "ltmm": ltmm, "eegbci": eegbci,
            "susig-visual": susig_visual, "susig-blind": susig_blind, "svc2004": svc2004}
BY_PATH = ("ltmm", "eegbci")                       # their libraries open files by path, so archives must be unpacked
TOLERANCE = {"ltmm": 1e-5, "eegbci": 0.05}         # EDF keeps 16 bits of each channel's range
