"""Step 3, strangers: the held-out people of the gallery knock at your door, and their forgers at theirs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.evaluation.sessions import sessions_of
from qpwl_core.models.gallery import Gallery
from ui.library.models import gallery_of
from ui.library.signatures import book, seen_by
from ui.shell.charts import chart
from ui.shell.controls import forget_unknown
from ui.shell.curves import GENUINE, IMPOSTER
from ui.shell.frame import KEPT
from ui.shell.people import named
from ui.shell.text import plain
from ui.sign import figures
from ui.sign.judging import Settings, alike, judge
from ui.sign.verdicts import at_levels, best_filters, show_line

YOUR = "yours"
ENROLLED = 5


def show_strangers(settings: Settings, privacy: str) -> None:
    """Whose door, who knocks there, who gets in."""
    test = gallery_of(settings.entry).part("test", forgeries=True)
    names = named(test.people)
    doors = ([YOUR] if len(book().yours) > 1 else []) + test.people
    forget_unknown("sign_door", doors)
    if len(book().yours) < 2:
        st.info("Sign twice under *1 You*, and strangers knock at your own door, too.", icon=":material/draw:")
    door = st.selectbox("Whose door", doors, key="sign_door", width=320, **KEPT,
                        format_func=lambda who: "Your own" if who == YOUR else names[who],
                        help="The others are people whom the model never learned from; their recordings are not here, "
                             "only what the model saw in them.")
    if door == YOUR:
        _your_door(settings, test, names)
    else:
        _their_door(settings, test, names, door)


def _your_door(settings: Settings, test: Gallery, names: dict[str, str]) -> None:
    """Every stranger's signatures, one after the other, against yours."""
    mine = seen_by(settings.entry, book().yours)
    rows = [("you", alike(settings, mine), [str(i + 1) for i in range(len(mine))], figures.YOURS)]
    tried, got_in, nearest = 0, 0, (np.inf, "")
    for person in test.people:
        found = judge(settings, mine, test.select((test.subjects == person) & ~test.is_forgery))
        rows.append((names[person].partition(" (")[0], found.d, ["" for _ in found.d], figures.GREY))
        tried, got_in = tried + len(found.d), got_in + int(found.accepted.sum())
        nearest = min(nearest, (float(found.d.min()), names[person]))
    st.markdown(f"### {got_in if got_in else 'None'} of {tried} tries {'get' if got_in > 1 else 'gets'} in as you")
    st.markdown(f"{len(test.people)} strangers sign *their own* names at your door. The nearest is "
                f"{plain(nearest[1])}, at {nearest[0] / found.threshold:.1f} times the line. They did not try; your "
                "neighbour does.")
    chart(figures.ladder(rows, found.threshold), "sign-strangers",
          f"Distances of {tried} signatures of strangers to yours; line at {found.threshold:.3g}", _data(rows))
    show_line(found, settings)


def at_the_door(test: Gallery, door: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a held-out person: what is enrolled, of the first day; what is left of theirs; what forges them. Indices."""
    own = np.flatnonzero((test.subjects == door) & ~test.is_forgery)
    sessions = sessions_of(test.stimuli)
    first = own[sessions[own] == sessions[own].min()] if sessions is not None else own
    held = first[:min(ENROLLED, max(1, len(own) - 1))]
    forged = np.flatnonzero(test.imitates == door) if test.imitates is not None else np.array([], int)
    return held, np.setdiff1d(own, held), forged


def _their_door(settings: Settings, test: Gallery, names: dict[str, str], door: str) -> None:
    """Enrol five signatures of a held-out person; they, their forgers and strangers knock."""
    held, left, forged = at_the_door(test, door)
    others = np.flatnonzero((test.subjects != door) & ~test.is_forgery)
    enrolled, rows, counts = test.select(held), [], {}
    for kind, index, colour in (("the owner", left, GENUINE), ("forgers", forged, IMPOSTER),
                                ("strangers", others, figures.GREY)):
        if len(index):
            found = judge(settings, enrolled, test.select(index))
            rows.append((kind, found.d, ["" for _ in found.d], colour))
            counts[kind] = f"{int(found.accepted.sum())} of {len(index)} tries of {kind}"
    who = names[door].partition(" (")[0]
    st.markdown(f"### At {plain(who)}'s door, {'; '.join(counts.values())} get in")
    st.markdown(f"{len(held)} signatures of {plain(names[door])} are enrolled. The forgers watched the owner sign and "
                "practised; some traced the line on the screen.")
    chart(figures.ladder(rows, found.threshold), "sign-their-door",
          f"Distances at {who}'s door; line at {found.threshold:.3g}", _data(rows))
    if len(forged):
        nearest = forged[int(np.argmin(judge(settings, enrolled, test.select(forged)).near))]
        filters = best_filters(settings.entry)
        values, levels = at_levels(enrolled, settings, filters)
        gallery = gallery_of(settings.entry)
        st.markdown("**The best forgery over the owner's own**, in three filters:")
        chart(figures.functions(levels, values, at_levels(test.select([nearest]), settings, filters)[0][0],
                                [gallery.filter_name(int(k)) for k in filters], "the owner", "the best forgery"),
              "sign-their-functions", "Quantile functions of three filters of the owner, and of the best forgery")
    show_line(found, settings)


def _data(rows) -> pd.DataFrame:
    return pd.DataFrame([{"who": who, "distance": x} for who, distances, _, _ in rows for x in distances])
