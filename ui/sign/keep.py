"""Yours to keep, ours to forget: take the signatures away, or remove every trace of them."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.text import counted, listed
from ui.library.signatures import as_file, as_recordings, book

TRACES = ("sign-pad-you_answer", "sign-pad-neighbour_answer", "sign_forger")


def show_keep() -> None:
    """Download, and Forget me, which says what it removed."""
    drawings = book().yours + book().tries
    if not drawings:
        if said := st.session_state.get("sign_forgotten"):
            st.success(said, icon=":material/delete:")
        return
    st.session_state.pop("sign_forgotten", None)
    st.subheader("Yours to keep, ours to forget", anchor=False)
    with st.container(horizontal=True, gap="small"):
        for ending in ("npz", "csv"):
            st.download_button(f"Download my signatures (.{ending})", lambda ending=ending: as_file(
                as_recordings(drawings), ending), f"signatures.{ending}", on_click="ignore",
                icon=":material/download:", key=f"sign-{ending}")
        st.button("Forget me", icon=":material/delete_forever:", on_click=forget, key="sign-forget")
    st.caption("The files can be opened on the pages Data and Train, and by `python -m qpwl_core`.")


def forget() -> None:
    """Remove all that was drawn and all that followed from it, and say what that was."""
    kept = book()
    gone = [counted(len(kept.yours), "signature of yours", "signatures of yours")] if kept.yours else []
    gone += [counted(len(kept.tries), "try of others", "tries of others")] if kept.tries else []
    gone += [counted(len(kept.seen), "embedding", "embeddings")] if kept.seen else []
    kept.forget()
    for name in TRACES:
        st.session_state.pop(name, None)
    st.session_state["sign_forgotten"] = f"Forgotten: {listed(gone)}. Nothing of you is left here."
    st.session_state["sign_go"] = "you"
