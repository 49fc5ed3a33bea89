"""The files that CONTRIBUTING.md shows, by name."""

import re

from tests.support.places import ROOT

SHOWN = dict(re.findall(r"```(?:python|toml)\n# ([\w/.-]+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S))
