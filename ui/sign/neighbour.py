"""Step 2, your neighbour: watches you sign, practises, tries; in or out, and what gave them away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.desk.claims import spread_of
from ui.library.models import gallery_of
from ui.library.pad import THEIRS, ink_of, pad
from ui.library.signatures import Drawing, book, seen_by, take_signature
from ui.shell.charts import chart, table
from ui.shell.text import plain
from ui.sign import figures
from ui.sign.judging import Judged, Settings, alike, between, gave_away, in_words, judge
from ui.sign.verdicts import OTHER, at_levels, show_line, show_verdict

NAME = "Neighbour {}"
COLOURS = (THEIRS, "#E69F00", "#CC79A7", "#56B4E9", "#999999")
SHOWN = 3                # filters that gave them away


def show_neighbour(settings: Settings, privacy: str) -> None:
    """The pad with the owner's ink to watch, the verdict beside it, the ladder, and why."""
    yours = book().yours
    mine = seen_by(settings.entry, yours)
    typical = int(np.argmin(np.median(between(settings, mine, mine), axis=1)))
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        name = show_who()
        with st.container(horizontal=True):
            trace = st.toggle("Leave it there to trace", key="sign_trace", width="content",
                              help="The owner's line stays faintly on the pad, as the best forgers of SUSIG had it.")
            practice = st.toggle("Just practising", key="sign_practice", width="content",
                                 help="Judged, but it does not count.")
        place = st.container()
    tries = book().tries
    with right:
        if not tries:
            st.markdown(f"Hand the mouse or the phone to somebody. They press **▶ Watch it signed** to see signature "
                        f"{typical + 1} drawn at its true speed, as often as they like, and then try to be you.")
            said = ""
    if tries:
        with right:
            said, judged, theirs = _judge_last(settings, mine, tries)
    with place:          # last, with what came of it: on a phone the verdict stands where the finger is
        pad("sign-pad-neighbour", lambda capture: take_signature(
            settings.entry, book().tries, Drawing(capture, name, imitates=True, practice=practice)), colour=THEIRS,
            ghost=ink_of(yours[typical].capture.values), trace=trace, said=said,
            hint="Watch it signed, then forge it here")
    if tries:
        show_ladder(settings, mine, judged)
        show_why(settings, mine, theirs[-1], judged, len(theirs) - 1)


def _judge_last(settings: Settings, mine, tries: list[Drawing]) -> tuple[str, Judged, list[Drawing]]:
    """The verdict on the last try; in a few words, with all tries of whoever made it."""
    last = tries[-1]
    theirs = [drawing for drawing in tries if (drawing.who, drawing.practice) == (last.who, last.practice)]
    judged, i = judge(settings, mine, seen_by(settings.entry, theirs)), len(theirs) - 1
    words = "gets in as you", "stays out"
    show_verdict(judged, i, *(f"{plain(last.who)} {word}" for word in words), OTHER)
    st.caption(f"Try {i + 1} of {plain(last.who)}" + (", for practice: it does not count" if last.practice else "")
               + (f"; the last {min(settings.n, i + 1)} of n = {settings.n} signatures" if settings.n > 1 else ""))
    show_line(judged, settings)
    accepted = bool(judged.accepted[i])
    times = judged.d[i] / judged.threshold
    return f"{last.who} {words[not accepted]}: {times:.2f} times the line", judged, theirs


def show_who() -> str:
    """Whose turn it is, and the button for the next one."""
    if "sign_forger" not in st.session_state:
        st.session_state["sign_forger"] = NAME.format(1)

    def following() -> None:
        names = {drawing.who for drawing in book().tries} | {st.session_state["sign_forger"]}
        number = 1
        while NAME.format(number) in names:
            number += 1
        st.session_state["sign_forger"] = NAME.format(number)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Who tries?", key="sign_forger", max_chars=40, width=230)
        st.button("Who is next?", icon=":material/skip_next:", on_click=following, key="sign-following")
    name = " ".join(name.split())
    return name if name and name.lower() != "you" else NAME.format(1)


def show_ladder(settings: Settings, mine, judged: Judged) -> None:
    """Every try between the owner's own signatures and the line, and the best of everyone."""
    tries = [drawing for drawing in book().tries if not drawing.practice]
    rows = [("you", alike(settings, mine), [str(i + 1) for i in range(len(mine))], figures.YOURS)]
    best = []
    for k, name in enumerate(dict.fromkeys(drawing.who for drawing in tries)):
        theirs = [drawing for drawing in tries if drawing.who == name]
        found = judge(settings, mine, seen_by(settings.entry, theirs))
        rows.append((name, found.d, [str(i + 1) for i in range(len(theirs))], COLOURS[k % len(COLOURS)]))
        best.append({"who": name, "tries": len(theirs), "best": found.d.min(), "got in": int(found.accepted.sum())})
    left, right = st.columns([1.5, 1], gap="large")
    with left:
        st.markdown("**The ladder**: left of the line is let in")
        marked = (len(rows) - 1, len(rows[-1][1]) - 1) if len(rows) > 1 else None
        chart(figures.ladder(rows, judged.threshold, marked), "sign-ladder",
              f"Your own distances, {len(tries)} tries and the line at {judged.threshold:.3g}",
              pd.DataFrame([{"who": who, "number": word, "distance": x} for who, distances, words, _ in rows
                            for word, x in zip(words, distances, strict=True)]))
    with right:
        if not best:
            return
        st.markdown("**Best tries**")
        ranked = sorted(best, key=lambda row: row["best"])
        first = ranked[0]["best"] / judged.threshold
        st.markdown(f":material/emoji_events: {plain(ranked[0]['who'])}: {first:.2f} times the line" +
                    (", and in." if first <= 1 else f", {100 * (first - 1):.0f} % beyond it."))
        table(pd.DataFrame([{"who": row["who"], "tries": row["tries"], "times the line":
                             f"{row['best'] / judged.threshold:.2f}", "got in": row["got in"]} for row in ranked]),
              "The best try of everyone")


def show_why(settings: Settings, mine, last: Drawing, judged: Judged, i: int) -> None:
    """The filters that gave them away, drawn over the owner's; and what one can see with the eye."""
    one = seen_by(settings.entry, [last])
    parts, usual = gave_away(settings, mine, one, int(judged.nearest[i]))
    order = np.argsort(-(parts - usual), kind="stable")[:SHOWN]
    names = gallery_of(settings.entry)
    total = judged.near[i]
    what = "It was close enough. What still differs" if judged.accepted[i] else "What gave them away"
    st.markdown(f"**Why?** {what}: the three filters that differ most from what is usual among your own "
                "signatures.")
    values, levels = at_levels(mine, settings, order)
    other = at_levels(one, settings, order)[0][0]
    shares = parts / max(float(np.abs(parts).sum()), 1e-12)
    titles = [f"{names.filter_name(int(k))}: {max(float(shares[k]), 0):.0%} of it" for k in order]
    chart(figures.functions(levels, values, other, titles, "yours", last.who), "sign-why",
          f"Quantile functions of three filters: yours, and those of {last.who}")
    st.latex(rf"\begin{{aligned}} d &= \sum_k W_{{{settings.p:g}}}\big(\bar Q_k^{{\,\text{{try}}}}, "
             rf"\bar Q_k^{{\,\text{{nearest of yours}}}}\big) \\ &= {total:.3g}, \;\text{{ among yours typically }} "
             rf"{spread_of(between(settings, mine, mine)):.3g} \end{{aligned}}")
    if seen := in_words(last.capture, [drawing.capture for drawing in book().yours]):
        st.markdown("To the eye: " + "; ".join(seen) + ".")
