"""A finding as a figure of dots and intervals, a row for each estimate, over its whole axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradio.components.plot import PlotData

from app.analysis.estimates import COUNT, NUMBER, POINTS, SHARE, Estimate, Finding, Unit, between, written
from app.analysis.forest_plot import ticked
from app.web.console.charts import COLOURS, INK, LOOK, Spec, shown

ROW_PX, AXIS_PX = 34, 24
TITLES: Mapping[Unit, str] = {SHARE: "per cent", POINTS: "percentage points", NUMBER: "", COUNT: ""}
HINTS = ("group", "estimate", "interval", "n", "participants")
CUT = {"color": COLOURS[0], "clip": True}


def drawn(finding: Finding) -> PlotData:
    """The chart, for gr.Plot."""
    return shown(spec(finding))


def spec(finding: Finding) -> Spec:
    """The chart in Vega-Lite; an estimate without an interval has a hollow dot."""
    size = 1 if finding.unit in (NUMBER, COUNT) else 100
    ticks = [size * tick for tick in ticked(finding.axis)]
    axis = {"values": ticks, "title": TITLES[finding.unit] or None}
    scale = {"domain": [size * end for end in finding.axis], "nice": False, "zero": False}
    place = {"type": "quantitative", "scale": scale, "axis": axis}
    named = {"labelLimit": 240, "labelPadding": 12, "ticks": False, "domain": False}
    group = {"field": "group", "type": "nominal", "sort": None, "title": None, "axis": named}
    both: Spec = {"y": group, "tooltip": [{"field": name, "type": "nominal"} for name in HINTS]}
    fill = {"condition": {"test": "isValid(datum.low)", "value": COLOURS[0]}, "value": "transparent"}
    line = {
        "mark": {"type": "rule", "strokeWidth": 2.5, **CUT},
        "encoding": {**both, "x": {"field": "low", **place}, "x2": {"field": "high"}},
    }
    dot = {
        "mark": {"type": "point", "size": 80, "strokeWidth": 2, "opacity": 1, "color": COLOURS[0]},
        "encoding": {**both, "x": {"field": "value", **place}, "fill": fill},
    }
    return {
        **LOOK,
        "padding": {"left": 8, "right": 22, "top": 6, "bottom": 6},
        "height": AXIS_PX + ROW_PX * len(finding.estimates),
        "data": {"values": [_row(one, finding.unit, size) for one in finding.estimates]},
        "layer": [*_compared(finding, size, place), line, dot],
    }


def _row(one: Estimate, unit: Unit, size: int) -> Spec:
    interval = {} if one.low is None or one.high is None else {"low": size * one.low, "high": size * one.high}
    told = {"interval": between(one.low, one.high, unit), "estimate": written(one.value, unit)}
    sizes = {"n": f"{one.n:,}", "participants": f"{one.participants:,}"}
    return {"group": one.label, "value": size * one.value, **interval, **told, **sizes}


def _compared(finding: Finding, size: int, place: Spec) -> Iterator[Spec]:
    """A line for the value to compare with."""
    if finding.reference is not None:
        yield {
            "data": {"values": [{"at": size * finding.reference}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "color": INK},
            "encoding": {"x": {"field": "at", **place}},
        }
