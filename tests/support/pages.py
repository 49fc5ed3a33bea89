"""What is on a page of an AppTest."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
from streamlit.testing.v1 import AppTest

from tests.support.places import ROOT


def opened(page: str = "verification", **state):
    """A page of the app with these values of widgets, opened as from Home."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for key, value in state.items():
        app.session_state[key] = value
    return app.run().switch_page(f"pages/{page}.py").run()


def said(page, *kinds: str) -> str:
    """All words of these kinds on a page, one after the other."""
    return " ".join(element.value for kind in kinds for element in getattr(page, kind))


def figures_on(page) -> list[dict]:
    """The figures on a page of an AppTest, each checked by Plotly, which the app leaves to the tests."""
    shown = [json.loads(element.proto.json) for element in page.get("bidi_component")]
    found = [json.loads(data["figure"]) for data in shown if "figure" in data]           # a pad has none
    for figure in found:
        go.Figure(figure)
    return found


def stored(values) -> list[float]:
    """Numbers of a figure, as Plotly writes them."""
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist() if isinstance(values, dict) else (
        list(values))
