"""Who is enrolled, enrolling someone, removing someone.

A button acts with what the widgets say in the very run it is pressed in (the arguments of a callback are those of the
run before: a name typed just now would be missed); then the page is drawn again, with what the button did.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.common.sheets import safe_of
from qpwl_core.data.errors import RecordingsError
from qpwl_core.desk.database import Desk
from ui.desk.scene import Scene, Sequences, keep_among, of_data
from ui.desk.signing import show_signing, takes_signatures
from ui.library.data import OWN, available_data, fits, recordings_for, short_name, take_upload
from ui.library.models import Entry
from ui.shell.controls import choose_person
from ui.shell.frame import KEPT
from ui.shell.people import called
from ui.shell.presenter import presenting
from ui.shell.text import plain

FROM = {"gallery": "Gallery", "data": "Data or file", "sign": "Sign here"}
FILES = ["npz", "csv", "edf", "bdf", "fif"]


def say(kind: str, text: str) -> None:
    """Keep a sentence until the next button: a drawing of the page may be cut short by the next touch."""
    st.session_state["desk_said"] = kind, text


def show_message() -> None:
    """What the last button did."""
    if said := st.session_state.get("desk_said"):
        show, icon = {"success": (st.success, "check"), "error": (st.error, "error")}[said[0]]
        show(plain(said[1]), icon=f":material/{icon}:")


def attempt(action, *arguments) -> None:
    """What a button does: the sentence of success, or of what is wrong."""
    try:
        say("success", action(*arguments))
    except ValueError as error:
        say("error", str(error))
    st.rerun()


def enrol(desk: Desk, name: str, sequences: Sequences, count: int, origin: str) -> str:
    person = desk.enrol(name, sequences.to_enrol(count), desk.space.model, origin)
    return f"{person.name} is enrolled with {person.sequences} sequences."


def enrol_three(desk: Desk, gallery: dict[str, Sequences]) -> str:
    for person, sequences in list(gallery.items())[:3]:
        enrol(desk, called(gallery)[person], sequences, max(1, len(sequences.values) // 2), f"gallery, {person}")
    return "Three people are enrolled, each with half of their sequences."


def remove(desk: Desk, name: str) -> str:
    desk.remove(name)
    return f"{name} is removed; the log keeps what was decided."


def show_enrolled(scene: Scene) -> None:
    """Everyone, and the way out."""
    heading = st.header if presenting() else st.subheader            # the level below what stands above it
    heading(f"Enrolled: {len(scene.people)}", anchor=False)
    if not scene.people:
        st.info("Nobody is enrolled with this model yet. Enrol someone, or start with three people of the gallery."
                if scene.gallery else "Nobody is enrolled with this model yet.", icon=":material/group_add:")
        if scene.gallery and st.button("Enrol three people", type="primary", icon=":material/bolt:", key="desk-three"):
            attempt(enrol_three, scene.desk, scene.gallery)
        return
    people = pd.DataFrame([vars(person) for person in scene.people])
    people = people.assign(added=people["added"].astype(str).str[5:16].str.replace("T", " "))
    st.dataframe(safe_of(people), hide_index=True,
                 height=min(40 + 35 * len(scene.people), 320),
                 column_config={"name": "Name", "sequences": "Sequences", "added": "Since (UTC)", "origin": "From"})
    with st.popover("Remove someone", icon=":material/person_remove:", key="desk-way-out"):
        leaving = st.selectbox("Who", [person.name for person in scene.people], key="desk-leaving")
        if st.button("Remove", key="desk-remove"):
            attempt(remove, scene.desk, leaving)


def show_enrolling(scene: Scene) -> None:
    """Someone new, from the gallery, a data set or a file, or signing here."""
    st.subheader("Enrol someone", anchor=False)
    options = [source for source in FROM if (source != "gallery" or scene.gallery) and
               (source != "sign" or takes_signatures(scene))]
    source = options[0] if len(options) == 1 else st.segmented_control(
        "From", options, format_func=FROM.get, default=options[0], required=True, key="desk-from", **KEPT)
    if source == "sign":
        show_signing(scene, attempt)
        return
    chosen = choose_data(scene.entry, "desk-new") if source == "data" else _choose_of_gallery(scene)
    if chosen is None:
        return
    person, sequences, origin = chosen
    total = len(sequences.values)
    name = st.text_input("Name", called([person])[person], key=f"desk-name-{origin}-{person}",
                         help="1 to 80 characters.")
    count = 1 if total == 1 else st.slider("Sequences to enrol", 1, total, total // 2, help="The rest can knock.",
                                           key=f"desk-count-{origin}-{person}-{total}")
    if st.button("Enrol", type="primary", icon=":material/person_add:", key="desk-enrol"):
        attempt(enrol, scene.desk, name, sequences, count, origin)


def _choose_of_gallery(scene: Scene) -> tuple[str, Sequences, str] | None:
    free = [person for person in scene.gallery if person not in scene.known]
    if not free:
        st.info("Everyone of the gallery is enrolled.", icon=":material/group:")
        return None
    keep_among("desk-person", free)
    person = choose_person("Person", free, "desk-person", help="Of the gallery, not of the training data.")
    return person, scene.gallery[person], f"gallery, {person}"


def choose_data(entry: Entry, key: str) -> tuple[str, Sequences, str] | None:
    """A person of a data set or a file, their sequences, and where those are from; None where something is wrong."""
    file = st.file_uploader("Upload a recording", type=FILES, key=f"{key}-file")
    try:
        if file is not None and st.session_state.get(f"{key}_taken") != file.file_id:
            st.session_state[f"{key}_taken"] = file.file_id
            st.session_state[f"{key}-data"] = take_upload(file, file.name)
        at_hand = {data: title for data, title in available_data().items()
                   if data.startswith(OWN) or fits(data, entry.card)}
        if not at_hand:
            st.info("No recordings at hand fit this model: upload one with its channels, or get its data set on the "
                    "Data page.", icon=":material/database:")
            return None
        keep_among(f"{key}-data", list(at_hand))
        data = st.selectbox("Data", list(at_hand), format_func=short_name, key=f"{key}-data", **KEPT)
        st.caption(plain(at_hand[data].partition(" · ")[2]))
        people = recordings_for(data).people
        keep_among(f"{key}-subject", people)
        subject = choose_person("Person", people, f"{key}-subject")
        return subject, of_data(entry, data, subject), f"{at_hand[data]}, {subject}"
    except RecordingsError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
