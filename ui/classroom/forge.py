"""Forge the lecturer: they sign, everybody tries from their phone, the projector shows the ladder as it fills."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from qpwl_core.common.files import FileError
from qpwl_core.common.paths import runs_folder
from qpwl_core.common.text import counted
from qpwl_core.data.capture import Capture
from ui.classroom import game
from ui.classroom.figures import RUNGS, ladder
from ui.library.models import Entry, gallery_of
from ui.library.pad import THEIRS, ink_of, pad
from ui.library.signatures import Drawing, book, seen_by, signature_models, take_signature
from ui.shell.charts import chart, table
from ui.shell.text import plain
from ui.visitors.who import is_lecturer, name_of, visitor

LEAST, LECTURER = 3, "the lecturer"


def lecturers_game() -> None:
    """Start a game, or watch the one that is on."""
    on = game.current(runs_folder())
    models = signature_models()
    if not models:
        st.info("No model for signatures is at hand.", icon=":material/model_training:")
        return
    if on is None:
        _start(next((entry for entry in models.values() if entry.method == "qp-wl"), next(iter(models.values()))))
        return
    st.markdown(f"# Who can be {plain(on.who)}?")
    st.caption("Everybody: open the page **Class** on your phone and sign as they would."
               + (" **Watch it signed** there shows it at its true speed." if on.ink is not None else ""))
    projector()
    st.button("End the game, and forget all of it", icon=":material/stop:", on_click=_end, key="forge_end")


def _start(entry: Entry) -> None:
    left, right = st.columns([1.2, 1], gap="large")
    yours = book().yours
    with left:
        st.markdown(f"**Sign a few times** ({len(yours)} so far, at least {LEAST}). It stays in this session.")
        pad("forge-owner", lambda capture: take_signature(entry, book().yours, Drawing(capture)))
    with right:
        seen = st.toggle("Everyone may watch it", True, key="forge_watch",
                         help="On their phone. Your line is then kept until the game ends. Off: they see it on the "
                              "projector alone.")
        st.button("Let them forge me", type="primary", icon=":material/play_arrow:", disabled=len(yours) < LEAST,
                  on_click=_begin, args=(entry, None, seen), key="forge_me")
        st.divider()
        part = gallery_of(entry).part("test")
        who = st.selectbox("Or nobody wants to sign: a person of the gallery", part.people, key="forge_person")
        st.caption("Nothing of them can be watched, for a gallery keeps no lines: the model's word is the only hint.")
        st.button("Let them forge this person", icon=":material/play_arrow:", on_click=_begin, args=(entry, who, False),
                  key="forge_them")


@st.fragment(run_every=2.0)
def projector() -> None:
    """The ladder, the best forger, and why the others failed: looked at every two seconds."""
    on = game.current(runs_folder())
    if on is None:
        st.rerun()
    rows = game.tries(on)
    best = game.best_of(rows)
    if not best:
        st.info("Nobody has tried yet.", icon=":material/hourglass_empty:")
        return
    first = best[0]
    inside = [row for row in best if row["times"] <= 1]
    st.markdown(f"### :material/emoji_events: {plain(first['name'])}: {first['times']:.2f} times the line"
                + (", and in" if first["times"] <= 1 else ""))
    failed = [row for row in best if row["times"] > 1]
    told = Counter(row["why"] for row in failed).most_common(3)
    why = ", ".join(f"{why} gave away {count}" for why, count in told)
    count = f"{counted(len(rows), 'try', 'tries')} by {counted(len(best), 'person', 'people')}"
    st.markdown(f"{count}; {len(inside)} got in." + (f" **Why the others failed**: {why}." if why else ""))
    chart(ladder(best, rows), "forge-ladder",
          f"The best {min(len(best), RUNGS)} of {len(best)} people; left of the line is in",
          pd.DataFrame(rows).drop(columns=["visitor", "game"]))
    with st.expander("Everyone's best", icon=":material/table:"):
        table(pd.DataFrame([{"who": row["name"], "tries": row["tries"], "times the line": f"{row['times']:.2f}",
                             "given away by": row["why"] if row["times"] > 1 else "in"} for row in best]),
              "The best try of everyone")


def students_game() -> None:
    """The pad, and what came of the last try; nothing where no game is on."""
    on = game.current(runs_folder())
    entry = next((entry for entry in signature_models().values() if on and entry.card["sha256"] == on.model), None)
    if on is None or entry is None:
        return
    st.subheader(f"Can you be {on.who}?", anchor=False)
    verdicts = st.session_state.setdefault(f"forge_{on.id}", [])
    said = ""
    if verdicts:
        last, best = verdicts[-1], min(verdict.times for verdict in verdicts)
        said = (f"{last.times:.2f} times the line: in!" if last.accepted else
                f"{last.times:.2f} times the line: out. Given away by {last.why}.") + f" Your best: {best:.2f}."
    pad(f"forge-{on.id}", lambda capture: _try(on, entry, capture), colour=THEIRS, ghost=on.ink, said=said,
        hint="Sign as they would")
    st.caption("Only how far you were is written down, under the name you gave; what you draw stays in this session.")


def _try(on: game.Game, entry: Entry, capture: Capture) -> str | None:
    drawings: list[Drawing] = []
    drawing = Drawing(capture, imitates=True)
    if wrong := take_signature(entry, drawings, drawing):
        return wrong
    try:
        now = game.current(runs_folder())
        if now is None or now.id != on.id:
            return "That game is over."
        verdict = game.judge(on, entry, seen_by(entry, drawings))
        game.add_try(on, visitor(), name_of(visitor()), verdict)
    except (FileError, ValueError) as error:
        return f"It does not count: {error}."
    finally:
        book().seen.pop((entry.card["sha256"], drawing.token), None)
    st.session_state.setdefault(f"forge_{on.id}", []).append(verdict)
    return None


def _begin(entry: Entry, who: str | None, seen: bool) -> None:
    if not is_lecturer():
        return
    try:
        if who is None:
            yours = book().yours
            game.begin(runs_folder(), LECTURER, entry.card["sha256"], seen_by(entry, yours),
                       ink_of(yours[-1].capture.values) if seen else None)
        else:
            part = gallery_of(entry).part("test")
            game.begin(runs_folder(), who, entry.card["sha256"], part.select((part.subjects == who).nonzero()[0][:5]),
                       None)
    except (FileError, ValueError) as error:
        st.session_state["class_problem"] = str(error)


def _end() -> None:
    if is_lecturer():
        try:
            game.end(runs_folder())
        except FileError as error:
            st.session_state["class_problem"] = str(error)
