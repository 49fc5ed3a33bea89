"""The models at hand: those that ship, those trained here and those uploaded, and the sidebar that chooses one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qpwl_core.common.bounds import GALLERY_HERE, PEOPLE_HERE
from qpwl_core.common.child import in_child
from qpwl_core.common.files import FileError, read_json
from qpwl_core.common.paths import desk_place, runs_folder
from qpwl_core.desk.storage import is_address
from qpwl_core.models.gallery import Gallery, load_gallery
from qpwl_core.models.methods import METHODS
from ui.library import elsewhere
from ui.library.totals import PRIVATE, Private
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.visitors.kept import kept
from ui.visitors.once import once
from ui.visitors.who import may_see, visitor

if TYPE_CHECKING:                  # they take PyTorch, and the models at hand can be listed without it
    from qpwl_core.desk.database import Desk
    from qpwl_core.models.model import Model

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "models"
computing = threading.Lock()
# What a card may say beside what load_model checks, and what that must be.
SAID = {"title": str, "set": str, "terms": dict, "data": dict, "split": dict, "training": dict, "results": dict,
        "notes": list, "reproduce": str}


@dataclass(frozen=True)
class Entry:
    """A model at hand, known by its card; the weights are loaded when they are needed."""

    id: str                 # the name of its folder: unique, safe in a link
    kind: str               # "ships", "trained" or "uploaded"
    folder: Path
    card: dict

    @property
    def title(self) -> str:
        """What it is called; an upload says that it is one."""
        title = self.card.get("title") or f"{self.card['config']['domain']} · {self.method_title} · {self.id}"
        return title + (" · uploaded" if self.kind == "uploaded" else "") + (" by you" if self.private else "")

    @property
    def private(self) -> bool:
        """Whether this session uploaded it and has not shared it: nobody else sees it."""
        return self.folder.parent.name == PRIVATE

    @property
    def method(self) -> str:
        return self.card["config"]["method"]

    @property
    def method_title(self) -> str:
        return METHODS[self.method].title

    @property
    def has_gallery(self) -> bool:
        return (self.folder / "gallery.safetensors").exists()


def entries() -> list[Entry]:
    """All models at hand: those that ship, those trained here, those uploaded, what this session uploaded last.

    In a class of those trained and uploaded one's own, and what was shared.

    A folder whose card cannot be read is no model; what ships is what lies where those that ship lie.
    """
    found = []
    for home, kind in ((SHIPPED, "ships"), (runs_folder(), "trained")):
        for folder in sorted(home.glob("[!.]*")) if home.is_dir() else []:       # hidden: coming or going
            if kind == "ships" or may_see(folder):
                found += _entry(folder, kind) if folder not in [entry.folder for entry in found] else []
    for private in my_models().values():
        found += _entry(private.folder, "uploaded")
    return sorted(found, key=lambda entry: ("ships", "trained", "uploaded").index(entry.kind))


def _entry(folder: Path, kind: str) -> list[Entry]:
    """The model in a folder, where it is one."""
    try:
        card = read_json(folder / "card.json")
        card = {key: value for key, value in card.items() if key not in SAID or isinstance(value, SAID[key])}
        if card["format"] != "qpwl-model" or card["config"]["method"] not in METHODS:
            return []
        return [Entry(folder.name, kind if kind == "ships" or card.get("kind") != "uploaded" else "uploaded", folder,
                      card)]
    except (FileError, KeyError, TypeError, AttributeError, OSError):
        return []


def my_models() -> dict[str, Private]:
    """What this session uploaded and has not shared, by id."""
    alone = get_script_run_ctx(suppress_warning=True) is None      # a test, or a thread: nobody's session
    return {} if alone else st.session_state.setdefault("my_models", {})


def shipped_titles() -> list[str]:
    """Titles that no other model may have."""
    return [entry.title for entry in entries() if entry.kind == "ships"]


def distinct_titles(entries: Iterable[Entry]) -> dict[str, str]:
    """A title for each model by its id, with the id where two have the same: a link carries it."""
    titles = {entry.id: entry.title for entry in entries}
    count = Counter(titles.values())
    return {i: title if count[title] == 1 else f"{title}, {i}" for i, title in titles.items()}


def choose_model(gallery: bool = True, place=None) -> Entry | None:
    """The model chosen in the sidebar, kept across pages and in the link; with none at hand, say what to do next.

    ``gallery``: only models with held-out people beside them; ``place``: where else than in the sidebar.
    """
    at_hand = {entry.id: entry for entry in entries() if entry.has_gallery or not gallery}
    if not at_hand:
        st.info("No model is at hand. Train one, it takes a minute.", icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train a model", icon=":material/play_arrow:")
        return None
    wanted = st.session_state.get("model")
    if wanted is not None and wanted not in at_hand:
        del st.session_state["model"]
    first = next((i for i, entry in enumerate(at_hand.values()) if entry.method == "qp-wl"), 0)   # the paper's method
    labels = distinct_titles(at_hand.values())
    place = st.sidebar if place is None else place
    chosen = place.selectbox("Model", list(at_hand), first, format_func=labels.__getitem__, key="model", **KEPT)
    return at_hand[chosen]


def model_of(entry: Entry) -> Model:
    """The model itself, loaded once for all sessions; nobody changes it."""
    return model_at(str(entry.folder), entry.card["sha256"])


def gallery_of(entry: Entry) -> Gallery:
    """Its gallery, loaded once for all sessions; nobody changes it."""
    return gallery_at(str(entry.folder), entry.card["sha256"])


def gallery_or_stop(entry: Entry) -> Gallery:
    """The gallery of a model; where its file is damaged, say so in one sentence and end the page there."""
    try:
        return gallery_of(entry)
    except FileError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.stop()


@kept
def model_at(folder: str, checksum: str) -> Model:
    """The model in a folder, as long as its weights are these."""
    from qpwl_core.models.model import load_model

    return load_model(folder)


@kept
def gallery_at(folder: str, checksum: str) -> Gallery:
    """The gallery in a folder, as long as its weights are these."""
    gallery = load_gallery(folder)
    if gallery.model != checksum:
        raise FileError(f"{folder}/gallery.safetensors belongs to other weights than those beside it")
    return gallery


def light(held: Gallery) -> bool:
    """Whether what pages compute of a gallery is done in a moment; all else leaves the server."""
    return len(held) * held.values.size <= GALLERY_HERE and len(held.people) <= PEOPLE_HERE


def worked(held: Gallery, function: Callable, *arguments):
    """``function(*arguments)`` of a module without pages: here where the gallery is small, else in another process.

    Here one at a time: each uses all cores, and twenty people at once would only be in each other's way.
    """
    if light(held):
        with computing:
            return function(*arguments)
    return in_child(function, *arguments)


@kept
def distances_of(folder: str, checksum: str, part: str, measure: str | None, points: int | None, p: float | None):
    """Distances between all sequences of one part of a gallery, (n, n), kept for whoever asks; nobody changes them."""
    held = gallery_at(folder, checksum).part(part)
    found = once(folder, (checksum, part, measure, points, p),
                 lambda: worked(held, elsewhere.distances, held, measure, points, p))
    found.flags.writeable = False
    return found


def open_desk(entry: Entry) -> Desk:
    """The desk of whoever looks for a model, opened once for all sessions; a FileError says what is wrong with it."""
    place = desk_place()
    owner = visitor()
    there = is_address(place) or (place / owner / f"{entry.card['sha256'][:16]}.sqlite").exists()
    return _desk(str(entry.folder), entry.card["sha256"], str(place), owner, there)


@st.cache_resource(max_entries=64, show_spinner=False)
def _desk(folder: str, checksum: str, place: str, owner: str, there: bool) -> Desk:
    from qpwl_core.desk.database import Desk
    from qpwl_core.desk.space import space_of, space_of_gallery

    entry = Entry("", "", Path(folder), {"sha256": checksum})
    return Desk(place, space_of_gallery(gallery_of(entry)) if entry.has_gallery else space_of(model_of(entry)),
                owner=owner)
