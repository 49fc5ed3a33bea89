"""The four views of the Distances page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.common.sheets import safe_of
from qpwl_core.evaluation.filter_parts import excess
from qpwl_core.evaluation.pairs import disagreeing, ranks
from qpwl_core.models.gallery import Gallery
from ui.distances.figures import against, deciding, histograms, maps, matrices, two_functions
from ui.library.comparisons import Comparison, labels_of, maps_of
from ui.library.models import Entry
from ui.shell.charts import chart
from ui.shell.controls import choose_person, forget_unknown
from ui.shell.frame import KEPT
from ui.shell.palette import COLOURS, colours_of
from ui.shell.people import name_of
from ui.shell.words import AUC_KINDS


@dataclass(frozen=True)
class Shown:
    """Some sequences of the test people of a gallery, compared in three ways."""

    entry: Entry
    gallery: Gallery
    found: Comparison
    points: int | None
    p: float
    each: int                                    # sequences of each person
    inner: bool = False                          # cosine and Euclid see the M inner values alone

    @cached_property
    def test(self) -> Gallery:
        return self.gallery.part("test")

    @cached_property
    def seen(self):
        return self.test.embeddings(self.points)

    @property
    def key(self) -> tuple[str, str]:
        return str(self.entry.folder), self.entry.card["sha256"]

    @property
    def names(self) -> dict[str, str]:
        return {"wasserstein": f"W, p = {self.p:g}", "cosine": "Cosine", "euclidean": "Euclidean"}

    @property
    def titles(self) -> list[str]:
        """What stands above a picture: the AUC is that of the pairs in it."""
        return [f"{self.names[measure]}: AUC {auc:.3f}<br><sup>over all pairs in this picture</sup>"
                for measure, auc in self.found.aucs.items()]

    @property
    def subjects(self) -> np.ndarray:
        return self.test.subjects[self.found.index]

    @property
    def genuine(self) -> int:
        return int(self.found.pairs.genuine.sum())

    @property
    def imposters(self) -> int:
        return len(self.found.pairs.genuine) - self.genuine

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Distances of all pairs, measure -> (P,)"""
        return {measure: self.found.pairs.of(distance) for measure, distance in self.found.distances.items()}

    @cached_property
    def labels(self) -> np.ndarray:
        """What each sequence of the gallery is called."""
        return labels_of(*self.key, self.test)

    @cached_property
    def pair_labels(self) -> tuple[np.ndarray, np.ndarray]:
        pairs, index = self.found.pairs, self.found.index
        return self.labels[index[pairs.first]], self.labels[index[pairs.second]]

    @property
    def alt(self) -> str:
        return (f"of {self.genuine} genuine and {self.imposters} imposter pairs by Wasserstein, cosine and Euclidean "
                "distance")

    @property
    def about_pairs(self) -> str:
        """What the AUCs above a picture are."""
        return (f"{AUC_KINDS['all pairs']} Here: {self.genuine:,} genuine and {self.imposters:,} imposter pairs of "
                f"{len(self.subjects)} sequences of {len(set(self.subjects))} test people.")

    def pairs_table(self) -> pd.DataFrame:
        one, another = self.pair_labels
        return pd.DataFrame({"first": one, "second": another, "genuine": self.found.pairs.genuine} | self.values)


def sequence_name(label: str) -> str:
    """"04 · 2" -> "Ada Moss (04) · 2"."""
    person, number = label.rsplit(" · ", 1)
    return f"{name_of(person)} · {number}"


def as_histograms(shown: Shown) -> None:
    """Distances of genuine and imposter pairs, overlapping or not."""
    chart(histograms(shown.values, shown.found.pairs.genuine, shown.titles), "distances-histograms",
          f"Histograms {shown.alt}", shown.pairs_table)
    st.caption(f"{shown.about_pairs} The less the two overlap, the better. Windows cut from one recording are not "
               "compared with each other.")


def as_matrices(shown: Shown) -> None:
    """Everyone against everyone, ordered by person."""
    chart(matrices(shown.found.distances, shown.subjects, shown.titles), "distances-matrices",
          f"Distance matrices {shown.alt}", shown.pairs_table)
    st.caption(f"A row and a column is a sequence, lines separate people, dark is near. Good: dark squares on the "
               f"diagonal only. {shown.about_pairs}")


def as_maps(shown: Shown) -> None:
    """Classical multidimensional scaling of each distance."""
    drawn = maps_of(*shown.key, shown.each, shown.points, shown.p, shown.inner, shown.found)
    shares = [f"{name}<br><sup>shows {share:.0%}</sup>"
              for name, (_, share) in zip(shown.names.values(), drawn.values(), strict=True)]
    people = shown.subjects
    chart(maps({measure: xy for measure, (xy, _) in drawn.items()}, people, colours_of(shown.gallery.people), shares),
          "distances-maps", f"Maps of {len(people)} sequences of {len(set(people))} people by three distances",
          lambda: pd.concat([pd.DataFrame(xy, columns=["x", "y"]).assign(person=people, distance=measure)
                             for measure, (xy, _) in drawn.items()]))
    st.caption("Classical multidimensional scaling: points as far apart as the distances say, as well as a plane can. "
               "“Shows”: the share of the squared distances that the two axes hold; the rest is not seen here.")


def disagree(shown: Shown) -> None:
    """One distance against another, the pairs on which they disagree, and the filters that decide one."""
    pairs, index, (one_of, other_of) = shown.found.pairs, shown.found.index, shown.pair_labels
    place = {measure: ranks(x) for measure, x in shown.values.items()}
    gap = place["wasserstein"] - place["cosine"]
    worst = disagreeing(pairs, gap, 6)
    listed = pd.DataFrame({
        "one": list(map(sequence_name, one_of[worst])), "another": list(map(sequence_name, other_of[worst])),
        "who": np.where(pairs.genuine[worst], "one person", "two people"),
        "nearer by W": 100 * place["wasserstein"][worst], "nearer by cosine": 100 * place["cosine"][worst],
        "right": np.where((gap[worst] < 0) == pairs.genuine[worst], "Wasserstein", "cosine")})

    def clicked(point: dict) -> None:
        one, other = (str(shown.labels[int(i)]) for i in point["customdata"][:2])
        st.session_state.update(distances_first=one, distances_second=other)

    def picked() -> None:
        for row in st.session_state["distances-pairs"]["selection"]["rows"]:
            one, other = one_of[worst[row]], other_of[worst[row]]
            st.session_state.update(distances_first=str(one), distances_second=str(other))

    left, right = st.columns(2, gap="large")
    with left:
        of_pair = np.column_stack([index[pairs.first], index[pairs.second]])
        chart(against(shown.values["wasserstein"], shown.values["cosine"], pairs.genuine, of_pair,
                      (shown.names["wasserstein"], "−cos")),
              "distances-scatter", f"Scatter {shown.alt}", shown.pairs_table, on_click=clicked)
    with right:
        st.markdown("Each point is a pair of sequences. Where the two distances agree, points lie on a rising line: "
                    "click one that lies off it, or choose one of those whose places in the two rankings differ most. "
                    "*Nearer* is the share of all pairs that are nearer: low is right for one person, high for two.")
        percent = st.column_config.NumberColumn(format="%.0f %%")
        st.dataframe(safe_of(listed), hide_index=True, key="distances-pairs", selection_mode="single-row",
                     on_select=picked, column_config={"nearer by W": percent, "nearer by cosine": percent},
                     alt="Pairs on which Wasserstein and cosine disagree most")
    st.subheader("Which filters decide")
    which_filters(shown, str(one_of[worst[0]]), str(other_of[worst[0]]))


def which_filters(shown: Shown, *at_first: str) -> None:
    """What each filter adds to the distance of two sequences; at first, of the pair they disagree on most."""
    names = shown.labels[shown.found.index].tolist()
    for name, label in zip(("distances_first", "distances_second"), at_first, strict=True):
        forget_unknown(name, names)
        if name not in st.session_state and st.query_params.get(name) not in names:
            st.session_state[name] = label
    row = st.container(horizontal=True, gap="medium")
    first = choose_person("One sequence", names, "distances_first", row, say=sequence_name, width=270)
    second = choose_person("Another sequence", names, "distances_second", row, say=sequence_name, width=270)
    a, b = (shown.found.index[names.index(name)] for name in (first, second))
    if a == b:
        st.info("Choose two different sequences to see which filters decide.", icon=":material/compare_arrows:")
        return
    seen, p, by_w = shown.seen, shown.p, shown.names["wasserstein"]
    pair = seen.values[[a]], seen.values[[b]]                                                  # (1, K, L) each
    parts = {"wasserstein": excess("wasserstein", *pair, seen.levels, p),
             "cosine": excess("cosine", *((x[..., 1:-1] if shown.inner else x).double() for x in pair))}
    parts = {measure: part[0].numpy() for measure, part in parts.items()}                      # {measure: (K,)}
    shares = {measure: part / part.sum() if part.sum() > 0 else part for measure, part in parts.items()}
    top = {"wasserstein": int(parts["wasserstein"].argmax()), "cosine": int(parts["cosine"].argmax())}
    whose = row.segmented_control("The filter that decides most", list(top), default="wasserstein", required=True,
                                  key="distances_top", width="content", **KEPT,
                                  format_func=lambda m: f"{shown.names[m]}: {shown.gallery.filter_name(top[m])}")
    k, best = top[whose], np.argsort(-parts[whose], kind="stable")[:12]
    left, right = st.columns(2, gap="large")
    with left:
        chart(deciding({by_w: shares["wasserstein"], "Cosine": shares["cosine"]}, best,
                       {by_w: COLOURS[0], "Cosine": COLOURS[1]}), "distances-deciding",
              f"Share of the twelve first filters in the distances of {sequence_name(first)} and "
              f"{sequence_name(second)}",
              lambda: pd.DataFrame({"filter": np.arange(len(parts["cosine"])) + 1} | parts))
        st.latex(rf"W = \sum_k W_{{{p:g}}}(k) = {parts['wasserstein'].sum():.4g}")
        st.latex(rf"\footnotesize 1 - \cos = \sum_k \tfrac12\big|\hat a_k - \hat b_k\big|^2"
                 rf" = {parts['cosine'].sum():.4g}")
        st.caption("Both are sums over filters, so a bar is a filter's part in the decision.")
    with right:
        colours = colours_of(shown.gallery.people)
        lines = {sequence_name(name): seen.values[i, k].numpy() for name, i in ((first, a), (second, b))}
        chart(two_functions(lines, seen.levels.numpy(), {sequence_name(first): colours[shown.test.subjects[a]],
                                                         sequence_name(second): colours[shown.test.subjects[b]]}),
              "distances-functions", f"Quantile functions of filter {k + 1} of {' and '.join(lines)}",
              lambda: pd.DataFrame({"level": seen.levels.numpy()} | lines))
        st.caption(f"{shown.gallery.filter_name(k).capitalize()}: "
                   f"{shares['wasserstein'][k]:.0%} of W, {shares['cosine'][k]:.0%} of what cosine "
                   "sees. For p = 1 its part is the shaded area; a larger p looks at where the lines are farthest "
                   "apart. Cosine divides each embedding by its length first: it cannot see that one recording is "
                   "stronger in all.")
