"""Who began and completed a study, as two charts over time: in each stretch of it, and added up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from gradio.components.plot import PlotData

from app.web.console.charts import LOOK, Spec, shown
from storage.reports.monitoring.sessions import Bucket

HEIGHT = 160
SERIES = {"arrived": "began", "completed": "completed"}


def over_time(buckets: Sequence[Bucket]) -> tuple[PlotData, PlotData]:
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
    return shown(_spec(bars, each, "sessions, each")), shown(_spec(lines, total, "sessions, in all"))


def _spec(drawn: Spec, rows: Sequence[Any], title: str) -> Spec:
    time = {
        "scale": {"type": "utc"},
        "axis": {"title": "UTC", "tickCount": 6, "labelOverlap": True, "format": _format(rows)},
    }
    number = {"stack": None, "axis": {"title": title, "tickMinStep": 1, "format": "d"}}
    encoding = {
        "x": {"field": "at", "type": "temporal", **time},
        "y": {"field": "number", "type": "quantitative", **number},
        "color": {"field": "who", "type": "nominal", "sort": list(SERIES.values())},
        **drawn["encoding"],
    }
    return {**LOOK, "height": HEIGHT, "data": {"values": rows}, "mark": drawn["mark"], "encoding": encoding}


def _format(rows: Sequence[Any]) -> str:
    """As much of a time as tells the ends of the axis apart: seconds within minutes, dates over days."""
    begin, end = (datetime.fromisoformat(pick(row["at"] for row in rows)) for pick in (min, max))
    span = end - begin
    if span < timedelta(minutes=10):
        return "%H:%M:%S"
    return "%H:%M" if span < timedelta(days=1) else "%d %b %H:%M" if span < timedelta(days=3) else "%d %b"


def _time(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="seconds")
