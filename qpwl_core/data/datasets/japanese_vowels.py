"""Japanese Vowels: nine men utter the vowels ae, 12 LPC cepstrum coefficients per frame."""

from __future__ import annotations

import re

from qpwl_core.common.text import shown
from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import Member, table
from qpwl_core.data.errors import RecordingsError

UTTERANCES = {"train": (30,) * 9, "test": (31, 35, 88, 44, 29, 24, 40, 50, 29)}  # of speakers 1 to 9, in this order


def read(dataset, folder):
    """A file holds utterances between blank lines; who spoke follows from the published counts."""
    sequences = []
    for base, text in sorted(dataset.in_order(folder, Member.text).items(), reverse=True):  # ae.train, ae.test
        part = base.removeprefix("ae.")
        blocks = [block for block in re.split(r"\n\s*\n", text.replace("\r", "")) if block.strip()]
        if len(blocks) != sum(UTTERANCES[part]):
            raise RecordingsError(f"{shown(base)} must hold {sum(UTTERANCES[part])} utterances, "
                                  f"and holds {len(blocks)}")
        speakers = [f"speaker-{i}" for i, count in enumerate(UTTERANCES[part], 1) for _ in range(count)]
        sequences += [(speaker, part, table(block, base, columns=12).astype("float32"))
                      for speaker, block in zip(speakers, blocks, strict=True)]
    return dataset.recordings(sequences)


JAPANESE_VOWELS = Dataset(
    name="japanese-vowels", domain="generic", title="one vowel pair of nine speakers, LPC cepstra",
    # frames of 25.6 ms every 6.4 ms
    rate=156.25, channels=tuple(f"lpc_{i}" for i in range(12)), subjects=9, licence="CC BY 4.0",
    citation="Kudo, Toyama, Shimbo: Multidimensional curve classification using passing-through regions. "
             "Pattern Recognition Letters 20, 1999; UCI Machine Learning Repository",
    url="https://archive.ics.uci.edu/dataset/128/japanese+vowels", size="1 MB", example="ae.train and ae.test",
    pattern=r"ae\.(?P<stimulus>train|test)",
    downloads=("https://archive.ics.uci.edu/static/public/128/japanese+vowels.zip",), reader=read)
