"""Yours to keep, ours to forget: take the signatures away, enrol at the desk, or remove every trace."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.text import counted, listed
from ui.library.data import uploads
from ui.library.models import Entry
from ui.library.signatures import as_file, as_recordings, book, enrol_signed, forget_enrolments
from ui.shell.text import plain
from ui.sign.movement import FILE as MOVEMENTS


def show_keep(entry: Entry, privacy: str) -> None:
    """Enrol, download, and Forget me, which says what it removed."""
    kept = book()
    if not (kept.yours or kept.tries or kept.movements or kept.enrolled or any(kept.at_desk.values())):
        if said := st.session_state.get("sign_forgotten"):
            st.success(plain(said), icon=":material/delete:")
        return
    st.session_state.pop("sign_forgotten", None)
    st.subheader("Yours to keep, ours to forget", anchor=False)
    st.caption(privacy)
    if said := st.session_state.get("sign_enrolled"):
        kind, text = said
        (st.success if kind == "done" else st.error)(plain(text), icon=":material/how_to_reg:")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input("Your name at the desk", key="sign_name", max_chars=80, width=230)
        st.button("Enrol me at the desk", icon=":material/how_to_reg:", key="sign-enrol", on_click=_enrol,
                  args=(entry,), disabled=not kept.yours, help="The desk keeps embeddings, never the line.")
        if kept.enrolled:
            st.session_state["model"] = entry.id                 # the desk of this model; a link keeps the session
            st.page_link("pages/desk.py", label="Go to the desk", icon=":material/how_to_reg:")
    with st.container(horizontal=True, gap="small"):
        if kept.yours or kept.tries:
            for ending in ("npz", "csv"):            # made when it is asked for: all that is there then
                st.download_button(f"Download my signatures (.{ending})", lambda ending=ending: as_file(
                    as_recordings(kept.yours + kept.tries), ending), f"signatures.{ending}", on_click="ignore",
                    icon=":material/download:", key=f"sign-{ending}")
        st.button("Forget me", icon=":material/delete_forever:", on_click=forget, key="sign-forget")
    st.caption("The files can be opened on the pages Data and Train, and by `python -m qpwl_core`.")


def _enrol(entry: Entry) -> None:
    try:
        said = "done", enrol_signed(entry, st.session_state["sign_name"], book().yours)
    except ValueError as error:
        said = "wrong", f"That did not work: {error}."
    st.session_state["sign_enrolled"] = said


def forget() -> None:
    """Remove all that was drawn and all that followed from it, and say what that was."""
    kept = book()
    gone = forget_enrolments()
    others = len(kept.tries) + sum(map(len, kept.at_desk.values()))
    for count, one, many in ((len(kept.yours), "signature of yours", "signatures of yours"),
                             (others, "try of others", "tries of others"),
                             (len(kept.movements), "movement", "movements"),
                             (len(kept.seen), "embedding", "embeddings")):
        gone += [counted(count, one, many)] if count else []
    if uploads().pop(MOVEMENTS, None) is not None:
        gone.append("the data set of your movements (a model trained on it stays until you delete it, on Train)")
    kept.forget()
    for name in [key for key in st.session_state if isinstance(key, str) and (
            key.endswith("_answer") or key in ("sign_forger", "sign_name", "sign_enrolled", "desk-sign-name",
                                               "desk_decision", "desk_live_shown", "sign_job", "sign_verify"))]:
        st.session_state.pop(name, None)
    st.session_state["sign_forgotten"] = f"Forgotten: {listed(gone)}. Nothing of you is left here."
    st.session_state["sign_step"] = "you"
