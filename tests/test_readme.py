"""The README's Python works as it stands, one block after another; its training is cut short here."""

import re

import pytest

from tests.support.places import ROOT


@pytest.mark.filterwarnings("ignore")
def test_the_python_of_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 3
    space = {}
    for block in blocks:
        short = block.replace('method="qp-wl")', 'method="qp-wl", iterations=4, filters=4, layers=2, pairs=4)')
        exec(compile(short, "README.md", "exec"), space)
    assert space["d"].shape == (8, 8)
    assert space["distances"].shape[0] == len(space["embeddings"])


def test_files_that_the_documents_name_are_there():
    for name in ("README.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text()
        for path in re.findall(r"`((?:qpwl_core|ui|tests|scripts|benchmarks|pages)/[\w/.]+\.(?:py|js|md|csv))`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"
        for path in re.findall(r"\]\(([\w/.-]+)\)", text):
            assert (ROOT / path).exists(), f"{name} links to {path}"
