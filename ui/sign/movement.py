"""Step 4, a data set of your own: everybody draws for ten seconds, a few times; then train on it, and verify."""

from __future__ import annotations

import io
from collections import Counter

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from qpwl_core.data.capture import Capture, recordings_of
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import preset
from ui.library import jobs
from ui.library.data import recordings_for, take_upload, training_problem
from ui.library.job import find
from ui.library.pad import pad
from ui.library.signatures import Drawing, as_file, book
from ui.shell.charts import table
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.visitors.who import owner

TASKS = {"circles": "Draw circles", "eights": "Draw eights", "zigzag": "Draw zigzag lines", "hello": "Write hello"}
SECONDS = 10
EACH = 6                 # drawings of a person that verification wants: five to observe, one to enrol
NAME = "Person {}"
FILE = "our-movements"


def show_movement(privacy: str) -> None:
    """The pad with a clock, who has drawn how often, and the way to training."""
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        st.markdown(f"**Make a data set of your own.** Everybody draws the same thing for {SECONDS} seconds, {EACH} "
                    "times. What tells you apart then is not what you draw, but how.")
        task = st.selectbox("Task", list(TASKS), format_func=TASKS.get, key="sign_task", width=230, **KEPT)
        name = _who()
        pad("sign-pad-move", lambda capture: _take(capture, name, task), seconds=SECONDS,
            hint=f"{TASKS[task]} for {SECONDS} seconds", label=(
                f"A pad to draw on with a mouse, a finger or a pen: {TASKS[task].lower()} for {SECONDS} seconds. It is "
                "handed over by itself."))
        st.caption(privacy)
    with right:
        drawn = book().movements
        if not drawn:
            st.markdown("1. **Collect**: draw, press *Next person*, pass it on.\n2. **Train** a network on half of "
                        "you.\n3. **Verify**: does it tell the other half apart, whom it has never seen?")
            return
        _table(drawn)
        _train(drawn)


def _who() -> str:
    """Whose turn it is, and the button for the next one."""
    st.session_state.setdefault("sign_mover", NAME.format(1))

    def following() -> None:
        number = len({drawing.who for drawing in book().movements} | {st.session_state["sign_mover"]}) + 1
        st.session_state["sign_mover"] = NAME.format(number)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Who draws?", key="sign_mover", max_chars=40, width=230)
        st.button("Next person", icon=":material/skip_next:", on_click=following, key="sign-mover-next")
    return " ".join(name.split()) or NAME.format(1)


def _take(capture: Capture, name: str, task: str) -> str | None:
    if capture.seconds < SECONDS / 2:
        return f"That took {capture.seconds:.0f} seconds: keep drawing until the {SECONDS} are over."
    return book().add(book().movements, Drawing(capture, name, task=task))


def _table(drawn: list[Drawing]) -> None:
    counts = Counter(drawing.who for drawing in drawn)
    table(pd.DataFrame([{"who": who, "drawings": number, "": "enough" if number >= EACH else f"{EACH - number} more"}
                        for who, number in counts.items()]), "Who has drawn how often")
    st.button("Take the last one back", icon=":material/undo:", key="sign-move-undo", on_click=drawn.pop)


def collected(drawn: list[Drawing]) -> Recordings:
    """All drawings as recordings of the domain generic; the task is the stimulus."""
    return recordings_of([drawing.capture for drawing in drawn], [drawing.who for drawing in drawn], "generic",
                         stimuli=[drawing.task for drawing in drawn])


def _train(drawn: list[Drawing]) -> None:
    """Make it a data set of this session, and start a training on it."""
    with st.container(horizontal=True):
        st.download_button("Download (.npz)", lambda: as_file(collected(drawn), "npz"), f"{FILE}.npz",
                           on_click="ignore", icon=":material/download:", key="sign-move-npz")
        pressed = st.button("Train on it", type="primary", icon=":material/model_training:", key="sign-move-train")
    if pressed:
        _start(drawn)
    if "sign_job" in st.session_state:
        _way_on()
    st.caption(f"Six people with {EACH} drawings each are a good beginning: half of you are held out, and nobody is "
               "verified whom the network learned from.")


def _way_on() -> None:
    """How the training goes; once it is over, the link to Verification, with its model chosen there."""
    job = find(runs_folder(), st.session_state.get("sign_job"))
    if job is None:
        st.info("The run has been deleted.", icon=":material/delete:")
    elif job.state == "finished":
        if st.session_state.get("sign_verify") != job.id:          # once: whoever changes it later means it
            st.session_state.update(sign_verify=job.id, models=[job.id])
        st.success("It is trained. Does it tell the others of you apart, whom it has never seen?",
                   icon=":material/verified_user:")
        st.page_link("pages/verification.py", label="Verify", icon=":material/verified_user:")
    elif job.alive:
        steps = f": step {job.now['step']} of {job.now['steps']}" if job.now.get("steps") else ""
        st.info(f"It is being trained, in a minute or so{steps}.", icon=":material/model_training:")
        with st.container(horizontal=True):
            st.button("Look again", icon=":material/refresh:", key="sign-move-look")        # runs the page's part again
            st.page_link("pages/train.py", label="Watch it learn", icon=":material/model_training:")
    else:
        st.warning(plain(job.now.get("note") or f"The training is {job.state}."), icon=":material/error:")
        st.page_link("pages/train.py", label="See the run", icon=":material/model_training:")


def _start(drawn: list[Drawing]) -> None:
    """Queue the training, or say why not."""
    try:
        data = take_upload(io.BytesIO(as_file(collected(drawn), "npz")), f"{FILE}.npz", domain="generic")
        if problem := training_problem(data):
            st.warning(plain(problem), icon=":material/group_add:")
            return
        config = preset("quick", "generic", method="qp-wl")
        job = jobs.submit(runs_folder(), "train", "Our movements · QP-WL", data, config, recordings_for(data), None,
                          True, *owner())
    except (RecordingsError, FileError, ValueError) as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.session_state.update(data=data, train_run=job.id, train_started=job.id, sign_job=job.id)
