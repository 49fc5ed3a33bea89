"""What a study is made of, declared: sets of recordings, and presets that say which of them, with which methods."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.datasets import DATASETS, Dataset, load_dataset
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import upright
from qpwl_core.data.joining import concatenate
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split
from qpwl_core.models.config import Config, preset, with_settings
from qpwl_core.models.methods import METHODS
from qpwl_core.study.variants import variant_settings

TRAIN, TEST = 60, 40        # parts in a hundred of the people; training sets a fifth of its people aside to validate
OF_THE_PAPER = ("qp-wl", "qp-npl", "mp-npl", "qp-cls")
BEYOND = ("meanstd-npl", "attentive-npl", "pswe-npl", "qp-wl-pyramid")
NOTHING_LEARNED = ("untrained", "untrained-cosine")
AGAINST_FORGERS = ("qp-wl-pyramid", "untrained", "untrained-cosine", "dtw")
SCREEN = [1280.0, 720.0, 0.40, 0.225, 0.45]     # of GazeCom: px wide, px high, m wide, m high, m away


@dataclass(frozen=True)
class StudySet:
    """Recordings to train and test on. Adding a set is adding a row."""

    name: str
    title: str
    registered: str                   # the data set whose terms apply
    stands_for: str                   # the domain of the paper that it is held against: eye, gait, eeg, or none
    file: str = ""                    # in the folder of raw data; none where the data set ships
    joined: tuple[tuple[str, str], ...] = ()      # more (data set, file), whose people come along, each under its name
    aligned: bool = False             # its sequences are short enough for dynamic time warping
    fixed: bool = False               # simplified to one gaze point and one length, as Jäger et al. 2019 need it
    changes: dict = field(default_factory=dict)   # of the preset's Config
    ships: tuple[int, int, int] | None = None     # at most so many people to test, to calibrate, sequences of each

    @property
    def dataset(self) -> Dataset:
        return DATASETS[self.registered]

    @property
    def domain(self) -> str:
        return self.dataset.domain

    @property
    def simulated(self) -> bool:
        return dict(self.dataset.info).get("simulated") == "yes"

    @property
    def beside(self) -> str | None:
        """The domain of the paper whose figures stand beside ours: none where the data are simplified or simulated."""
        return None if self.fixed or self.simulated else self.stands_for or None

    @property
    def terms(self) -> dict[str, str]:
        return {what: " · ".join(dict.fromkeys(getattr(DATASETS[name], what) for name, _ in self.files))
                for what in ("licence", "citation", "url")}

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Every data set of it, with its file."""
        return (self.registered, self.file), *self.joined

    @property
    def methods(self) -> tuple[str, ...]:
        """What it is studied with where nothing else is said."""
        if self.fixed:
            return "qp-wl", "jaeger-2019"
        if self.domain == "signature":
            return OF_THE_PAPER + AGAINST_FORGERS
        return OF_THE_PAPER + BEYOND + NOTHING_LEARNED + (("dtw",) if self.aligned else ())

    def check(self, folder: Path) -> None:
        """One sentence where the file is missing."""
        for name, file in self.files:
            if file and not (Path(folder) / file).is_file():
                raise RecordingsError(f"{self.name} needs {file}, and {shown(folder)} has no such file; --data names "
                                      f"the folder of raw recordings (they come from {DATASETS[name].url})")

    def load(self, folder: Path, people: int | None = None) -> Recordings:
        """The recordings, of all people or of so many; raw ones lie in ``folder``."""
        self.check(folder)
        parts = [_of_file(name, folder, file) for name, file in self.files]
        recordings = parts[0] if not self.joined else concatenate(parts, [f"{name}-" for name, _ in self.files])
        facts = {"name": " + ".join(name for name, _ in self.files), "domain": self.domain,
                 "licence": self.terms["licence"], "citation": self.terms["citation"], "source": self.terms["url"]}
        recordings = replace(recordings, info=recordings.info | facts)
        if self.fixed:
            recordings = simplified(recordings)
        names = np.random.default_rng(0).permutation(recordings.people)
        return recordings if people is None else recordings.of_people(names[:people].tolist())

    def parts(self, recordings: Recordings, seed: int) -> tuple[Recordings, Recordings]:
        """People to learn from (training sets some aside by itself) and people to test on."""
        parts = split(recordings, TRAIN, TEST, validation=0, stimuli_disjoint=self.dataset.stimuli_disjoint, seed=seed)
        return parts.train, parts.test


def _of_file(name: str, folder: Path, file: str) -> Recordings:
    """A registered set, from a file or as it ships; ink is turned the right way up, as all tablets of a set must be."""
    recordings = load_recordings(Path(folder) / file) if file else load_dataset(name)
    if DATASETS[name].domain != "signature":
        return recordings
    return upright(replace(recordings, info=dict(DATASETS[name].info) | recordings.info))


def simplified(recordings: Recordings) -> Recordings:
    """As in the paper's comparison with Jäger et al.: one gaze point, no pupil, pieces as long as the shortest.

    The gaze point is the mean of both eyes where there are two. A piece keeps the stimulus of its sequence.
    """
    names = recordings.channels
    axes = {axis: [i for i, name in enumerate(names) if name.split("_")[-2:][0] == axis] for axis in "xy"}
    kept = [i for i, name in enumerate(names) if name == "confidence"]
    length = int(recordings.lengths.min())
    sequences, origin = [], []
    for i, x in enumerate(recordings.sequences):
        gaze = np.column_stack([x[:, axes["x"]].mean(1), x[:, axes["y"]].mean(1), x[:, kept]])
        pieces = [gaze[start:start + length] for start in range(0, len(gaze) - length + 1, length)]
        sequences += pieces
        origin += [i] * len(pieces)
    channels = ("x_px", "y_px", *(names[i] for i in kept))
    return Recordings(sequences, recordings.subjects[origin], channels, recordings.rate,
                      None if recordings.stimuli is None else recordings.stimuli[origin], recordings.info)


def _fixed(of: StudySet, title: str, **recipe) -> StudySet:
    return replace(of, name=f"{of.name}-fixed", title=title, fixed=True, ships=None,
                   changes={"recipe": {"validity": False, "fine": False, **recipe}})


EYE = StudySet("eye-gazecom", "Eye · GazeCom", "gazecom", "eye", "eye-gazecom-40.npz", ships=(12, 4, 8))
EYE_SIMULATED = StudySet("eye-simulated", "Eye · simulated", "eye-simulated", "eye")
SETS: dict[str, StudySet] = {each.name: each for each in (
    EYE,
    StudySet("gait-ipol", "Gait · IPOL", "ipol-gait", "gait", "gait-ipol-140.npz", ships=(13, 4, 10)),
    StudySet("gait-hapt", "Gait · HAPT", "gait-hapt-30", "gait", aligned=True, ships=(12, 4, 11)),
    StudySet("eeg-uci", "EEG · UCI", "uci-eeg-full", "eeg", "eeg-uci-28.npz", aligned=True, ships=(11, 3, 12)),
    StudySet("signature-susig", "Signatures · SUSIG and SVC2004", "susig-visual", "", "sign-susig-visual-74.npz",
             joined=(("susig-blind", "sign-susig-blind-90.npz"), ("svc2004", "sign-svc2004-28.npz")),
             ships=(12, 4, 10)),
    _fixed(EYE, "Eye · GazeCom, simplified, fixed length", screen=SCREEN),
    EYE_SIMULATED,
    StudySet("eeg-simulated", "EEG · simulated", "eeg-simulated", "eeg"),
    _fixed(EYE_SIMULATED, "Eye · simulated, simplified, fixed length"))}


@dataclass(frozen=True)
class Preset:
    """Which sets, methods (None: those of each set) and seeds; how many people; changes of the quick Config."""

    sets: tuple[str, ...]
    methods: tuple[str, ...] | None
    seeds: tuple[int, ...]
    people: int | None = None
    changes: dict = field(default_factory=dict)
    what: str = ""


PRESETS = {
    "quick": Preset(("eye-gazecom", "eye-gazecom-fixed", "gait-ipol", "eeg-uci", "gait-hapt",
                     "signature-susig"), None, tuple(range(10)),
                    what="the quick preset of each domain with what was tuned, on all people"),
    "smoke": Preset(("eye-simulated", "eye-simulated-fixed", "gait-hapt", "eeg-simulated"), ("qp-wl", "mp-npl"), (0, 1),
                    people=24, what="a trial of the machinery: 24 people, a tiny network, 30 steps; its figures mean "
                                    "nothing",
                    changes={"filters": 8, "layers": 3, "points": 8, "pairs": 8, "iterations": 30, "validate_every": 15,
                             "width": 0.05, "patience": 0}),
}


@dataclass(frozen=True)
class Cell:
    """One training: a set, a method, a seed (of the split, of the training and of the draws), in a preset.

    ``variant``: what it changes, such as ``points-4`` or ``try-3`` (`variants`); nothing in the study's main table.
    """

    set: str
    method: str
    seed: int
    preset: str = "quick"
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.set}-{self.method}-{self.seed}" + (f"-{self.variant}" if self.variant else "")

    @property
    def config(self) -> Config:
        """What is trained: the quick preset (of the variant ``paper``, the paper's) with what was tuned and changed."""
        studied, base = SETS[self.set], "paper" if self.variant == "paper" else "quick"
        quick = preset(base, studied.domain, tuned=False)
        changes = {"method": self.method, "seed": self.seed, **studied.changes}
        changes["recipe"] = quick.recipe | studied.changes.get("recipe", {})
        changes |= PRESETS[self.preset].changes
        if base == "quick":
            tuned = self.set if self.preset == "quick" else ""       # what was tuned holds for the real study alone
            changes = with_settings(changes, variant_settings(self.variant, tuned, studied.domain, self.method))
        if METHODS[self.method].network == "jaeger":
            changes["crop"] = 0.0                # its length is fixed: whole sequences, all of one length
        return preset(base, studied.domain, tuned=False, **changes)

    @property
    def command(self) -> str:
        """What makes exactly this model; the number of threads matters to the last bits of the weights."""
        variant = f" --variants {self.variant}" if self.variant else ""
        return (f"python -m qpwl_core study --preset {self.preset} --sets {self.set} --methods {self.method} "
                f"--seeds {self.seed}{variant}")


def cells_of(name: str, sets=None, methods=None, seeds=None) -> list[Cell]:
    """The cells of a preset, or of what is given instead of its sets, methods and seeds."""
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, not {name!r}")
    chosen = PRESETS[name]
    for what, given, known in (("sets", sets, SETS), ("methods", methods, METHODS)):
        for each in given or ():
            if each not in known:
                raise ValueError(f"there is no {each!r} among the {what}; there are {', '.join(known)}")
    for seed in seeds or ():
        if seed < 0:
            raise ValueError(f"seeds must be 0 or more, not {seed}")
    cells = []
    for seed in seeds or chosen.seeds:           # seed by seed, so that an early stop leaves something of every set
        for each in sets or chosen.sets:
            studied = SETS[each]
            usual = methods or (studied.methods if studied.fixed else chosen.methods or studied.methods)
            cells += [Cell(each, method, seed, name) for method in usual
                      if studied.fixed or METHODS[method].network != "jaeger"]       # which needs a fixed length
    cells = list(dict.fromkeys(cells))
    if not cells:
        raise ValueError("jaeger-2019 needs sequences of one length: add --sets eye-gazecom-fixed")
    return cells
