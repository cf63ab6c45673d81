"""The style of charts, on the console's page and in reports: Vega-Lite's `config`, colours and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]
INK, LINE = "#6b7280", "#8884"
# Legible on light and on dark backgrounds.
COLOURS = ("#2a8391", "#c2703d", "#6b64b8", "#7d8f2e", "#b04a6e", "#5f6b76")
# Distinguishable with colour blindness, and in greyscale; one more than colours, so that pairs of both differ.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
CONFIG: Spec = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
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
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold", "title": None},
    "legend": {"labelColor": INK, "labelLimit": 260, "orient": "top", "title": None, "titleColor": INK},
    "range": {"category": list(COLOURS), "symbol": list(SHAPES)},
}
