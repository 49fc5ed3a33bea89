"""What can be asked of a trained model without training it again: other M and p, and fewer enrolled sequences.

The answers go into the record of a cell as wins at n = 1 (`record`), so that they come with intervals over people.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.models.gallery import Gallery
from qpwl_core.study.record import packed_wins
from qpwl_core.study.scores import stack_of
from qpwl_core.study.sets import SETS, Cell
from qpwl_core.study.variants import ORDERS, POINTS

SWEPT = ("qp-wl", "untrained")
ENROLLED = (1, 2, 3, 5, 10, 20)
MANY, SPLITS = 30, 3      # of so many people wins take much room: only the first splits are asked


def swept(cell: Cell) -> bool:
    """Whether these questions are asked of a cell: of QP-WL and of no network at all, as the main table has them.

    Of QP-WL as M and p are asked of it, too, where that is another model (`plan.asked`).
    """
    return cell.method in SWEPT and cell.variant in ("", "narrow") and not SETS[cell.set].fixed


def sweep(cell: Cell, test, gallery: Gallery) -> dict[str, dict[str, str]]:
    """{"points": {"4": wins, …}, "p": {…}, "enrolled": {…}}; ``test``: its distances (`cells.Distances`)."""
    shown, test = gallery.part("test"), test.genuine()
    if len(shown.people) > MANY and cell.seed >= SPLITS:
        return {}

    def wins(**how) -> str:
        return packed_wins(stack_of(replace(test, values=shown.distances(**how)), cell.seed)[0][:, 0])

    return {"points": {str(points): wins(points=points) for points in POINTS},
            "p": {f"{p:g}": wins(p=p) for p in ORDERS},
            "enrolled": {str(most): packed_wins(stack) for most, stack in fewer_enrolled(test, cell.seed).items()}}


def fewer_enrolled(test, seed: int) -> dict[int, np.ndarray]:
    """d_j(1) with so many enrolled sequences of each person, drawn by the seed, the same ones first. {E: (R, S, S)}

    Of a person only sequences count that may be compared with the observed one (not a window of the same recording),
    and only numbers that all people can give.
    """
    drawn = draw(test.subjects, seed=seed, groups=fair_groups(test.subjects, test.sources))
    people = len(drawn.people)
    found: dict[int, list[np.ndarray]] = {most: [] for most in ENROLLED}
    for repeat, observed in enumerate(drawn.observed[:, :, 0]):
        columns = np.random.default_rng([seed, repeat]).permutation(drawn.enrolled(repeat))
        columns = columns[np.argsort(drawn.owner[columns], kind="stable")]
        starts = np.searchsorted(drawn.owner[columns], np.arange(people))
        allowed = np.ones((people, len(columns)), dtype=bool)
        if drawn.groups is not None:
            allowed = drawn.groups[observed][:, None] != drawn.groups[columns]
        place = np.cumsum(allowed, axis=1)                                   # which of the allowed ones, over all
        place -= np.repeat(place[:, starts] - allowed[:, starts], np.diff([*starts, len(columns)]), axis=1)
        least = np.add.reduceat(allowed, starts, axis=1).min()
        between = test.values[np.ix_(observed, columns)]
        for most in list(found):
            if least < most:
                del found[most]
                continue
            near = np.where(allowed & (place <= most), between, np.inf)
            found[most].append(np.minimum.reduceat(near, starts, axis=1))
    return {most: np.array(stacks) for most, stacks in found.items()}
