"""Words that several pages use, each explained once: a glossary for whoever points at them, and the kinds of AUC."""

from __future__ import annotations

import streamlit as st

GLOSSARY = {
    "n": "how many sequences of the visitor are observed; a claim is judged by their mean distance",
    "draw": "one random choice of the five sequences per person that are observed (the probes); all others of that "
            "person are enrolled. There are ten draws, numbered 1 to 10, the same for all models on the same people",
    "genuine": "a comparison of a person with themselves (mated); its opposite is an imposter comparison",
    "imposter": "a comparison of two different people (non-mated)",
    "FMR": "false match rate: the share of imposter comparisons that are accepted (≈ FAR)",
    "FNMR": "false non-match rate: the share of genuine comparisons that are rejected (≈ FRR)",
    "EER": "equal error rate: FMR and FNMR at the threshold where they are the same",
    "AUC": "area under the ROC curve: the chance that a genuine comparison is nearer than an imposter one; 1 is "
           "perfect, 0.5 is guessing",
    "gallery": "what a model saw in people held out of its training, kept beside it: test people, and calibration "
               "people on whom thresholds are set",
    "Q̂": "the empirical quantile function: a staircase through the sorted samples",
    "Q̃": "the paper's quantile function: lines in place of the stairs",
    "Q̄": "what the quantile layer keeps of Q̃: its values at M levels and at both ends, joined by lines",
    "M": "how many levels between 0 and 1 the quantile layer keeps; its two ends come on top, M + 2 values in all",
    "sequence": "one recording, or a window cut from one: what is compared with another of its kind",
    "stimulus": "what was seen or done during a sequence: a film, a task, a session",
    "split": "who is learned from, who chooses among models (validation) and who judges them (test); nobody is in two "
             "parts",
    "recipe": "what is done to a recording before the network sees it, with statistics of the training people alone",
    "threshold": "the largest distance at which a claim is accepted",
    "enrolled": "kept beforehand to compare with (references); what comes later is observed (probes)",
    "calibration": "people neither trained on nor tested, on whom a threshold is set",
    "validation": "people not learned from, on whom the best weights, M and p are chosen; test people judge the choice",
    "seed": "the number that chance follows from: the same seed, the same run",
    "p": "the order of the Wasserstein distance: 1 weighs all differences alike, a larger p looks at the largest",
}
AUC_KINDS = {
    "nearest": "AUC of verification as in the paper: each test person's observed sequences against the *nearest* "
               "enrolled sequence of every person.",
    "all pairs": "AUC over all pairs of sequences, each alone against each: harder, for no nearest one is chosen.",
    "validation": "Validation AUC: the same with the validation people, every sequence observed once.",
}
WHY_AUCS_DIFFER = (
    "- **Nearest of the enrolled** (Verification, Distances, Results, Train): an observed sequence is held against the "
    "*nearest* of many enrolled ones of a person, as a door would do it. With n = 5 five of them are averaged.\n"
    "- **All pairs** (the pictures on Distances, the ranking on Filters): every sequence against every other, one to "
    "one. A person's two most different recordings count as much as their two most alike, so this AUC is lower.\n"
    "- **Other people**: validation people choose a model, test people judge it, and a study tests more sequences than "
    "the gallery beside a model holds. Each number says which people, and how many.\n"
    "- **One number, many people it could have been**: an interval over people says how far it would move with others.")


def help_for(*words: str) -> str:
    """What some words mean, for the help of a widget."""
    return "  \n".join(f"**{word}**: {GLOSSARY[word]}." for word in words)


def glossary(*words: str) -> None:
    """The words of a page, each with its meaning on touch."""
    with st.container(horizontal=True, gap="small"):
        for word in words:
            st.badge(word, color="blue", help=f"**{word}**: {GLOSSARY[word]}.")


def why_aucs_differ() -> None:
    """The one place that explains why the AUCs of a model differ."""
    with st.expander("Which AUC is this, and why do they differ?", icon=":material/help:"):
        st.markdown(WHY_AUCS_DIFFER)
