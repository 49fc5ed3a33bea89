"""Two views of the Filters page: all filters ranked, and one of them large."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
import torch

from qpwl_core.models.gallery import Gallery
from qpwl_core.transport.quantiles import density
from ui.filters.figures import large, overview
from ui.library.comparisons import Ranking
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.palette import colours_of
from ui.shell.words import AUC_KINDS

BEST = 12                # filters that are shown at first
THIN = 40                # sequences of one person that are drawn


def all_of_them(gallery: Gallery, found: Ranking, chosen: list[str], best_first: np.ndarray,
                points: int | None, p: float) -> None:
    """Every filter's AUC, and small pictures of the best; a click shows one large."""
    picture = st.container()                      # first, so that it stands beside the knobs that change it
    shown = best_first[:BEST] if st.toggle(f"Only the best {BEST}", True, key="filters_best", **KEPT) else best_first
    st.markdown("The network turns a recording into filters; of each we keep the whole distribution over the "
                "recording, as a quantile function. A filter is good where lines of different colours lie apart.")
    st.latex(rf"\begin{{aligned}} \mathrm{{AUC}}_k = P\big(\, &W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, "
             rf"\bar Q_k^{{\,\text{{same person}}}}) \\ < \; &W_{{{p:g}}}(\bar Q_k^{{\,\text{{one}}}}, "
             r"\bar Q_k^{\,\text{another}})\,\big) \end{aligned}")
    test, colours = gallery.part("test"), colours_of(gallery.people)
    seen = test.embeddings(points)
    values, levels = seen.values.numpy(), seen.levels.numpy()
    means = {person: values[test.subjects == person].mean(0) for person in chosen}            # (K, L)

    def means_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "filter": i + 1, "auc": found.aucs[i], "level": levels,
                                        "value": means[person][i]}) for i in best_first for person in chosen])

    def picked(point: dict) -> None:
        st.session_state.update(filter=int(np.ravel(point["customdata"])[0]), filters_view="one")

    with picture:
        chart(overview(found.aucs, shown, means, levels, colours), "filters-all",
              f"Bars: AUC of each of {len(best_first)} filters alone. Small pictures of {len(shown)} filters: the mean "
              f"quantile function of {len(chosen)} people in each", means_table, on_click=picked)
    st.caption(f"{AUC_KINDS['all pairs']} Measured on {found.sequences} sequences of {found.people} test people, "
               f"{found.genuine:,} genuine and "
               f"{found.imposters:,} imposter pairs; 0.5 is guessing. The best filter alone reaches "
               f"{found.aucs.max():.3f}, the middle one {np.median(found.aucs):.3f}. Above each picture its number and "
               "AUC; it is scaled to its own range, and a line is a person's mean. Click a bar or a picture.")


def one_large(gallery: Gallery, number: int, chosen: list[str], points: int | None) -> None:
    """One filter: quantile functions of every sequence, and the densities behind their means."""
    test, colours = gallery.part("test"), colours_of(gallery.people)
    seen = test.embeddings(points)
    values, levels = seen.values[:, number - 1].numpy(), seen.levels.numpy()
    functions = {person: values[test.subjects == person] for person in chosen}                # (n, L)
    heights = {person: density(torch.from_numpy(x.mean(0)), seen.levels)[1].numpy() for person, x in functions.items()}

    def functions_table() -> pd.DataFrame:
        return pd.concat([pd.DataFrame({"person": person, "sequence": i + 1, "level": levels, "value": line})
                          for person, lines in functions.items() for i, line in enumerate(lines)])

    few = {person: lines[:THIN] for person, lines in functions.items()}
    chart(large(few, levels, heights, colours), "filters-one",
          f"Filter {number}: quantile functions of {len(chosen)} people, each sequence thin and the means bold, and "
          "the densities behind the means", functions_table)
    where = "learned by the model" if points is None and gallery.model_levels is not None else "evenly spaced"
    left, right = st.columns(2, gap="large")
    left.caption("Thin: one sequence; bold: the person's mean, which is the Wasserstein barycentre of their "
                 f"distributions. Dotted: the {len(levels) - 2} levels, {where}.")
    right.caption("The means read the other way round: between two levels lies a known share of all frames, so the "
                  "density is that share over the distance of the two quantiles.")
    st.latex(r"\begin{gathered} q(x) = \frac{r_{i+1} - r_i}{\bar Q(r_{i+1}) - \bar Q(r_i)} \\[6pt] \text{for } "
             r"\bar Q(r_i) \le x < \bar Q(r_{i+1}) \end{gathered}")
