"""Charts: what they draw of estimates, that it is good Vega-Lite, and that nothing in them is fetched or run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import altair
import pytest

from app.extensions.analysis.estimates import Finding, Scatter, ScatterPoint, Unit
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.report.charts import forest_chart, scatter_chart, svg
from app.rendering.chart_style import Spec
from tests.fakes.reports import NASTY, crossed, figure, finding


def two(unit: Unit = "share") -> Finding:
    estimates = (
        figure("x.y.1", "one", Interval(0.5, 0.25, 0.75), unit),
        figure("x.y.2", NASTY, Interval(1, why="Few."), unit),
    )
    return replace(finding("x.y", estimates, unit), reference=0.0)


def values(spec: Spec) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_a_forest_has_what_the_table_says() -> None:
    assert [(row["value"], row.get("low"), row.get("high"), row["n"]) for row in values(forest_chart(two()))] == [
        (50, 25, 75, "1,200"),
        (100, None, None, "1,200"),
    ]


def scattered(*, panels: bool) -> Scatter:
    points = [
        ScatterPoint(x / 4, y / 4, 1 + x, f"q{x}", "one" if y else "two", f"p{y}") for x in range(5) for y in (0, 1)
    ]
    if not panels:
        points = [replace(point, panel="", series="") for point in points]
    return Scatter("alone", "with it", (0, 1), tuple(points))


@pytest.mark.parametrize("name", ["a", "a longer name of an arm", "a name that takes the whole width of the page" * 2])
def test_names_of_a_legend_stand_beside_each_other_only_as_far_as_there_is_room(name: str) -> None:
    points = [ScatterPoint(0, 0, 1, "q", f"{name} {number}", "p") for number in range(6)]
    spec = scatter_chart(Scatter("x", "y", (0, 1), tuple(points)), "share")
    columns, space = spec["config"]["legend"]["columns"], spec["config"]["legend"]["columnPadding"]
    assert columns == 1 or columns * 6 * len(f"{name} 1") < spec["width"]
    assert space > len(f"{name} 1"), "there is room for the wider letters of another font"


@pytest.mark.parametrize(
    "name", ["an-arm-with-a-name-that-is-as-long-as-names-may-become", "a title of some words " * 4]
)
def test_names_of_panels_and_axes_are_no_wider_than_a_panel(name: str) -> None:
    points = [ScatterPoint(0, 0, 1, "q", "s", f"{name}{number}") for number in range(2)]
    spec = scatter_chart(Scatter(name, name, (0, 1), tuple(points)), "share")
    first = spec["spec"]["layer"][0]["encoding"]
    lines = [*first["x"]["title"], *first["y"]["title"], *values(spec)[1]["panel"].split("\n")]
    assert max(map(len, lines)) * 7 <= spec["spec"]["width"]


def test_a_chart_of_the_page_has_as_many_names_beside_each_other_as_it_is_wide_for() -> None:
    spec = forest_chart(crossed(["an arm", "another arm"]))
    narrow, wide = (ET.fromstring(svg({**spec, "width": width})) for width in (120, 640))
    assert float(narrow.attrib["height"]) > float(wide.attrib["height"])


@pytest.mark.parametrize(("unit", "axis", "ends"), [("number", (0, 2.31), "2.5"), ("share", (0, 1), "100")])
def test_an_axis_ends_at_a_tick(unit: Unit, axis: tuple[float, float], ends: str) -> None:
    drawn = ET.fromstring(svg(forest_chart(replace(two(unit), axis=axis))))
    ticks = [one.text for one in drawn.iter() if one.text and one.text.replace(".", "").isdigit()]
    assert ticks[-1] == ends


def test_shares_are_drawn_in_per_cent_and_ratings_as_they_are() -> None:
    scatter = scattered(panels=False)
    assert [row["x"] for row in values(scatter_chart(scatter, "share"))][:4:2] == [0, 25]
    assert [row["x"] for row in values(scatter_chart(replace(scatter, axis=(0, 6)), "share"))][:4:2] == [0, 0.25]


CHARTS: Mapping[str, Spec] = {
    "share": forest_chart(two()),
    "points": forest_chart(two("points")),
    "number": forest_chart(two("number")),
    "count": forest_chart(two("count")),
    "grid": forest_chart(crossed()),
    "panels": scatter_chart(scattered(panels=True), "share"),
    "one panel": scatter_chart(scattered(panels=False), "number"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_each_is_good_vega_lite_and_drawn_without_a_script(name: str) -> None:
    spec = CHARTS[name]
    altair.Chart.from_dict(dict(spec))
    drawn = ET.fromstring(svg(spec))
    assert not [one.tag for one in drawn.iter() if one.tag.endswith(("script", "image", "foreignObject"))]
