"""Whose run of a page this is, and what of the shared folders is theirs.

Every listing of runs and models, and every look-up by name, asks here. In `make run` there is one person, "", and all
is theirs. A folder belongs to the ``owner`` in its job.json or card.json; a file named ``shared`` opens it to all.
"""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from qpwl_core.common.files import FileError, read_json
from qpwl_core.common.paths import desk_place
from qpwl_core.desk.visitors import Register, Visitor
from ui.visitors.classroom import COOKIE, LECTURER, OUTSIDE, classroom, in_class

SHARED, FRESH = "shared", 2.0            # a file; seconds that a look at the register counts
AS = "_as"                               # in the lecturer's session: as whom they look


def visitor() -> str:
    """The id of whoever this page is for: whoever looks at it, or whom the lecturer looks at it as."""
    found = _looks()
    if found == LECTURER and (whom := st.session_state.get(AS)):
        if _known(whom):
            return whom
        st.session_state.pop(AS)                                    # they were removed meanwhile
    return found


def _looks() -> str:
    """The id of whoever looks; whoever has none, or was removed, sees one sentence and no more."""
    if not in_class():
        return ""
    found = classroom().visitor_of(st.context.cookies.get(COOKIE))
    bound = st.session_state.setdefault("_visitor", found)          # a session is never another's, whoever knows its id
    if found is None or bound != found or (found != LECTURER and not _known(found)):
        st.markdown(OUTSIDE)
        st.stop()
    return found


def owner() -> tuple[str, ...]:
    """Whom a job is queued for: the visitor of a class; one person alone needs no name."""
    who = visitor()
    return (who,) if who else ()


def is_lecturer() -> bool:
    """Whether it is the lecturer of a class, whomever they look at it as."""
    return in_class() and _looks() == LECTURER


def looks_as() -> str:
    """Whose pages the lecturer looks at, "" where they are their own."""
    who = visitor() if is_lecturer() else LECTURER
    return "" if who == LECTURER else who


def look_as(whom: str) -> None:
    """Every page is now as this visitor sees it, or as the lecturer does; nothing chosen before counts."""
    if is_lecturer():
        kept = st.session_state["_visitor"]
        st.session_state.clear()
        st.session_state.update({"_visitor": kept} | ({AS: whom} if whom else {}))


def sees_all() -> bool:
    """One person alone, or the lecturer, who does not look at it as somebody else."""
    return not in_class() or visitor() == LECTURER


def owner_of(folder: Path) -> str:
    """Whose run or model a folder is."""
    for name in ("job.json", "card.json"):
        try:
            owner = read_json(folder / name).get("owner")
        except (FileError, AttributeError):
            continue
        if owner is not None:
            return str(owner)
    return ""


def is_mine(folder: Path) -> bool:
    """Whether whoever looks may change it."""
    return sees_all() or owner_of(folder) == visitor()


def may_see(folder: Path) -> bool:
    """Whether whoever looks may see it: it is theirs, or was shared."""
    return sees_all() or (folder / SHARED).exists() or owner_of(folder) == visitor()


def is_shared(folder: Path) -> bool:
    return (folder / SHARED).exists()


def share(folder: Path, yes: bool) -> None:
    """Show it to the whole class, or no longer; only its owner may."""
    if not is_mine(folder):
        raise FileError("it is somebody else's")
    try:
        (folder / SHARED).touch() if yes else (folder / SHARED).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"it cannot be shared: {(error.strerror or str(error)).lower()}") from None


@st.cache_resource(max_entries=2, show_spinner=False)
def register(place: str) -> Register:
    """The visitors of the class, for all sessions."""
    return Register(place)


def visitors() -> list[Visitor]:
    """Everyone who joined."""
    return register(str(desk_place())).all()


def name_of(who: str) -> str:
    """A name to show for an id."""
    if who == LECTURER:
        return "the lecturer"
    try:
        found = register(str(desk_place())).find(who)
    except FileError:
        found = None
    return found.name if found and found.name else f"visitor {who[:4]}"


def _known(who: str) -> bool:
    """Whether a visitor is on the register, looked at every other second."""
    seen = st.session_state.get("_known")
    if seen is None or not 0 <= time.monotonic() - seen < FRESH:
        try:
            there = register(str(desk_place())).find(who) is not None
        except FileError:                      # a full disk, a database that is away: the gate let them in
            return True
        if not there:
            st.session_state.pop("_known", None)
            return False
        st.session_state["_known"] = time.monotonic()
    return True
