"""The charts of the console's page; those of findings are in app/extensions/analysis/report/charts.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from gradio.components.plot import PlotData

from app.rendering.chart_style import CONFIG, Spec
from storage.reports.monitoring.sessions import HourCount

# The entries of a chart's menu: saving as an image only. The editor would send the data to another server.
SAVE = {"export": True, "source": False, "compiled": False, "editor": False}
# What a chart has on the page in place of a width of its own.
PAGE: Spec = {
    # The version that Gradio's page draws; a name, which nobody fetches.
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "background": "transparent",
    "width": "container",
    "autosize": {"type": "fit-x", "contains": "padding"},
    "usermeta": {"embedOptions": {"actions": SAVE}},
}


def chart_or_note(spec: Spec) -> PlotData:
    return PlotData(type="altair", plot=orjson.dumps({**spec, **PAGE}).decode())


HEIGHT = 160
SERIES = {"arrived": "started", "completed": "completed"}


def arrivals_chart(hours: Sequence[HourCount]) -> tuple[PlotData, PlotData]:
    each, total = [], []
    for name, words in SERIES.items():
        so_far = 0
        for bucket in hours:
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
    return {"config": CONFIG, "height": HEIGHT, "data": {"values": rows}, "mark": drawn["mark"], "encoding": encoding}


def _format(rows: Sequence[Any]) -> str:
    """The time format that distinguishes the ends of the axis: seconds within minutes, dates over days."""
    begin, end = (datetime.fromisoformat(pick(row["at"] for row in rows)) for pick in (min, max))
    span = end - begin
    if span < timedelta(minutes=10):
        return "%H:%M:%S"
    return "%H:%M" if span < timedelta(days=1) else "%d %b %H:%M" if span < timedelta(days=3) else "%d %b"


def _time(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="seconds")
