"""A short run of scripts/fuzz.py: files that lie are refused in a sentence, or what they give holds."""

import re
import subprocess
import sys

from tests.support.places import ROOT


def test_no_file_that_lies_does_harm():
    done = subprocess.run([sys.executable, "-m", "scripts.fuzz", "--cases", "60"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"60 cases .* 0 that should not be", done.stdout)
    assert {line.split()[0] for line in done.stdout.splitlines()[:10]} == {
        "npz", "csv", "edf", "fif", "safetensors", "card", "gallery", "zip", "checkpoint", "desk"}
