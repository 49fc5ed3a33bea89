"""The models at hand: what each is, take one in, download, rename, delete."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from qpwl_core.common.bounds import UPLOADS
from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from qpwl_core.common.sheets import safe_of
from qpwl_core.common.text import duration
from ui.library import shelf
from ui.library.models import Entry, choose_model, entries, my_models, shipped_titles
from ui.shell.text import plain
from ui.train.live import PAGES, act
from ui.visitors.classroom import in_class
from ui.visitors.who import is_mine, is_shared, owner_of, share, visitor


def models() -> None:
    """The whole view."""
    if added := st.session_state.pop("train_added", None):
        st.session_state["model"] = added
        goes = "It goes when you leave the class." if in_class() else ("It goes when you close this tab, unless you "
                                                                       "share it.")
        st.success(f"The model is at hand, for you alone, and chosen. {goes}", icon=":material/check_circle:")
    entry = choose_model(gallery=False)
    if entry is not None:
        table()
        st.divider()
        details(entry)
    st.divider()
    upload()


def facts_of(entry: Entry) -> dict:
    """What the card says, for a table; what it does not say is missing."""
    results = entry.card.get("results") or {}
    config, training = entry.card["config"], entry.card.get("training") or {}
    return {"model": entry.title, "from": entry.kind, "method": entry.method_title, "data": entry.card.get("set"),
            "M": config.get("points"), "p": config.get("p"), "steps": training.get("steps"),
            "test people": results.get("subjects"), "AUC": _auc(results, "1"), "AUC after 5": _auc(results, "5")}


def _auc(results: dict, n: str) -> float | None:
    """Verification AUC with n sequences; an uploaded card may say anything."""
    try:
        return float(results["verification"][n]["auc"])
    except (KeyError, TypeError, ValueError):
        return None


def table() -> None:
    """All models; a click on a row chooses it."""
    at_hand = entries()

    def chosen():
        rows = st.session_state["train_models"]["selection"]["rows"]
        if rows and rows[0] < len(at_hand):
            st.session_state["model"] = at_hand[rows[0]].id

    st.dataframe(safe_of(pd.DataFrame([facts_of(entry) for entry in at_hand])), hide_index=True, key="train_models",
                 on_select=chosen, selection_mode="single-row",
                 column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("AUC", "AUC after 5")})
    st.caption("AUC: people never seen in training, verified by one sequence, and by five. Click at the left of a row "
               "to choose the model for all pages.")


def details(entry: Entry) -> None:
    """The card of the chosen model, and what can be done with it."""
    left, right = st.columns([1.7, 1], gap="large")
    card, training = entry.card, entry.card.get("training") or {}
    with left:
        st.markdown(f"### {plain(entry.title)}")
        seconds = training.get("seconds")
        lines = [("Method", entry.method_title), ("Data", card.get("set")),
                 ("People", ", ".join(f"{len(names)} {part}" for part, names in (card.get("split") or {}).items()
                                      if isinstance(names, list))),
                 ("Trained", f"{training.get('steps')} steps, {duration(float(seconds))} on {training.get('device')}"
                  if isinstance(seconds, (int, float)) else None),
                 ("Licence of the data", (card.get("terms") or {}).get("licence")),
                 ("To cite", (card.get("terms") or {}).get("citation"))]
        st.markdown("\n".join(f"- {label}: {plain(value)}" for label, value in lines if value))
        for note in card.get("notes") or []:
            st.caption(plain(note))
        if not entry.has_gallery:
            st.info("This model came without a gallery, so pages that show held-out people cannot use it.",
                    icon=":material/info:")
        if isinstance(card.get("reproduce"), str):
            st.code(card["reproduce"], language=None, wrap_lines=True)
    with right:
        st.markdown("Now the model of all pages:")
        for page, (label, icon) in PAGES.items():
            st.page_link(f"pages/{page}.py", label=label, icon=f":material/{icon}:", disabled=not entry.has_gallery)
        with st.container(horizontal=True):
            st.download_button("Download", lambda: shelf.packed(entry), f"{entry.id}.zip", "application/zip",
                               icon=":material/download:", on_click="ignore", key="train_download")
            if entry.private:
                with st.popover("Share", icon=":material/group_add:"):
                    st.markdown("Everyone who uses this app can then use it, and the people of its gallery are seen.")
                    st.button("Share it with everyone", on_click=_share, args=(entry,), key="train_share")
            if in_class() and entry.kind != "ships" and is_mine(entry.folder):
                st.toggle("Shared with the class", is_shared(entry.folder), key=f"shared-{entry.id}", width="content",
                          on_change=_share_in_class, args=(entry,))
            if entry.kind != "ships" and is_mine(entry.folder):
                with st.popover("Rename", icon=":material/edit:"):
                    st.text_input("Name", entry.card.get("title", ""), key=f"title-{entry.id}", max_chars=shelf.LONGEST)
                    st.button("Rename it", on_click=_rename, args=(entry,), key="train_rename")
                with st.popover("Delete", icon=":material/delete:"):
                    st.markdown("Delete this model and its run for good?")
                    st.button("Delete it", on_click=_delete, args=(entry,), type="primary", key="train_delete")
        if entry.kind != "ships" and not is_mine(entry.folder):
            st.caption("Somebody shared it with the class; it can be looked at, and neither renamed nor deleted.")
        if entry.kind == "ships":
            st.caption("It ships with QP-WL Lab, so it can be neither renamed nor deleted.")


def _rename(entry: Entry) -> None:
    act(shelf.rename, entry, st.session_state[f"title-{entry.id}"], shipped_titles())


def _share(entry: Entry) -> None:
    act(lambda: shelf.share(my_models()[entry.id], runs_folder()))
    if not entry.folder.exists():
        my_models().pop(entry.id, None)


def _share_in_class(entry: Entry) -> None:
    act(share, entry.folder, st.session_state[f"shared-{entry.id}"])


def _delete(entry: Entry) -> None:
    st.session_state.pop("model", None)
    act(shelf.remove, entry)
    if not entry.folder.exists():
        my_models().pop(entry.id, None)


def upload() -> None:
    """A form that takes a model in."""
    st.markdown("### Upload a model")
    st.caption("The .zip that Download gives, or `card.json` and `model.safetensors` (and `gallery.safetensors`). "
               "Nothing in it is executed.")
    with st.form("train_upload", clear_on_submit=True, border=False):
        files = st.file_uploader("Files of one model", accept_multiple_files=True, key="train_files",
                                 label_visibility="collapsed")
        sent = st.form_submit_button("Add the model", icon=":material/upload:")
    if not sent:
        return
    try:
        mine = my_models() if not in_class() else [entry for entry in entries() if entry.kind == "uploaded"
                                                   and owner_of(entry.folder) == visitor()]
        if len(mine) >= UPLOADS:
            raise FileError(f"a session keeps at most {UPLOADS} uploaded models of its own: delete or share one first")
        private = shelf.add_model([(file.name, file) for file in files], runs_folder(), shipped_titles())
        if in_class():                                        # a visitor's, not a session's: it is there after a reload
            shelf.share(private, runs_folder(), visitor())
        else:
            my_models()[private.folder.name] = private
        st.session_state["train_added"] = private.folder.name
    except FileError as error:
        st.error(plain(str(error)[:1].upper() + str(error)[1:]), icon=":material/error:")
    else:
        st.rerun()
