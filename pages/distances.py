"""Does the Wasserstein distance see more than cosine: three distances on one embedding, and what decides a pair."""

import numpy as np
import pandas as pd
import streamlit as st

from qpwl_core.comparing import contributions, disagreeing, ranks
from qpwl_core.methods import METHODS
from ui.comparing import comparison_of, labels_of, maps_of
from ui.controls import KEPT, choose_p, choose_points, forget_unknown, gallery_or_stop
from ui.figures.distances import against, deciding, histograms, maps, matrices, two_functions
from ui.library import choose_model
from ui.page import COLOURS, chart, colours_of, plain, setup_page

MOST = 400               # sequences in a picture
VIEWS = {"histograms": "Histograms", "matrices": "Matrices", "maps": "Maps", "disagree": "Where they disagree"}

setup_page("Distances", "Does the Wasserstein distance see more than cosine?")
entry = choose_model()
if entry is None:
    st.stop()
gallery = gallery_or_stop(entry)
test, key, colours = gallery.part("test"), (str(entry.folder), entry.card["sha256"]), colours_of(gallery.people)
labels = labels_of(*key, test)


def set_state(**values) -> None:
    """What a preset or a click does."""
    st.session_state.update(values)


st.markdown("The same people, the same embeddings, three ways to compare them. Move p and M: nothing is trained again.")
order, levels_of, how_many, presets = st.columns([1, 1.2, 1, 0.9], gap="large")
with order:
    p = choose_p()
with levels_of:
    points = choose_points(gallery)
with how_many:
    most = max(3, min(30, MOST // len(test.people)))
    each = st.slider("Sequences of each person", 2, most, min(8, most), key="distances_each", **KEPT)
with presets, st.popover("Try this", icon=":material/lightbulb:", width="stretch"):
    st.button("Only the largest differences: p = 8", on_click=set_state, kwargs={"p": 8.0})
    st.button("Only smallest, middle, largest: M = 1", on_click=set_state, kwargs={"levels": "even", "M": 1})
    st.button("As in the paper: p = 1, learned levels", on_click=set_state, kwargs={"p": 1.0, "levels": "learned"})
try:
    found = comparison_of(*key, each, points, p, test)
except ValueError as error:
    st.info(f"This gallery has nothing to compare: {plain(str(error))}.", icon=":material/group:")
    st.stop()

pairs, seen, method = found.pairs, test.embeddings(points), METHODS[gallery.method]
subjects, filters, inner = test.subjects[found.index], seen.values.shape[1], seen.values.shape[2] - 2
genuine, imposters = int(pairs.genuine.sum()), int((~pairs.genuine).sum())
names = {"wasserstein": f"W, p = {p:g}", "cosine": "Cosine", "euclidean": "Euclidean"}
titles = [f"{names[measure]}: AUC {auc:.3f}" for measure, auc in found.aucs.items()]
values = {measure: pairs.of(distance) for measure, distance in found.distances.items()}

power, root = ("", "") if p == 1 else (f"^{{{p:g}}}", f"^{{1/{p:g}}}")
st.latex(rf"W = \sum_{{k=1}}^{{{filters}}} \Big(\int_0^1 \big|\bar Q_k^a(r) - \bar Q_k^b(r)\big|{power}\,dr\Big){root}"
         rf"\qquad \cos = \frac{{a \cdot b}}{{|a|\,|b|}}\qquad |a - b|\qquad a, b \in "
         rf"\mathbb{{R}}^{{{filters} \times {inner}}}")
gain = found.aucs["wasserstein"] - found.aucs["cosine"]
verdict = "tells these people apart better than" if gain > 0 else "is no better here than"
st.markdown(f"**{names['wasserstein']} {verdict} cosine**: AUC {found.aucs['wasserstein']:.3f} against "
            f"{found.aucs['cosine']:.3f}, Euclidean {found.aucs['euclidean']:.3f}, over {genuine:,} genuine and "
            f"{imposters:,} imposter pairs of {len(subjects)} sequences of {len(set(subjects))} test people. This "
            f"model, {method.title}, was trained to be compared by {method.distance.replace('w', 'W')}"
            f"{'' if gallery.own is not None else ', on another summary of its filters than quantiles'}.")

view = st.segmented_control("View", list(VIEWS), format_func=VIEWS.get, default="histograms", required=True,
                            key="distances_view", label_visibility="collapsed", **KEPT)
one_of, other_of = labels[found.index[pairs.first]], labels[found.index[pairs.second]]            # (P,)


def pairs_table() -> pd.DataFrame:
    return pd.DataFrame({"first": one_of, "second": other_of, "genuine": pairs.genuine} | values)


alt = f"of {genuine} genuine and {imposters} imposter pairs by Wasserstein, cosine and Euclidean distance"
if view == "histograms":
    chart(histograms(values, pairs.genuine, titles), "distances-histograms", f"Histograms {alt}", pairs_table)
    st.caption("The less the two overlap, the better: AUC is the chance that a genuine pair is nearer than an imposter "
               "pair. Windows cut from one recording are not compared with each other.")
elif view == "matrices":
    chart(matrices(found.distances, subjects, titles), "distances-matrices", f"Distance matrices {alt}", pairs_table)
    st.caption("A row and a column is a sequence, lines separate people, dark is near. Good: dark squares on the "
               "diagonal only.")
elif view == "maps":
    drawn = maps_of(*key, each, points, p, found)
    shares = [f"{title}, shows {share:.0%}" for title, (_, share) in zip(titles, drawn.values(), strict=True)]
    chart(maps({measure: xy for measure, (xy, _) in drawn.items()}, subjects, colours, shares), "distances-maps",
          f"Maps of {len(subjects)} sequences of {len(set(subjects))} people by three distances",
          lambda: pd.concat([pd.DataFrame(xy, columns=["x", "y"]).assign(person=subjects, distance=measure)
                             for measure, (xy, _) in drawn.items()]))
    st.caption("Classical multidimensional scaling: points as far apart as the distances say, as well as a plane can. "
               "“Shows”: the share of the squared distances that the two axes hold; the rest is not seen here.")
if view != "disagree":
    st.stop()

index = np.column_stack([found.index[pairs.first], found.index[pairs.second]])
place = {measure: ranks(x) for measure, x in values.items()}
gap = place["wasserstein"] - place["cosine"]
worst = disagreeing(pairs, gap, 6)
right = np.where((gap[worst] < 0) == pairs.genuine[worst], "Wasserstein", "cosine")
listed = pd.DataFrame({
    "one": one_of[worst], "another": other_of[worst],
    "who": np.where(pairs.genuine[worst], "one person", "two people"), "nearer by W": 100 * place["wasserstein"][worst],
    "nearer by cosine": 100 * place["cosine"][worst], "right": right})


def clicked() -> None:
    if points := st.session_state["distances-scatter"]["selection"]["points"]:
        one, other = (str(labels[int(i)]) for i in points[0]["customdata"][:2])
        set_state(distances_first=one, distances_second=other)


def picked() -> None:
    for row in st.session_state["distances-pairs"]["selection"]["rows"]:
        set_state(distances_first=str(listed["one"].iloc[row]), distances_second=str(listed["another"].iloc[row]))


left, right = st.columns(2, gap="large")
with left:
    chart(against(values["wasserstein"], values["cosine"], pairs.genuine, index, (names["wasserstein"], "−cos")),
          "distances-scatter", f"Scatter {alt}", pairs_table, on_select=clicked, selection_mode="points")
with right:
    st.markdown("Each point is a pair of sequences. Where the two distances agree, points lie on a rising line: click "
                "one that lies off it, or choose one of those whose places in the two rankings differ most. *Nearer* "
                "is the share of all pairs that are nearer: low is right for one person, high for two.")
    percent = st.column_config.NumberColumn(format="%.0f %%")
    st.dataframe(listed, hide_index=True, key="distances-pairs", selection_mode="single-row", on_select=picked,
                 column_config={"nearer by W": percent, "nearer by cosine": percent},
                 alt="Pairs on which Wasserstein and cosine disagree most")
st.subheader("Which filters decide")
shown = labels[found.index].tolist()
for name, other in (("distances_first", "one"), ("distances_second", "another")):
    forget_unknown(name, shown)
    if name not in st.session_state:
        st.session_state[name] = str(listed[other].iloc[0])
left, middle, side = st.columns([1, 1, 2], gap="large")
first = left.selectbox("One sequence", shown, key="distances_first", **KEPT)
second = middle.selectbox("Another sequence", shown, key="distances_second", **KEPT)
a, b = (found.index[shown.index(name)] for name in (first, second))
if a == b:
    st.info("Choose two different sequences to see which filters decide.", icon=":material/compare_arrows:")
    st.stop()

parts = contributions(seen.values[a], seen.values[b], seen.levels, p)                      # {measure: (K,)}
shares = {measure: part / part.sum() if part.sum() > 0 else part for measure, part in parts.items()}
top = {"wasserstein": int(parts["wasserstein"].argmax()), "cosine": int(parts["cosine"].argmax())}
whose = side.segmented_control("The filter that decides most", list(top), default="wasserstein", required=True,
                               format_func=lambda m: f"{names[m]}: filter {top[m] + 1}", key="distances_top", **KEPT)
k, best = top[whose], np.argsort(-parts[whose], kind="stable")[:12]
left, right = st.columns(2, gap="large")
with left:
    chart(deciding({names[measure]: shares[measure] for measure in ("wasserstein", "cosine")}, best,
                   {names["wasserstein"]: COLOURS[0], "Cosine": COLOURS[1]}), "distances-deciding",
          f"Share of the twelve first filters in the distances of {first} and {second}",
          lambda: pd.DataFrame({"filter": np.arange(filters) + 1} | parts))
    st.latex(rf"W = \sum_k W_{{{p:g}}}(k) = {parts['wasserstein'].sum():.4g}")
    st.latex(rf"1 - \cos = \sum_k \tfrac12\big|\hat a_k - \hat b_k\big|^2 = {parts['cosine'].sum():.4g}")
    st.caption("Both are sums over filters, so a bar is a filter's part in the decision.")
with right:
    lines = {name: seen.values[i, k].numpy() for name, i in ((first, a), (second, b))}
    of_pair = {first: colours[test.subjects[a]], second: colours[test.subjects[b]]}
    chart(two_functions(lines, seen.levels.numpy(), of_pair), "distances-functions",
          f"Quantile functions of filter {k + 1} of {first} and {second}",
          lambda: pd.DataFrame({"level": seen.levels.numpy()} | lines))
    st.caption(f"Filter {k + 1}: {shares['wasserstein'][k]:.0%} of W, {shares['cosine'][k]:.0%} of what cosine sees. "
               "For p = 1 its part is the shaded area; a larger p looks at where the lines are farthest apart. Cosine "
               "divides each embedding by its length first: it cannot see that one recording is stronger in all.")
