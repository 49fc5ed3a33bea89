"""What Verification and Identification must say, computed from the core."""

import re

from qpwl_core.evaluation.trials import make_trials
from qpwl_core.models.gallery import load_gallery

SENTENCE = re.compile(r"At a distance of (\S+), ([\d,]+) of ([\d,]+) imposters get in.*? ([\d,]+) of ([\d,]+) owners")


def trials_of(entry, part="test", points=None, p=None):
    """The trials of a model's gallery."""
    held = load_gallery(entry.folder).part(part)
    return make_trials(held.distances(None, points, p), held.subjects, held.sources)


def said(text):
    """The threshold and the four counts that a sentence on screen says."""
    numbers = SENTENCE.search(text.replace("**", "")).groups()
    return float(numbers[0]), tuple(int(word.replace(",", "")) for word in numbers[1:])


def counts(out):
    """The four counts of `at_threshold`, in the order of the sentence."""
    return out["let_in"], out["imposters"], out["sent_away"], out["owners"]
