"""How charts look: one quiet style, on the page's own colours where a chart can take them."""

from __future__ import annotations

from typing import Any

import altair

INK, SOFT, LINE = "#6b7280", "#8a919c", "#8884"
"""Legible on light and on dark paper."""
COLOURS = ("#2a8391", "#c2703d", "#6b64b8", "#7d8f2e", "#b04a6e", "#5f6b76")
"""Told apart also by who sees few colours, and in grey."""
HEIGHT = 220


def styled(chart: Any, height: int = HEIGHT) -> Any:
    """A chart as wide as its box, in the console's look."""
    return (
        chart.properties(width="container", height=height, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            gridColor=LINE,
            domainColor=LINE,
            tickColor=LINE,
            labelLimit=220,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=INK, titleColor=INK, orient="top", title=None)
        .configure_range(category=list(COLOURS))
    )


def inline(rows: list[dict[str, Any]]) -> altair.InlineData:
    """Rows as a chart's data."""
    return altair.InlineData(values=rows)
