"""How charts look: one quiet style, on the page's own colours where a chart can take them.

They are written in Vega-Lite's own words: to build and check them with a library's objects takes a hundred times as
long, too long for a page that many look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from gradio.components.plot import PlotData

Spec = Mapping[str, Any]
INK, LINE = "#6b7280", "#8884"
"""Legible on light and on dark paper."""
COLOURS = ("#2a8391", "#c2703d", "#6b64b8", "#7d8f2e", "#b04a6e", "#5f6b76")
"""Told apart also by who sees few colours, and in grey."""
SAVE = {"export": True, "source": False, "compiled": False, "editor": False}
"""What a chart's menu offers: to save it as a picture. The editor would be another's server."""
LOOK: Spec = {
    # The version that Gradio's page draws; a name, which nobody fetches.
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "background": "transparent",
    "width": "container",
    "autosize": {"type": "fit-x", "contains": "padding"},
    "config": {
        "view": {"stroke": None},
        "axis": {
            "domainColor": LINE,
            "gridColor": LINE,
            "labelColor": INK,
            "labelLimit": 220,
            "tickColor": LINE,
            "titleColor": INK,
            "titleFontWeight": "normal",
        },
        "legend": {"labelColor": INK, "orient": "top", "title": None, "titleColor": INK},
        "range": {"category": list(COLOURS)},
    },
    "usermeta": {"embedOptions": {"actions": SAVE}},
}
"""What all of them have in common."""


def shown(spec: Spec) -> PlotData:
    """A chart for gr.Plot."""
    return PlotData(type="altair", plot=orjson.dumps(spec).decode())
