"""Positions of the dots and intervals of a figure, from 0 to 100 along its axis, for a page to draw.

Shares use the whole axis from 0 to 1. Intervals are cut at the ends of the axis, which is never stretched; values to
compare with are not drawn if they are beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10

from app.analysis.estimates import COUNT, NUMBER, POINTS, SHARE, Estimate, Finding, Unit

TICKS = 6
"""Approximate number of ticks."""
LONG = 5
"""If a tick label has more characters than this, only every other tick has a label."""


Ends = tuple[float, float]
Beside = tuple[float, Ends | None]
"""A value to draw beside an estimate, and the ends of its bar if it has one."""


@dataclass(frozen=True, slots=True)
class PlotRow:
    """An estimate with the positions of its dot and of its interval's ends (None without an interval)."""

    estimate: Estimate
    at: float
    low: float | None
    high: float | None
    beside: Beside | None = None


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A position on the axis and its label."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """A figure: a row for each estimate on one axis, with a line at the reference value."""

    rows: tuple[PlotRow, ...]
    ticks: tuple[AxisTick, ...]
    reference: float | None


def forest(finding: Finding, beside: Mapping[str, Beside] | None = None) -> ForestPlot:
    """The figure of a finding; `beside` has values to draw beside estimates, by the estimates' names."""
    others = beside or {}
    first, last = axis = finding.axis

    def place(value: float) -> float:
        return round(100 * min(1.0, max(0.0, (value - first) / (last - first))), 2)

    def row(one: Estimate) -> PlotRow:
        low, high = (None, None) if one.low is None or one.high is None else (place(one.low), place(one.high))
        value, bar = others.get(one.name, (None, None))
        there = (
            None
            if value is None or not first <= value <= last
            else (place(value), (place(bar[0]), place(bar[1])) if bar else None)
        )
        return PlotRow(one, place(one.value), low, high, there)

    values = ticked(axis, finding.unit)
    long = any(len(words(value, finding.unit)) > LONG for value in values)
    ticks = tuple(AxisTick(place(value), words(value, finding.unit)) for value in (values[::2] if long else values))
    reference = None if finding.reference is None else place(finding.reference)
    return ForestPlot(tuple(map(row, finding.estimates)), ticks, reference)


def ticked(axis: tuple[float, float], unit: Unit = NUMBER) -> tuple[float, ...]:
    """Tick values along an axis, in steps of 1, 2 or 5 times a power of ten; whole numbers on an axis of counts."""
    low, high = axis
    rough = (high - low) / TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= rough * 0.999)
    step = max(step, 1.0) if unit == COUNT else step
    first = -floor(-low / step + 1e-9)
    count = floor(high / step + 1e-9) - first
    return tuple(round((first + n) * step, 10) + 0.0 for n in range(count + 1))


def words(value: float, unit: Unit) -> str:
    """The label of a value on an axis."""
    shown = f"{100 * value:.0f}" if unit in (SHARE, POINTS) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return shown.replace("-", "−") + (" %" if unit == SHARE else "")
