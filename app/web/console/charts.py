"""The charts of the console, in one style and in the page's colours where possible.

They are plain Vega-Lite specifications: building and validating them with a library's objects takes a hundred times as
long, too long for a page with many users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from gradio.components.plot import PlotData

from app.analysis.estimates import COUNT, NUMBER, POINTS, SHARE, Estimate, Finding, Unit, format_interval, format_value
from app.analysis.forest_plot import ticked
from storage.reports.monitoring.sessions import HourCount

Spec = Mapping[str, Any]
INK, LINE = "#6b7280", "#8884"
"""Legible on light and on dark backgrounds."""
COLOURS = ("#2a8391", "#c2703d", "#6b64b8", "#7d8f2e", "#b04a6e", "#5f6b76")
"""Distinguishable with colour blindness, and in greyscale."""
SAVE = {"export": True, "source": False, "compiled": False, "editor": False}
"""The entries of a chart's menu: saving as an image only. The editor would send the data to another server."""
THEME: Spec = {
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
"""The configuration of all charts."""


def chart_or_note(spec: Spec) -> PlotData:
    """A chart for gr.Plot."""
    return PlotData(type="altair", plot=orjson.dumps(spec).decode())


HEIGHT = 160
SERIES = {"arrived": "started", "completed": "completed"}


def arrivals_chart(buckets: Sequence[HourCount]) -> tuple[PlotData, PlotData]:
    """The two charts."""
    each, total = [], []
    for name, words in SERIES.items():
        so_far = 0
        for bucket in buckets:
            number = getattr(bucket, name)
            begin, end = _time(bucket.begin_us), _time(bucket.begin_us + bucket.width_us)
            each.append({"at": begin, "end": end, "who": words, "number": number})
            total.append({"at": begin, "who": words, "number": so_far})
            so_far += number
            total.append({"at": end, "who": words, "number": so_far})
    bars = {"mark": {"type": "bar", "opacity": 0.55}, "encoding": {"x2": {"field": "end"}, "y2": {"datum": 0}}}
    lines = {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {}}
    return chart_or_note(_spec(bars, each, "sessions per interval")), chart_or_note(
        _spec(lines, total, "sessions in total")
    )


def _spec(drawn: Spec, rows: Sequence[Any], title: str) -> Spec:
    time = {
        "scale": {"type": "utc"},
        "axis": {"title": "UTC", "tickCount": 6, "labelOverlap": True, "labelBound": True, "format": _format(rows)},
    }
    ticks = min(5, max(row["number"] for row in rows) or 1)
    number = {"stack": None, "axis": {"title": title, "tickCount": ticks, "tickMinStep": 1, "format": "d"}}
    encoding = {
        "x": {"field": "at", "type": "temporal", **time},
        "y": {"field": "number", "type": "quantitative", **number},
        "color": {"field": "who", "type": "nominal", "sort": list(SERIES.values())},
        **drawn["encoding"],
    }
    return {**THEME, "height": HEIGHT, "data": {"values": rows}, "mark": drawn["mark"], "encoding": encoding}


def _format(rows: Sequence[Any]) -> str:
    """The time format that distinguishes the ends of the axis: seconds within minutes, dates over days."""
    begin, end = (datetime.fromisoformat(pick(row["at"] for row in rows)) for pick in (min, max))
    span = end - begin
    if span < timedelta(minutes=10):
        return "%H:%M:%S"
    return "%H:%M" if span < timedelta(days=1) else "%d %b %H:%M" if span < timedelta(days=3) else "%d %b"


def _time(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="seconds")


ROW_PX, AXIS_PX = 34, 24
TITLES: Mapping[Unit, str] = {SHARE: "per cent", POINTS: "percentage points", NUMBER: "", COUNT: ""}
HINTS = ("group", "estimate", "interval", "n", "participants")
CUT = {"color": COLOURS[0], "clip": True}


def forest_chart(finding: Finding) -> PlotData:
    """The chart, for gr.Plot."""
    return chart_or_note(spec(finding))


def spec(finding: Finding) -> Spec:
    """The chart in Vega-Lite; an estimate without an interval has a hollow dot."""
    size = 1 if finding.unit in (NUMBER, COUNT) else 100
    ticks = [size * tick for tick in ticked(finding.axis, finding.unit)]
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
        **THEME,
        "padding": {"left": 8, "right": 22, "top": 6, "bottom": 6},
        "height": AXIS_PX + ROW_PX * len(finding.estimates),
        "data": {"values": [_row(one, finding.unit, size) for one in finding.estimates]},
        "layer": [*_compared(finding, size, place), line, dot],
    }


def _row(one: Estimate, unit: Unit, size: int) -> Spec:
    interval = {} if one.low is None or one.high is None else {"low": size * one.low, "high": size * one.high}
    formatted = {"interval": format_interval(one.low, one.high, unit), "estimate": format_value(one.value, unit)}
    sizes = {"n": f"{one.n:,}", "participants": f"{one.participants:,}"}
    return {"group": one.label, "value": size * one.value, **interval, **formatted, **sizes}


def _compared(finding: Finding, size: int, place: Spec) -> Iterator[Spec]:
    """A line for the value to compare with."""
    if finding.reference is not None:
        yield {
            "data": {"values": [{"at": size * finding.reference}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "color": INK},
            "encoding": {"x": {"field": "at", **place}},
        }
