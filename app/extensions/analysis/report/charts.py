"""The charts of a report and of the console, as Vega-Lite specifications in one style.

They are plain dictionaries: building and validating them with altair's objects takes a hundred times as long, too long
for a page with many users.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from textwrap import wrap
from typing import Any

from app.extensions.analysis.estimates import (
    COUNT,
    NUMBER,
    POINTS,
    SHARE,
    Estimate,
    Finding,
    Scatter,
    Unit,
    format_interval,
    format_value,
)
from app.extensions.analysis.report.build import grid_places
from app.rendering.chart_style import COLOURS, CONFIG, INK, Spec
from problems.errors import install_line

WIDTH, ROW_PX, AXIS_PX, TICKS = 640, 34, 24, 6
# A row of a chart that has several estimates in each; a chart of more rows is not legible.
DENSE_PX, MOST_ROWS = 15, 60
# What a name in a legend takes at most: its mark and the space beside it, and each of its letters; and by how much a
# letter can be wider in a reader's font than in Arial, in which charts are measured.
MARK_PX, CHAR_PX, WIDER_PX = 30, 7, 1.5
TITLES: Mapping[Unit, str] = {SHARE: "per cent", POINTS: "percentage points", NUMBER: "", COUNT: ""}
HINTS = ("group", "estimate", "interval", "n", "participants")
SURE = "isValid(datum.low)"
PER_CENT = "datum.label + ' %'"
DASHED: Spec = {"strokeDash": [4, 4], "color": INK}


def lacking() -> str:
    """Return a note for readers if charts cannot be drawn here, as vl-convert is not installed."""
    return "" if find_spec("vl_convert") else f"Figures need a package that is not installed: {install_line('charts')}"


def svg(spec: Spec) -> str:
    """The chart as SVG, drawn in this process without a network."""
    import vl_convert

    made: str = vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])
    return made


def image(spec: Spec) -> str:
    """The chart as the address of an image, in which nothing that people wrote can be run."""
    return f"data:image/svg+xml;base64,{b64encode(svg(spec).encode()).decode()}"


def nominal(field: str, values: Sequence[str], scale: bool = True) -> dict[str, Any]:
    found = {"field": field, "type": "nominal", "sort": list(values), "title": None}
    return {**found, "scale": {"domain": list(values)}} if scale else found


def _config(series: Sequence[str], width: int = 0) -> Spec:
    """The style, with as many names of series beside each other above a chart as it has the width for; without a width,
    as the page draws it."""
    letters = max(map(len, series), default=0)
    name_px, space_px = MARK_PX + CHAR_PX * letters, 10 + WIDER_PX * letters
    columns = max(1, width // name_px) if width else {"expr": f"max(1, floor(width / {name_px + space_px:g}))"}
    return {**CONFIG, "legend": {**CONFIG["legend"], "columns": columns, "columnPadding": space_px}}


def layer(mark: str, encoding: Spec, style: Spec, **channels: Any) -> Spec:
    """A layer of a mark; `channels` are added to the encoding."""
    return {"mark": {"type": mark, **style}, "encoding": {**encoding, **channels}}


def forest_chart(finding: Finding) -> Spec:
    """Estimates with their intervals, a row for each group; one without an interval has a hollow dot. Estimates by two
    groups are in rows by the first, with a colour and a shape for the second."""
    size = _size(finding.unit)
    places = grid_places(finding) if finding.columns else [(one.label, "") for one in finding.estimates]
    series = list(dict.fromkeys(column for _, column in places)) if finding.columns else []
    rows = [
        {**_row(one, finding.unit), "group": group, "series": column}
        for one, (group, column) in zip(finding.estimates, places, strict=True)
    ]
    # An axis that ends where the longest interval does goes on to the next tick.
    nice = TICKS if finding.unit in (NUMBER, COUNT) and finding.axis[0] <= 0 else False
    scale = {
        "type": "quantitative",
        "scale": {"domain": [size * end for end in finding.axis], "nice": nice, "zero": False, "clamp": True},
        "axis": {"title": TITLES[finding.unit] or None, "tickCount": TICKS}
        | ({"tickMinStep": 1} if finding.unit == COUNT else {}),
    }
    named = {"labelLimit": 240, "labelPadding": 12, "ticks": False, "domain": False}
    row = {"y": {"field": "group", "type": "nominal", "sort": None, "title": None, "axis": named}}
    both = {**row, "tooltip": [{"field": name, "type": "nominal"} for name in HINTS]}
    own: dict[str, Any] = {"color": COLOURS[0]}
    if series:
        own, both = {}, both | {"yOffset": nominal("series", series), "color": nominal("series", series)}
    shown = nominal("series", series) if series else {"value": COLOURS[0]}
    fill = {"condition": {"test": SURE, **shown}, "value": "transparent"}
    point = {"size": 45 if series else 80, "strokeWidth": 2, "opacity": 1, **own}
    shape = {"shape": nominal("series", series)} if series else {}
    ends = {"x": {"field": "low", **scale}, "x2": {"field": "high"}}
    reference = {
        "data": {"values": [{"at": size * (finding.reference or 0)}]},
        **layer("rule", {"x": {"field": "at", **scale}}, DASHED),
    }
    layers = [
        *([] if finding.reference is None else [reference]),
        layer("rule", both, {"strokeWidth": 2 if series else 2.5, **own}, **ends),
        layer("point", both, point, x={"field": "value", **scale}, fill=fill, **shape),
    ]
    groups = {group for group, _ in places}
    wider_px = WIDER_PX * min(40, max(map(len, groups), default=0))
    return {
        "config": _config(series),
        "padding": {"left": 12 + wider_px, "right": 22, "top": 6, "bottom": 6},
        "width": WIDTH,
        "height": AXIS_PX + len(groups) * max(ROW_PX, DENSE_PX * len(series)),
        "data": {"values": rows},
        "layer": layers,
    }


def rows_of(finding: Finding) -> int:
    return len({row for row, _ in grid_places(finding)} if finding.columns else finding.estimates)


def _size(unit: Unit) -> int:
    """The factor of a value on its axis: shares are shown in per cent."""
    return 1 if unit in (NUMBER, COUNT) else 100


def _row(estimate: Estimate, unit: Unit) -> dict[str, Any]:
    places = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {
        **{name: _size(unit) * place for name, place in places.items() if place is not None},
        "interval": format_interval(estimate.low, estimate.high, unit),
        "estimate": format_value(estimate.value, unit),
        "n": f"{estimate.n:,}",
        "participants": f"{estimate.participants:,}",
    }


def scatter_chart(scatter: Scatter, unit: Unit) -> Spec:
    """Points in square panels with the diagonal; the marks of one series grow with `n`."""
    size = _size(unit) if scatter.axis[1] <= 1 else 1
    side = 300 if len({one.panel for one in scatter.points}) == 1 else 220
    letters = side // CHAR_PX  # in a line: what is longer would run into the next panel
    rows = [
        {
            **{"x": size * one.x, "y": size * one.y, "n": one.n, "label": one.label, "series": one.series},
            "panel": "\n".join(wrap(one.panel, letters)),
        }
        for one in scatter.points
    ]
    panels = [*dict.fromkeys(str(row["panel"]) for row in rows)]
    series = [*dict.fromkeys(one.series for one in scatter.points)]
    ends = [size * end for end in scatter.axis]
    axis = {"tickCount": TICKS} if size == 1 else {"tickCount": TICKS, "labelExpr": PER_CENT}
    scale = {"domain": ends, "nice": False, "zero": False, "padding": 12}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis, "title": wrap(scatter.x, letters)}
    y = {**x, "field": "y", "title": wrap(scatter.y, letters)}
    style: dict[str, Any] = {"opacity": 0.65, "strokeWidth": 1.5}
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": [{"field": name} for name in ("label", "n")]}
    if len(series) > 1:
        encoding |= {"color": nominal("series", series), "shape": nominal("series", series)}
    else:
        style |= {"color": COLOURS[0]}
        encoding["size"] = {"field": "n", "type": "quantitative", "scale": {"range": [4, 700]}, "legend": None}
    diagonal = layer("line", {"x": x, "y": y}, {"strokeWidth": 1.2, **DASHED})
    corners = {"data": {"values": [{"x": end, "y": end} for end in ends]}, **diagonal}
    square: Spec = {"width": side, "height": side, "layer": [corners, layer("point", encoding, style)]}
    whole: dict[str, Any] = {"config": _config(series, side * min(3, len(panels))), "data": {"values": rows}}
    if len(panels) == 1:
        return {**whole, **square}
    names = {**nominal("panel", panels, False), "header": {"labelExpr": "split(datum.label, '\\n')"}}
    return whole | {"facet": names, "columns": 3, "spec": square}
