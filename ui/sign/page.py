"""Sign: you sign, a neighbour forges you, strangers knock; the model says who is who, and why."""

from __future__ import annotations

import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.models.methods import METHODS
from ui.library.models import Entry, gallery_of
from ui.library.signatures import book, choose_signature_model
from ui.shell.controls import WIDE, choose_p, choose_points
from ui.shell.frame import KEPT, setup_page
from ui.shell.presenter import presenter_switch, presenting
from ui.shell.refusals import in_a_sentence
from ui.shell.text import plain
from ui.sign.judging import Settings
from ui.sign.keep import show_keep
from ui.sign.movement import show_movement
from ui.sign.neighbour import show_neighbour
from ui.sign.presenter import present
from ui.sign.strangers import show_strangers
from ui.sign.you import show_you

STEPS = {"you": "1 You", "neighbour": "2 Your neighbour", "strangers": "3 Strangers", "movement": "4 Your own data set"}
STAGE = {"visitors": "Visitors of the gallery", "you": "One of you", "neighbour": "And a forger"}
RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
PRIVACY = (":material/lock: What you draw stays in this session and is gone when you close or reload the page. Nothing "
           "is kept unless you enrol at the desk, and the desk keeps numbers about how you moved, never the line. "
           "*Forget me* removes everything.")


def show() -> None:
    """The whole page."""
    setup_page("Sign", "Can someone else be you?", bare=presenting())
    presenter = presenter_switch()
    entry = None if presenter else chosen_model()
    if entry is None and not presenter:
        return

    @st.fragment
    @in_a_sentence()
    def walk() -> None:
        """All of it: a drawing runs only this again."""
        if presenter:
            before_an_audience()
            return
        assert entry is not None, "it was chosen above"
        step = st.segmented_control("Step", list(STEPS), format_func=STEPS.get, default="you", required=True,
                                    key="sign_step", label_visibility="collapsed", **KEPT)
        if step == "movement":
            show_movement(PRIVACY)
            show_keep(entry, PRIVACY)
            return
        body = st.container()
        st.divider()
        settings = choose_settings(entry)
        try:
            with body:
                if step == "neighbour" and len(book().yours) < 2:
                    st.info("First it needs something to forge: sign a few times.", icon=":material/draw:")
                    step = "you"
                {"you": show_you, "neighbour": show_neighbour, "strangers": show_strangers}[step](settings, PRIVACY)
        except (FileError, ValueError) as error:
            st.error(f"This model cannot judge it: {plain(str(error))}.", icon=":material/error:")
        show_keep(entry, PRIVACY)

    walk()


def chosen_model(place=None) -> Entry | None:
    """The model, chosen in the sidebar or at ``place``; None, and why, where there is none."""
    try:
        return choose_signature_model(place)
    except FileError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None


def before_an_audience() -> None:
    """One screen: a visitor to guess, or one of those who watch signs and the next one forges."""
    stage, below = st.container(), st.expander("Model, p, M and the line", icon=":material/tune:")
    with below:
        if (entry := chosen_model(st)) is None:
            return
        settings = choose_settings(entry)
    with stage:
        who = st.segmented_control("Who signs", list(STAGE), format_func=STAGE.get, default="visitors", required=True,
                                   key="sign_stage", label_visibility="collapsed", **KEPT)
        try:
            if who == "visitors":
                present(settings)
            elif who == "neighbour" and len(book().yours) > 1:
                st.markdown("# Who can be you?")
                show_neighbour(settings, PRIVACY)
            else:
                st.markdown("# Are you yourself?")
                show_you(settings, PRIVACY)
        except (FileError, ValueError) as error:
            st.error(f"This model cannot judge it: {plain(str(error))}.", icon=":material/error:")


def choose_settings(entry: Entry) -> Settings:
    """p, M, n and the line: whatever moves, all that was drawn is judged again."""
    gallery = gallery_of(entry)
    st.markdown("**Turn the knobs**: everything above is judged again at once.")
    with st.container(horizontal=True, gap="medium"):
        p = choose_p(gallery.p, disabled=METHODS[gallery.method].distance != "wasserstein", width=WIDE)
        points = choose_points(gallery, width=WIDE)
        n = st.slider("Signatures per try, n", 1, 5, 1, key="sign_n", width=WIDE, **KEPT,
                      help="A try is judged by the mean distance of the forger's last n signatures.")
        rate = st.select_slider("Forgers let in", RATES, 0.1, key="sign_rate", format_func="{:.0%}".format, width=WIDE,
                                **KEPT, help="At most, of those who tried to forge the model's calibration people: "
                                             "where owners lie well below, the line is in the middle. More, and it "
                                             "moves out: you get in more easily, and so do others.")
        own = st.toggle("The line follows my spread", True, key="sign_own", width=WIDE, **KEPT,
                        help="Whoever signs the same every time gets a narrow line. Off: everybody has the same.")
    return Settings(entry, p, points, n, rate, own)
