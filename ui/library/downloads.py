"""Downloads in the background: one per data set for all sessions, watched, stopped and resumed from any of them."""

from __future__ import annotations

import re
import shutil
import threading
import time
from dataclasses import dataclass, field

import streamlit as st

from qpwl_core.common.paths import cache_folder
from qpwl_core.common.text import duration, size
from qpwl_core.data.datasets import Dataset, load_dataset
from qpwl_core.data.errors import RecordingsError
from ui.shell.text import plain
from ui.visitors.who import sees_all

UNITS = {"kB": 2**10, "MB": 2**20, "GB": 2**30}
RUNNING = ("fetching", "reading")


class StoppedError(Exception):
    """Somebody asked for an end."""


@dataclass(eq=False)
class Download:
    """One download: a thread that never speaks to Streamlit, and what can be said about it meanwhile."""

    dataset: Dataset
    phase: str = "fetching"           # then reading, then done; or stopped, or failed
    error: str = ""
    before: int = 0                   # bytes that an earlier download left
    started: float = field(default_factory=time.monotonic)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Fetch the files, then read them once, so that the page that shows them need not wait."""
        try:
            self.dataset.fetch(progress=self._block)
            self.phase = "reading"
            load_dataset(self.dataset.name)
            self.phase = "done"
        except StoppedError:
            self.phase = "stopped"
        except RecordingsError as error:
            self.error, self.phase = _without_folder(error), "failed"
        except Exception as error:  # a thread has nobody else to tell
            self.error, self.phase = f"the download failed ({type(error).__name__})", "failed"

    def _block(self, _count: int) -> None:
        if self.stopped.is_set():
            raise StoppedError

    def progress(self) -> tuple[float, str]:
        """The share that has arrived, and a sentence with the time that is left; sizes are the source's, about."""
        if self.phase == "reading":
            return 0.99, "All has arrived. Reading the files, once …"
        have, total = arrived(self.dataset), expected(self.dataset)
        seconds = time.monotonic() - self.started
        share = min(have / total, 0.99)
        if have > self.before and seconds > 1:
            left = max(total - have, 0) * seconds / (have - self.before)
            return share, f"{size(have)} of about {self.dataset.size}, about {duration(left)} left"
        return share, f"{size(have)} of about {self.dataset.size}"


def expected(dataset: Dataset) -> int:
    """Bytes that the declaration promises, about: "80 MB"."""
    number, unit = re.match(r"([\d.]+) (kB|MB|GB)", dataset.size).groups()
    return int(float(number) * UNITS[unit])


def arrived(dataset: Dataset) -> int:
    """Bytes in the cache folder of a data set."""
    total = 0
    for path in dataset.folder.rglob("*") if dataset.folder.is_dir() else ():
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:                # a file that was renamed while we looked
            continue
    return total


@st.cache_resource
def _started() -> tuple[dict[str, Download], threading.Lock]:
    return {}, threading.Lock()


def download_of(dataset: Dataset) -> Download | None:
    """The download of a data set, under way or over."""
    return _started()[0].get(dataset.name)


def start(dataset: Dataset) -> None:
    """Start a download, unless one is under way, whoever started it."""
    downloads, lock = _started()
    with lock:
        running = downloads.get(dataset.name)
        if running is None or running.phase not in RUNNING:
            downloads[dataset.name] = job = Download(dataset, before=arrived(dataset))
            threading.Thread(target=job.run, name=f"download-{dataset.name}", daemon=True).start()


def download_panel(dataset: Dataset) -> None:
    """What it takes to get a data set: a button, then progress with a stop, then a sentence if it failed."""
    job = download_of(dataset)
    if job is not None and job.phase in RUNNING:
        _watch(dataset.name)
        return
    if job is not None and job.phase == "failed":
        st.error(plain(job.error), icon=":material/error:")
    if not sees_all():
        st.info("The lecturer can download it for the class.", icon=":material/school:")
        return
    if not dataset.downloads:
        sentence = _without_folder(dataset.instructions("its source offers no direct download"))
        st.info(plain(sentence), icon=":material/folder_open:")
        st.button("I have put it there", icon=":material/refresh:", key="data_look_again")
        return
    free = shutil.disk_usage(_existing(cache_folder())).free
    st.markdown(f"About **{plain(dataset.size)}** from [its official source]({dataset.url}) into "
                f"`{dataset.folder}`, where {size(free)} are free.")
    words = "Go on with the download" if arrived(dataset) else "Download"
    st.button("Try again" if job is not None and job.phase == "failed" else words, icon=":material/download:",
              type="primary", key="data_download", on_click=start, args=(dataset,))


@st.fragment(run_every=1.0)
def _watch(name: str) -> None:
    """Progress, looked at every second without running the page again; when it is over, the page runs once."""
    job = _started()[0][name]
    if job.phase not in RUNNING:
        st.rerun()
    share, sentence = job.progress()
    st.progress(share, plain(sentence))
    if job.stopped.is_set():
        st.caption("Stopping …")
    elif job.phase == "fetching" and sees_all():
        st.button("Stop", icon=":material/stop:", key="data_stop", on_click=job.stopped.set,
                  help="What has arrived is kept; a later download goes on from there.")


def _without_folder(error: RecordingsError) -> str:
    """The sentence as it holds here, where there is no folder to name."""
    return str(error).removesuffix(", or name the folder where it is") + "."


def _existing(folder):
    return folder if folder.exists() else _existing(folder.parent)
