"""Step 1, you: sign five times, and see how alike your signatures are."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ui.library.models import gallery_of
from ui.library.pad import pad
from ui.library.signatures import Drawing, book, seen_by, take_signature
from ui.shell.charts import chart
from ui.sign import figures
from ui.sign.judging import Settings, alike, judge
from ui.sign.verdicts import at_levels, best_filters, show_line, show_verdict

ENOUGH = 5
FEW = {2: "Three more.", 3: "Two more.", 4: "One more."}


def show_you(settings: Settings, privacy: str) -> None:
    """The pad beside the verdict, then ink and speed, then the quantile functions."""
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        st.markdown(f"**Sign {ENOUGH} times**, each time the way you always do, and press *Done* after each.")
        place = st.container()
        if not book().yours:
            st.caption(privacy)
    yours, said = book().yours, ""
    with right:
        show_progress(len(yours))
        if not yours:
            st.markdown("A network looks at how your hand moves: how fast, in which direction, how it speeds up and "
                        "slows down. It keeps the *distribution* of all that, and compares distributions.")
        elif len(yours) == 1:
            said = "Got it. Sign once more, and see whether you are still you."
            st.success(said, icon=":material/draw:")
        else:
            said = show_alike(settings, seen_by(settings.entry, yours))
    with place:          # last, with what came of it: on a phone the verdict stands where the finger is
        pad("sign-pad-you", lambda capture: take_signature(settings.entry, book().yours, Drawing(capture)), said=said,
            hint=f"Sign here, number {len(yours) + 1}")
    if yours:
        show_pictures(settings, seen_by(settings.entry, yours))


def show_progress(count: int) -> None:
    """How many there are, and the way on."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(f"{count} of {ENOUGH} signatures", icon=":material/check:" if count >= ENOUGH else ":material/draw:",
                 color="green" if count >= ENOUGH else "blue")
        if count >= ENOUGH:
            st.button("Hand it to your neighbour", type="primary", icon=":material/group:", key="sign-next",
                      on_click=st.session_state.update,
                      kwargs={"sign_step": "neighbour", "sign_stage": "neighbour"})     # also before an audience


def show_alike(settings: Settings, seen) -> str:
    """The last signature against those before it: the first verdict on oneself, also returned in a few words, and what
    to do about it."""
    yours = book().yours
    last = len(yours) - 1
    one = Settings(settings.entry, settings.p, settings.points, 1, settings.rate, settings.own)
    judged = judge(one, seen.select(np.arange(last)), seen.select([last]))
    words = f"Number {last + 1} is you", f"Number {last + 1}: is that you?"
    show_verdict(judged, 0, *words)
    apart, times = alike(one, seen), judged.near[0] / judged.spread
    if judged.accepted[0]:
        st.markdown(f"It lies {times:.1f} times your spread away from the nearest of the others; up to "
                    f"{judged.theta:.1f} times passes. {FEW.get(len(yours), '')}")
    else:
        odd = int(np.argmax(apart))
        st.markdown(f"It is {times:.1f} times your spread away from the others, and {judged.theta:.1f} times passes. A "
                    "slip, a scribble, or another mood? Take one out and sign again.")
        with st.container(horizontal=True):
            for i in sorted({last, odd}):
                st.button(f"Take number {i + 1} out", key=f"sign-out-{i}", icon=":material/undo:", on_click=yours.pop,
                          args=(i,))
    show_line(judged, one)
    return f"✓ {words[0]}" if judged.accepted[0] else f"{words[1]} {times:.1f} times your spread from the others"


def show_pictures(settings: Settings, seen) -> None:
    """Ink, speed along the line, and the quantile functions of the best filters, growing line by line."""
    yours = book().yours
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Your hand**: number {len(yours)}, coloured by speed")
        chart(figures.ink(yours[-1].capture), "sign-ink", "Your last signature, coloured by speed")
    with right:
        st.markdown("**The same over time**: fast and slow, all of them")
        chart(figures.speeds([drawing.capture for drawing in yours]), "sign-speed",
              f"Speed over time of {len(yours)} signatures")
    filters = best_filters(settings.entry)
    values, levels = at_levels(seen, settings, filters)
    st.markdown("**What the network keeps of you**: the distribution of three of its filters, as quantile functions. "
                "One line per signature: where they lie on each other, you are like yourself.")
    names = gallery_of(settings.entry)
    chart(figures.functions(levels, values, None, [names.filter_name(int(k)) for k in filters]), "sign-functions",
          f"Quantile functions of three filters, {len(yours)} lines each")
    st.markdown(r"$\bar Q_k(r)$: a share $r$ of what filter $k$ gives during your signature lies below this value.")
