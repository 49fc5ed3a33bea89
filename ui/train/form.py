"""The form of the Train page: widgets to one frozen Config, the command line that says the same, what it will cost."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace

import streamlit as st

from qpwl_core.common.bounds import TRAIN_FORM as WHOLE
from qpwl_core.common.text import duration
from qpwl_core.data.datasets import DATASETS
from qpwl_core.models.config import Config, preset
from qpwl_core.models.methods import METHODS
from qpwl_core.training.cost import Cost
from ui.library.data import (
    OWN,
    available_data,
    domain_for,
    people_in,
    split_of,
    title_of,
    training_problem,
    uploads,
)
from ui.library.jobs import threads
from ui.shell.frame import KEPT
from ui.shell.text import plain
from ui.train.cost import cost_of

FIELDS = ("method", "p", "learning_rate", "kernel", "batch_norm", *WHOLE)
TELLING = "eeg-simulated"          # on it M, p and the method visibly matter within a minute
EASY = {"gait-hapt-30": "every method is above 0.98 after twenty steps",
        "speech-vowels-9": "two people to learn from and two to validate on say little"}
KERNELS = (1, 3, 5, 7, 9, 11, 15, 21, 31)
LOSSES = {
    "wasserstein": r"\mathcal L = \frac{1}{N} \sum_{i=1}^{N} \log\Big(1 + \sum_{j \ne i} "
                   r"e^{\,s\,(d_p(a_i, b_i) - d_p(a_i, b_j))}\Big)",
    "n-pair": r"\mathcal L = \frac{1}{N} \sum_{i=1}^{N} \log\Big(1 + \sum_{j \ne i} "
              r"e^{\,s\,(a_i \cdot b_j - a_i \cdot b_i)}\Big)",
    "softmax": r"\mathcal L = -\frac{1}{2 \cdot N} \sum_{i=1}^{2 \cdot N} "
               r"\log \frac{e^{z_{i, y_i}}}{\sum_y e^{z_{i, y}}}",
    "multi-similarity": r"\mathcal L = \frac{1}{N} \sum_{i=1}^{N} \tfrac1\alpha \log\big(1 + \sum_{+} "
                        r"e^{-\alpha (s - \lambda)}\big) + \tfrac1\beta \log\big(1 + "
                        r"\sum_{-} e^{\beta (s - \lambda)}\big)"}


def formulas(config: Config) -> list[str]:
    """The loss and what it compares, with the numbers of a Config filled in (LaTeX)."""
    method = METHODS[config.method]
    if method.loss not in LOSSES:              # a method that learns nothing
        return []
    p, loss = f"{config.p:g}", LOSSES[method.loss]
    if not config.multi_class and method.loss == "wasserstein":
        loss = r"\mathcal L = \sum_{i=1}^{N} \sum_{j \ne i} \log\Big(1 + e^{\,s\,(d_p(a_i, b_i) - d_p(a_i, b_j))}\Big)"
    if config.one_threshold:                     # the negatives of all anchors are those of each
        loss = loss.replace(r"j \ne i", r"j \ne k").replace("a_i, b_j", "a_j, b_k").replace(r"a_i \cdot b_j",
                                                                                           r"a_j \cdot b_k")
    lines = [loss.replace("N", f"{config.pairs}").replace("d_p", f"d_{{{p}}}")]
    if config.both_ways and method.loss != "softmax":
        lines[0] = lines[0].replace(r"\mathcal L =", r"\mathcal L_{ab} =")
        lines.append(r"\mathcal L = \tfrac12 \big(\mathcal L_{ab} + \mathcal L_{ba}\big)")
    if method.distance == "wasserstein":
        lines.append(rf"d_{{{p}}} = \sum_{{k=1}}^{{{config.filters}}} W_{{{p}}}\big(\bar Q_k, \bar Q'_k\big), \qquad "
                     rf"M = {config.points}")
    return lines


def choose_data() -> str:
    """The data set chosen in the sidebar, kept across pages and in the link."""
    at_hand = available_data()
    by_default = st.session_state.pop("data_by_default", None)       # the page Data opened with it, and nobody chose it
    if st.session_state.get("data") not in at_hand or st.session_state["data"] == by_default:
        st.session_state.pop("data", None)
    first = list(at_hand).index(TELLING) if TELLING in at_hand else 0
    data = st.sidebar.selectbox("Data set", list(at_hand), first, key="data", **KEPT)          # as on the page Data
    st.sidebar.caption(plain(title_of(data).partition(" · ")[2]))
    if st.session_state.setdefault("train_domain", domain_for(data)) != domain_for(data):
        st.session_state["train_domain"] = domain_for(data)
        to_preset()
    return data


def choose_device() -> str:
    """Where to train, chosen in the sidebar."""
    import torch

    there = ["auto", "cpu"] + ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
    if st.session_state.get("train_device") not in there:
        st.session_state.pop("train_device", None)
    return st.sidebar.selectbox("Device", there, key="train_device", **KEPT,
                                help="Auto takes a GPU where there is one, else the CPU.")


def start_of(data: str, method: str = "qp-wl") -> Config:
    """What the form starts from: the preset that was chosen, for this kind of data."""
    name = st.session_state.get("train_preset") or "quick"
    config = preset(name, domain_for(data), method=method)
    declared = {} if data.startswith(OWN) else dict(DATASETS[data].recipe_options)
    return replace(config, recipe=config.recipe | declared)


def config_now(data: str) -> Config:
    """The Config that the form says, also where the form is not on screen."""
    start = start_of(data, st.session_state.get("train_method") or "qp-wl")
    given = {name: st.session_state.get(f"train_{name}") for name in FIELDS}
    given["device"] = st.session_state.get("train_device")
    config = replace(start, **{name: value for name, value in given.items() if value is not None})
    often = max(1, config.iterations // 6)                       # a short run also wants a curve
    return replace(config, validate_every=min(config.validate_every, often))


def to_preset() -> None:
    """Set all fields to the preset's; it is a callback, and what happens when other data wants other settings."""
    start = start_of(st.session_state["data"], st.session_state.get("train_method") or "qp-wl")
    for name in FIELDS:
        if name not in ("method", "seed"):
            st.session_state[f"train_{name}"] = getattr(start, name)


def to_method() -> None:
    """Callback: what was the last method's preset becomes this one's; what was changed by hand stays."""
    data, state = st.session_state["data"], st.session_state
    before, after = (start_of(data, state.get(key) or "qp-wl") for key in ("train_method_before", "train_method"))
    for name in FIELDS:
        if name not in ("method", "seed") and state.get(f"train_{name}") == getattr(before, name):
            state[f"train_{name}"] = getattr(after, name)


def choose_preset() -> None:
    """What the form starts from."""
    st.segmented_control("Start from", ["quick", "paper"], default="quick", key="train_preset", required=True,
                         on_change=to_preset, **KEPT, format_func={"quick": "Quick: a minute", "paper":
                         "As in the paper: 50,000 steps"}.get)


def form(data: str) -> Config:
    """All fields; the network is folded away."""
    method = st.selectbox("Method", list(METHODS), format_func=lambda name: METHODS[name].title, key="train_method",
                          on_change=to_method, **KEPT)
    st.session_state["train_method_before"] = method
    st.caption(METHODS[method].what[0].upper() + METHODS[method].what[1:] + ".")
    of_method, start = METHODS[method], start_of(data, method)
    left, right = st.columns(2)
    _whole(left, "points", "Sampling points M", start, disabled=not of_method.aggregation.startswith("quantile"),
           help="Levels of the quantile layer between 0 and 1; its two ends come on top.")
    right.number_input("Order p", 1.0, 16.0, start.p, 0.5, key="train_p", **KEPT,
                       disabled=of_method.distance != "wasserstein",
                       help="Of the Wasserstein distance: 1 weighs all differences alike, more looks at the largest.")
    _whole(left, "pairs", "Pairs in a batch N", start,
           help="N people per step, two sequences each; every other person is a counter-example.")
    _whole(right, "iterations", "Iterations", start, help="Steps of the optimiser.")
    left.number_input("Learning rate", 1e-6, 1.0, start.learning_rate, 1e-4, "%.5f", key="train_learning_rate", **KEPT,
                      help="The largest of a schedule that rises, then falls.")
    _whole(right, "seed", "Seed", start, help="The same seed gives the same weights.")
    with st.expander("The network", icon=":material/lan:"):
        st.caption("Convolutions, one after the other; the last one gives the K filters whose distribution is kept."
                   if of_method.network == "conv" else "This method brings its own network.")
        left, right = st.columns(2)
        fixed = of_method.network != "conv"
        _whole(left, "filters", "Filters K", start, disabled=fixed)
        _whole(right, "layers", "Layers", start, disabled=fixed)
        left.selectbox("Kernel", KERNELS, KERNELS.index(start.kernel), key="train_kernel", **KEPT, disabled=fixed,
                       help="Samples that a convolution sees.")
        _whole(right, "stride", "Stride", start, disabled=fixed, help="Of the first layer: 2 halves all that follows.")
        st.toggle("Batch norm", start.batch_norm, key="train_batch_norm", **KEPT, disabled=fixed)
    return config_now(data)


def _whole(place, name: str, label: str, start: Config, **options) -> None:
    least, most = WHOLE[name]
    place.number_input(label, least, most, getattr(start, name), key=f"train_{name}", **KEPT, **options)


def command_line(data: str, config: Config) -> str:
    """The command that does the same: only what differs from the preset is said."""
    name = st.session_state.get("train_preset") or "quick"
    start = replace(start_of(data, config.method), method="qp-wl")
    words = ["python -m qpwl_core train"]
    if data.startswith(OWN):
        mine = uploads().get(data.removeprefix(OWN))
        file = (mine and mine.filename) or f"{data.removeprefix(OWN)}.npz"
        words += [f"--data {shlex.quote(file)}", f"--domain {config.domain}"]
    else:
        words.append(f"--data {data}")
    if name != "quick":
        words.append(f"--preset {name}")
    for field in fields(Config):
        value = getattr(config, field.name)
        if value == getattr(start, field.name):
            continue
        flag = field.name.replace("_", "-")
        words.append(f"--{flag} {value}" if not isinstance(value, bool) else f"--{'' if value else 'no-'}{flag}")
    return " ".join([*words, "--out runs/mine"])


def title_for(data: str, config: Config) -> str:
    """What a run is called until somebody renames it."""
    method = METHODS[config.method]
    parts = [data.removeprefix(OWN), method.title]
    if method.aggregation.startswith("quantile"):
        parts.append(f"M {config.points}")
    if method.distance == "wasserstein":
        parts.append(f"p {config.p:g}")
    return " · ".join([*parts, f"{config.iterations} steps", f"seed {config.seed}"])


def tell_people(data: str) -> None:
    """How many people will be learned from, validated on and tested on: those that Data ▸ Split shows."""
    if training_problem(data):
        return                                                   # said where the cost would be
    people = people_in(split_of(data))
    st.markdown(f":material/group: **{people['train']} people to learn from, {people['validation']} to validate on, "
                f"{people['test']} to test on**: those whom the page Data shows under *Split*, with seed 0.")


def tell_easy(data: str) -> None:
    """Where a task is too easy, or too small, to tell settings apart: say so, and where they can be told."""
    if data == TELLING:
        st.caption(f":material/lightbulb: On {TELLING} M, p and the method make a visible difference within a minute.")
    if data in EASY and TELLING in available_data():
        st.info(f"On {data} {EASY[data]}: to see what M, p and the method do, take **{TELLING}**.",
                icon=":material/lightbulb:")
        st.button(f"Take {TELLING}", on_click=st.session_state.update, kwargs={"data": TELLING}, key="train_telling")


def keep_gallery(data: str) -> bool:
    """Before a start, what happens to an upload, and whether what the model sees in these people is kept."""
    if not data.startswith(OWN):
        return True
    st.info("**Your recordings.** The run makes a copy of them on this computer, for it goes on when this tab is "
            "closed. The copy is deleted when the run has finished or failed, or is deleted; a stopped run keeps "
            "it as long as it can be resumed. The model itself stays: everyone who uses this app can load it.",
            icon=":material/privacy_tip:")
    return st.checkbox("Keep the gallery of these people", False, key="train_keep_gallery", persist_state="session",
                       help="The gallery is what the model saw in the people held out, under their names. Without it "
                            "Filters, Distances and Verification cannot show this model; with it, everyone who uses "
                            "this app sees these people there.")


def cost_in_parts(cost: Cost, config: Config) -> str:
    """What a run will take, and of which parts that is the sum."""
    steps, doubt = config.iterations * cost.step, cost.whole(config)[1]
    validations = cost.training(config) - steps
    rest = cost.whole(config)[0] - steps - validations
    parts = [round(steps), round(validations), round(rest)] if steps < 60 else [steps, validations, rest]
    each = f"{cost.step * 1000:,.0f} ms" if cost.step < 1 else f"{cost.step:.1f} s"
    return (f"**{duration(sum(parts))} ± {duration(doubt)}** on {threads()} of this machine's CPU cores, as measured: "
            f"{config.iterations:,} steps of {each} take {duration(parts[0])}, validating {duration(parts[1])}, "
            f"starting and testing {duration(parts[2])}.")


def tell_cost(data: str, config: Config, text) -> bool:
    """Say what it will cost, ``text(cost)``, as soon as that is known; False, and why, where it cannot be trained."""
    if problem := training_problem(data):
        st.error(plain(problem), icon=":material/error:")
        return False
    try:
        cost = cost_of(data, config, wait=0.4)
    except ValueError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return False

    @st.fragment(run_every=None if cost else 0.5)
    def again():
        if cost is not None:
            st.markdown(text(cost))
            return
        try:
            known = cost_of(data, config, wait=0)
        except ValueError:
            known = True                                         # the page says why
        if known:
            st.rerun()

    again()
    return True

