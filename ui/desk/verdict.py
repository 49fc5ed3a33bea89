"""How the enrolment desk shows a decision: the verdict, the ladder of distances, and why, filter by filter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.desk.decisions import Decision
from qpwl_core.desk.space import Space
from qpwl_core.models.methods import METHODS
from ui.desk import figures
from ui.shell.charts import chart
from ui.shell.text import plain

SHOWN = 25       # people on the ladder; beyond them it is too long to read


def show_verdict(decision: Decision, size: str = "###") -> None:
    """Accepted or rejected, in letters of this ``size`` and the formula with its numbers."""
    mark, colour = ("check_circle", "green") if decision.accepted else ("block", "red")
    st.markdown(f"{size} :{colour}[:material/{mark}: {plain(decision.verdict)}]")
    sign = r"\le" if decision.accepted else ">"
    left = r"\min_j d_j" if decision.claimed is None else "d_j"
    st.latex(rf"{left}({decision.n}) = {decision.distance:.4g} \;{sign}\; {decision.threshold:.4g}"
             r" = \text{threshold}")


def show_truth(decision: Decision, truth: str, known_as: str | None) -> bool:
    """Say whether the desk was right about a person of whom we know who they are; returns whether it was."""
    who = f"It really was {plain(truth)}"
    if known_as is not None and not truth.startswith(known_as):          # "Ada Moss (04)" is enrolled as Ada Moss
        who += f", enrolled as {plain(known_as)}"
    wanted = known_as if decision.claimed in (None, known_as) else None
    right = decision.person == wanted
    outcome = {(True, True): "A correct match.", (True, False): "A false match: someone got in as another.",
               (False, True): "Rightly sent away.", (False, False): "A false rejection: an owner was sent away."}
    text = f"{who}{'' if known_as else ', who is not enrolled'}. {outcome[decision.accepted, right]}"
    (st.success if right else st.warning)(text, icon=":material/visibility:")
    return right


def show_ladder(decision: Decision, colours: dict[str, str], key: str, large: bool = False) -> None:
    """Everyone's distance, and the threshold."""
    data = pd.DataFrame({"person": decision.names, "distance": decision.distances})
    names, distances = list(decision.names[:SHOWN]), decision.distances[:SHOWN]
    chart(figures.ladder(names, distances, colours, decision.threshold, large), key,
          f"Distances to {len(names)} enrolled people, {distances[0]:.4g} to {distances[-1]:.4g}; "
          f"threshold {decision.threshold:.4g}", data)
    if len(decision.names) > SHOWN:
        known = "all" if len(decision.names) == decision.enrolled else f"{len(decision.names)} of them"
        spared = f" {decision.pruned:.1%} of the sequences were too far away to be compared." if decision.pruned else ""
        st.caption(f"The nearest {SHOWN} of {decision.enrolled} people; the export has {known}.{spared}")


def show_reasons(decision: Decision, space: Space, colours: dict[str, str], key: str) -> None:
    """What each filter adds to the distance to the one person and to the next best, and the filter that tells most."""
    names = list(decision.compared)
    data = pd.DataFrame({"filter": np.arange(1, decision.filters.shape[1] + 1)} |
                        dict(zip(names, decision.filters, strict=True)))
    first, *second = names
    st.subheader("Why? Filter by filter", anchor=False)
    if second:
        for_first = int((decision.filters[0] < decision.filters[1]).sum())
        st.markdown(f"{for_first} of {decision.filters.shape[1]} filters speak for **{plain(first)}** against "
                    f"**{plain(second[0])}**. What all filters add is the distance: {decision.filters[0].sum():.4g} "
                    f"against {decision.filters[1].sum():.4g}.")
    left, right = st.columns(2, gap="large")
    with left:
        chart(figures.contributions(decision.filters, names, colours), f"{key}-filters",
              f"What the most telling filters add to the distance to {' and '.join(names)}", data)
        st.caption("The filters that differ most. What is smaller is closer.")
    with right:
        show_functions(decision, space, names, colours, f"{key}-functions")


def show_functions(decision: Decision, space: Space, names: list[str], colours: dict[str, str], key: str,
                   large: bool = False) -> None:
    """The quantile functions of the filter that tells most: what was presented, and the nearest of those compared."""
    k = int(figures.telling(decision.filters)[0])
    if space.levels is None:
        st.info(f"{METHODS[space.method].title} keeps no quantile functions to look at.", icon=":material/info:")
        return
    levels = np.array(space.levels)
    levels = levels[1:-1] if METHODS[space.method].flatten == "inner" else levels
    of = lambda x: space.split(x)[:, k].numpy()
    curves = [(name, of(theirs), colours[name], False) for name, theirs in zip(names, decision.matched, strict=True)]
    curves.append(("presented", of(decision.presented), "#999999", True))
    chart(figures.functions(curves, levels, large), key,
          f"Quantile functions of filter {k + 1} of what was presented and of the nearest enrolled sequences")
    st.caption(f"Filter {k + 1} tells most: dotted what was presented, solid the nearest enrolled sequences.")
