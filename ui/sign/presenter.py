"""Sign before an audience: somebody signs at the door of a person whom the model never learned from. Is it them?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from qpwl_core.models.gallery import Gallery
from ui.library.models import gallery_of
from ui.shell.curves import IMPOSTER
from ui.shell.people import called
from ui.shell.presenter import YES, Question, balanced, put_question
from ui.shell.text import plain
from ui.sign import figures
from ui.sign.judging import Settings, alike, judge
from ui.sign.strangers import at_the_door
from ui.sign.verdicts import at_levels, best_filters

FORGED = "A forger"


def present(settings: Settings) -> None:
    """One screen: of every four visitors two are the owner, two have practised the owner's signature."""
    test = gallery_of(settings.entry).part("test", forgeries=True)
    if not doors_of(test):
        st.markdown("# Who signs?")
        st.info("Nobody forged the held-out people of this model. Let one of you sign, or choose another model below.",
                icon=":material/draw:")
        return
    put_question("present-sign", (settings.entry.id, settings.p, settings.points, settings.rate, settings.own), "Line",
                 lambda visitor, seed: _ask(settings, test, visitor, seed))


def doors_of(test: Gallery) -> list[str]:
    """People whom somebody imitates, and of whom a signature is left to come with."""
    return [person for person in test.people if all(len(index) for index in at_the_door(test, person))]


def _ask(settings: Settings, test: Gallery, visitor: int, seed: int):
    """Who comes, what the line says, and the picture: three filters, and once it is revealed the distances."""
    genuine, before = balanced(visitor, seed)
    doors = doors_of(test)
    turn, which = divmod(before, len(doors))
    door = str(np.random.default_rng([seed, turn, genuine]).permutation(doors)[which])
    held, left, forged = at_the_door(test, door)
    one = test.select([int(np.random.default_rng([seed, visitor]).choice(left if genuine else forged))])
    enrolled, who = test.select(held), called(test.people)[door]
    found = judge(settings, enrolled, one)
    question = Question(f"Visitor {visitor} signs as {plain(who)}. Is it them?", [YES, FORGED],
                        YES if genuine else FORGED, YES if found.accepted[0] else FORGED,
                        f"It really was {plain(who)}." if genuine else
                        f"It was somebody who watched {plain(who)} sign, and practised.")

    def picture(shown: bool):
        if shown:
            rows = [(who, alike(settings, enrolled), ["" for _ in held], figures.YOURS),
                    ("this visitor", found.d, [""], IMPOSTER)]
            return figures.ladder(rows, found.threshold, (1, 0), height=300)
        filters, gallery = best_filters(settings.entry), gallery_of(settings.entry)
        values, levels = at_levels(enrolled, settings, filters)
        return figures.functions(levels, values, at_levels(one, settings, filters)[0][0],
                                 [gallery.filter_name(int(k)) for k in filters], who, "this visitor", height=300)

    return question, picture
