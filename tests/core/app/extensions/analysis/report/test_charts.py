"""Charts: what they draw of estimates, that it is good Vega-Lite, and that nothing in them is fetched or run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import altair
import pytest

from app.extensions.analysis.chatbench.published import PublishedFigure as Printed
from app.extensions.analysis.estimates import Finding, Scatter, ScatterPoint, Unit
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.report.charts import accuracy_chart, forest_chart, scatter_chart, svg, turns_chart
from app.extensions.analysis.report.published_comparison import PublishedPaper, compare_with_published
from app.extensions.trials.power import PowerPoint
from app.extensions.trials.power_plan import power_chart
from app.rendering.chart_style import Spec
from tests.fakes.reports import NASTY, accuracy, by_turn, crossed, figure, finding

FIRST = accuracy().estimates[0].name


def two(unit: Unit = "share") -> Finding:
    estimates = (
        figure("x.y.1", "one", Interval(0.5, 0.25, 0.75), unit),
        figure("x.y.2", NASTY, Interval(1, why="Few."), unit),
    )
    return replace(finding("x.y", estimates, unit), reference=0.0)


def values(spec: Spec | None) -> list[dict[str, Any]]:
    assert spec is not None
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def published(value: float) -> Mapping[str, Any]:
    paper = PublishedPaper("paper", "A paper", {FIRST: Printed(value, 0.02, "Table 5")})
    return {one.estimate.name: one for one in compare_with_published((accuracy(),), paper)}


def test_a_forest_has_what_the_table_says() -> None:
    assert [(row["value"], row.get("low"), row.get("high"), row["n"]) for row in values(forest_chart(two()))] == [
        (50, 25, 75, "1,200"),
        (100, None, None, "1,200"),
    ]


def scattered(*, margins: bool) -> Scatter:
    points = [
        ScatterPoint(x / 4, y / 4, 1 + x, f"q{x}", "one" if y else "two", f"p{y}") for x in range(5) for y in (0, 1)
    ]
    if margins:
        points = [replace(point, panel="") for point in points]
    return Scatter("alone", "with it", (0, 1), tuple(points), margins)


POWER = [PowerPoint(size, effect, 100, 50, size) for size in (20, 40) for effect in (0.0, 0.1)]
CHARTS: Mapping[str, Spec | None] = {
    "share": forest_chart(two()),
    "points": forest_chart(two("points")),
    "number": forest_chart(two("number")),
    "count": forest_chart(two("count")),
    "grid": forest_chart(crossed()),
    "published": forest_chart(accuracy(), published(0.9)),
    "accuracy": accuracy_chart(accuracy().estimates, published(0.9)),
    "turns": turns_chart([by_turn()]),
    "panels": scatter_chart(scattered(margins=False), "share"),
    "margins": scatter_chart(scattered(margins=True), "number"),
    "power": power_chart({"h1": POWER, NASTY: POWER}, {"h1": 0.0, NASTY: 0.0}),
}


@pytest.mark.parametrize("name", CHARTS)
def test_each_is_good_vega_lite_and_drawn_without_a_script(name: str) -> None:
    spec = CHARTS[name]
    assert spec is not None
    altair.Chart.from_dict(dict(spec))
    drawn = ET.fromstring(svg(spec))
    assert not [one.tag for one in drawn.iter() if one.tag.endswith(("script", "image", "foreignObject"))]
