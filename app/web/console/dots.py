"""A finding as a figure of dots and intervals, a row for each estimate, over its whole axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair

from app.analysis.estimates import NUMBER, POINTS, SHARE, Estimate, Finding, Unit, between, written
from app.analysis.forest import ticked
from app.web.console.charts import COLOURS, INK, inline, styled

ROW_PX, AXIS_PX = 34, 24
TITLES: dict[Unit, str] = {SHARE: "per cent", POINTS: "percentage points", NUMBER: ""}
SAVE = {"export": True, "source": False, "compiled": False, "editor": False}
"""What the chart's menu offers: to save it as a picture. The editor would be another's server."""
HINTS = ("group", "estimate", "interval", "n", "participants")


def drawn(finding: Finding) -> Any:
    """The chart; an estimate without an interval has a hollow dot."""
    size = 1 if finding.unit == NUMBER else 100
    ends = [size * end for end in finding.axis]
    axis = altair.Axis(values=[size * tick for tick in ticked(finding.axis)], title=TITLES[finding.unit] or None)
    place = altair.X("value:Q", scale=altair.Scale(domain=ends, nice=False, zero=False), axis=axis)
    group = altair.Y(
        "group:N", sort=None, title=None, axis=altair.Axis(labelLimit=240, labelPadding=12, ticks=False, domain=False)
    )
    base = altair.Chart(inline([_row(one, finding.unit, size) for one in finding.estimates])).encode(
        y=group, tooltip=[altair.Tooltip(f"{name}:N") for name in HINTS]
    )
    line = base.mark_rule(strokeWidth=2.5, clip=True, color=COLOURS[0]).encode(
        x=altair.X("low:Q", scale=altair.Scale(domain=ends, nice=False, zero=False), axis=axis), x2="high:Q"
    )
    dot = base.mark_point(size=80, strokeWidth=2, opacity=1, color=COLOURS[0]).encode(
        x=place, fill=altair.condition("isValid(datum.low)", altair.value(COLOURS[0]), altair.value("transparent"))
    )
    layers = [*_compared(finding, size), line, dot]
    chart = altair.layer(*layers).properties(usermeta={"embedOptions": {"actions": SAVE}})
    return styled(chart, AXIS_PX + ROW_PX * len(finding.estimates))


def _row(one: Estimate, unit: Unit, size: int) -> dict[str, Any]:
    interval = {} if one.low is None or one.high is None else {"low": size * one.low, "high": size * one.high}
    told = {"interval": between(one.low, one.high, unit), "estimate": written(one.value, unit)}
    sizes = {"n": f"{one.n:,}", "participants": f"{one.participants:,}"}
    return {"group": one.label, "value": size * one.value, **interval, **told, **sizes}


def _compared(finding: Finding, size: int) -> Iterator[Any]:
    """A line for the value to compare with."""
    if finding.reference is not None:
        data = inline([{"at": size * finding.reference}])
        yield altair.Chart(data).mark_rule(strokeDash=[4, 4], color=INK).encode(x="at:Q")
