"""What is on a page of an AppTest."""

import json

import plotly.graph_objects as go


def figures_on(page) -> list[dict]:
    """The figures on a page of an AppTest, each checked by Plotly, which the app leaves to the tests."""
    shown = [json.loads(element.proto.json) for element in page.get("bidi_component")]
    found = [json.loads(data["figure"]) for data in shown if "figure" in data]           # a pad has none
    for figure in found:
        go.Figure(figure)
    return found
