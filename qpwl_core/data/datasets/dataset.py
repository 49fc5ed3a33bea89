"""A data set is a declaration: what it is, where it comes from, how a file maps to subject and stimulus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qpwl_core.common.paths import cache_folder, sample_data
from qpwl_core.common.text import shown
from qpwl_core.data.datasets.download import Progress, download_files
from qpwl_core.data.datasets.files import ARCHIVES, Member, members, natural
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings

PARTIAL = ".partial"          # lies in a cache folder while a download is under way or was broken off


@dataclass(frozen=True)
class Dataset:
    """One data set. ``pattern`` matches the official files' names; ``reader(dataset, folder)`` gives the Recordings."""

    name: str
    domain: str                       # one of DOMAINS, which is also the preprocessing recipe
    title: str                        # what it is, in one line
    rate: float                       # Hz
    channels: tuple[str, ...]
    subjects: int
    licence: str
    citation: str
    url: str                          # official address, for people
    size: str                         # of what is downloaded, about
    reader: Callable[[Dataset, Path], Recordings]
    example: str = ""                 # an official file, as shown to people
    pattern: str = ""                 # of a file's name, with named groups such as subject and stimulus
    exclude: str = ""                 # of a file's path: what is not wanted
    downloads: tuple[str, ...] = ()   # direct addresses; none where the source wants a person to click
    fetcher: Callable[[Dataset, Path, Progress], None] = download_files
    recipe_options: tuple[tuple[str, object], ...] = ()   # of the domain's preprocessing recipe
    train_subjects: int = 0           # of the paper; 0 and 0: one half and one half
    test_subjects: int = 0
    stimuli_disjoint: bool = False    # training and test people see different stimuli
    shipped: str = ""                 # file in sample_data/
    info: tuple[tuple[str, str], ...] = ()   # more free text for Recordings.info

    @property
    def folder(self) -> Path:
        """The cache folder of this data set, there or not."""
        return cache_folder() / self.name

    @property
    def state(self) -> str:
        """Either shipped, not installed, downloaded, downloadable or by hand."""
        if self.shipped:
            return "shipped" if (sample_data() / self.shipped).is_file() else "not installed"
        if self._arrived() and not (self.folder / PARTIAL).exists():
            return "downloaded"
        return "downloadable" if self.downloads else "by hand"

    def _arrived(self) -> bool:
        """Whether the cache folder holds an official file or an archive."""
        official = re.compile(self.pattern)
        return self.folder.is_dir() and any(official.fullmatch(path.name) or path.name.lower().endswith(ARCHIVES)
                                            for path in self.folder.rglob("*"))

    def recipe(self):
        """The preprocessing recipe that suits this data set, not fitted yet."""
        from qpwl_core.data.preprocessing import recipe_for

        return recipe_for(self.domain, **dict(self.recipe_options))

    def read(self, folder) -> Recordings:
        """The Recordings in the official files under ``folder`` (or in one official archive)."""
        return self.reader(self, Path(folder))

    def instructions(self, reason: str) -> RecordingsError:
        """One sentence that says what to download, from where, and where to put it."""
        packed = self.downloads and self.fetcher is download_files
        what = " and ".join(self.downloads) if packed else self.example
        return RecordingsError(f"{self.name}: {reason}; get {what} (about {self.size}) from {self.url} and put it"
                               f"{', packed or unpacked,' if packed else ''} into {self.folder}, or name the folder "
                               "where it is")

    def not_installed(self) -> RecordingsError:
        """One sentence on a set that ships with the repository, and so not with an installed package."""
        return RecordingsError(f"{self.name} ships with the repository of QP-WL Lab, and this is an installed package "
                               f"without it: take {self.example} from there, and give its path instead of the name")

    def fetch(self, progress: Progress = True) -> Path:
        """Download the official files into the cache folder, going on where an earlier download stopped.

        ``progress``: a bar (True), none (False), or a function called with the bytes that arrived, block by block; what
        it raises ends the download.
        """
        if self.state == "shipped":
            return sample_data()
        if self.shipped:
            raise self.not_installed()
        if self.state == "downloaded":
            return self.folder
        if not self.downloads:
            raise self.instructions("its source offers no direct download")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / PARTIAL).touch()
        try:
            self.fetcher(self, self.folder, progress)
        except RecordingsError as error:
            if not self._arrived():
                (self.folder / PARTIAL).unlink()  # so that what a person puts there counts
            raise self.instructions(str(error)) from None
        (self.folder / PARTIAL).unlink()
        return self.folder

    def recordings(self, sequences: Iterable[tuple[str, str, np.ndarray]], imitates: list[str] | None = None,
                   **info) -> Recordings:
        """Recordings from (subject, stimulus, values) with this declaration's channels, rate and info."""
        subjects, stimuli, values = zip(*sequences, strict=True)
        given = {"name": self.name, "domain": self.domain, "licence": self.licence, "citation": self.citation,
                 "source": self.url, **dict(self.info), **info}
        return Recordings(list(values), np.array(subjects), self.channels, self.rate, np.array(stimuli), given,
                          imitates)

    def members(self, folder) -> Iterator[Member]:
        """The official files under ``folder``, each name once; at least one. Read each before the next is asked for."""
        seen = set()
        for member in members(folder, self.pattern, self.exclude):
            if member.base not in seen:  # an archive and its unpacked files may lie side by side
                seen.add(member.base)
                yield member
        if not seen:
            raise RecordingsError(f"{shown(folder)} holds no file of {self.name}: files like {self.example} are "
                                  f"wanted, from {self.url}")

    def in_order(self, folder, read: Callable[[Member], object]) -> dict[str, object]:
        """What ``read`` makes of each official file, by file name, in the order of the names."""
        found = {member.base: read(member) for member in self.members(folder)}
        return {base: found[base] for base in sorted(found, key=natural)}
