"""What is on a page of an AppTest."""

import json

import plotly.graph_objects as go


def figures_on(page) -> list[dict]:
    """The figures on a page of an AppTest, each checked by Plotly, which the app leaves to the tests."""
    found = [json.loads(json.loads(element.proto.json)["figure"]) for element in page.get("bidi_component")]
    for figure in found:
        go.Figure(figure)
    return found
