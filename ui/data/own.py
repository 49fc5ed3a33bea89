"""Upload of own recordings: taken in a callback, reported person by person, kept in the session alone."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from qpwl_core.common.child import warm
from qpwl_core.common.sheets import safe_of
from qpwl_core.common.text import size
from qpwl_core.data.domains import DOMAINS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.readers import READERS
from qpwl_core.data.inspection import ENOUGH
from ui.data.views import facts, say_remarks, sentence_of
from ui.library.data import MAX_BYTES, MAX_FILES, OWN, take_upload, token_of, training_problem, uploads
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.visitors.classroom import in_class, whose_computer

EXAMPLE = "# rate: 50\nsubject,sequence,stimulus,acc_x,acc_y\nann,1,walk,0.12,-0.98\nann,1,walk,0.15,-0.97\n…"


def own_view() -> None:
    """The uploader, what was found, what to mind."""
    warm()
    st.file_uploader("Recordings of several people", [suffix.removeprefix(".") for suffix in READERS],
                     key="data_upload", on_change=_take)
    rate = st.number_input("Rate of a .csv that does not say, Hz", 0.0, 1e6, 0.0, key="data_rate", on_change=_take,
                           width=300, help="0: the file says it itself, in a first line such as # rate: 50", **KEPT)
    if problem := st.session_state.get("data_problem"):
        st.error(sentence_of(problem), icon=":material/error:")
    given = f" Rate given: {rate:g} Hz." if rate else ""
    where = (f"They stay on {whose_computer()}, for you alone, until you remove them or press “Forget me”"
             if in_class() else "They stay in this session, on this computer")
    until = "" if in_class() else "Closing the tab forgets them, unless you train on them: a"
    st.caption(f"{where}; at most {MAX_FILES} files with {size(MAX_BYTES)} of values together. {until or 'A'} run "
               f"keeps a copy until it ends, and Train says so before it starts.{given}")
    with st.expander("What a file must look like", expanded=not uploads(), icon=":material/description:"):
        st.markdown("**.csv**, one row per sample, separated by commas, semicolons or tabs:")
        st.code(EXAMPLE, language=None)
        st.markdown("**.npz** with the arrays `values`, `lengths`, `subjects`, `channels`, `rate` and perhaps "
                    "`stimuli`, none of them pickled; **.edf**, **.bdf**, **.fif** as EEG machines write them, one "
                    "person per file, called `person_task.edf`.")
    for name in list(uploads()):
        _report(name)


def _take() -> None:
    """Runs before the page does: read what was uploaded, choose it, or remember what is wrong with it."""
    st.session_state["data_problem"] = None
    file = st.session_state.get("data_upload")
    if file is None:
        return
    try:
        st.session_state["data"] = take_upload(file, file.name, st.session_state.get("data_rate") or None)
    except RecordingsError as error:
        st.session_state["data_problem"] = str(error).replace("on the page Data, under Your own", "here")


def _report(name: str) -> None:
    """What was found in an upload, and what to mind."""
    own = uploads()[name]
    found, (people, said) = own.recordings, facts(OWN + name, token_of(OWN + name))
    seconds = found.lengths / found.rate
    with st.container(border=True):
        st.markdown(f"**{plain(name)}**: {len(people)} people, {len(found)} sequences of {seconds.min():.2f} to "
                    f"{seconds.max():.2f} s, {len(found.channels)} channels at {found.rate:g} Hz, "
                    + (f"{len(set(found.stimuli.tolist()))} stimuli" if found.stimuli is not None else "no stimuli"))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            domain = st.selectbox("Treat it as", DOMAINS, DOMAINS.index(own.domain), key=f"data_domain_{own.token}",
                                  width=200)
            st.button("Look at it", icon=":material/visibility:", key=f"data_look_{own.token}", on_click=_look,
                      args=(name,))
            st.button("Remove", icon=":material/delete:", key=f"data_remove_{own.token}", on_click=_remove,
                      args=(name,))
        if domain != own.domain:
            uploads()[name] = replace(own, domain=domain)
            st.rerun()
        say_remarks(said)
        if problem := training_problem(OWN + name):
            st.warning(plain(problem), icon=":material/model_training:")
        elif not said:
            st.success(f"Nothing to mind: everybody has {ENOUGH} sequences or more.", icon=":material/check_circle:")
        st.caption("Channels: " + plain(", ".join(found.channels[:12])) + (" …" if len(found.channels) > 12 else ""))
        with st.expander("Person by person", icon=":material/table:"):
            st.dataframe(safe_of(people.assign(use=[
                "trains and is tested" if count >= ENOUGH else "trains only" if count > 1 else "nothing to compare with"
                for count in people["sequences"]])), hide_index=True)


def _look(name: str) -> None:
    st.session_state["data"], st.session_state["data_view"] = OWN + name, "People"


def _remove(name: str) -> None:
    uploads().pop(name, None)
    if st.session_state.get("data") == OWN + name:
        del st.session_state["data"]
