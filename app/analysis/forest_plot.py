"""Where the dots and intervals of a figure stand: places from 0 to 100 along its axis, for a page to draw.

Shares are drawn on the whole axis from 0 to 1; an interval beyond an axis is cut there, never the axis stretched, and
another value beyond it is not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10

from app.analysis.estimates import POINTS, SHARE, Estimate, Finding, Unit

TICKS = 6
"""About so many ticks."""
LONG = 5
"""Where words of more signs stand at ticks, every other has some."""


Ends = tuple[float, float]
Beside = tuple[float, Ends | None]
"""Another value to draw beside an estimate's, and the ends of its bar if it has one."""


@dataclass(frozen=True, slots=True)
class PlotRow:
    """An estimate with the places of its dot and of its interval's ends; None where it has no interval."""

    estimate: Estimate
    at: float
    low: float | None
    high: float | None
    beside: Beside | None = None


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A place on the axis and what is written there."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """A figure: a row for each estimate over one axis, with a line for the value to compare with."""

    rows: tuple[PlotRow, ...]
    ticks: tuple[AxisTick, ...]
    reference: float | None


def forest(finding: Finding, beside: Mapping[str, Beside] | None = None) -> ForestPlot:
    """The figure of a finding, with other values `beside` those of the estimates of these names."""
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

    values = ticked(axis)
    long = any(len(words(value, finding.unit)) > LONG for value in values)
    ticks = tuple(AxisTick(place(value), words(value, finding.unit)) for value in (values[::2] if long else values))
    reference = None if finding.reference is None else place(finding.reference)
    return ForestPlot(tuple(map(row, finding.estimates)), ticks, reference)


def ticked(axis: tuple[float, float]) -> tuple[float, ...]:
    """Round values along an axis: steps of 1, 2 or 5 times a power of ten."""
    low, high = axis
    rough = (high - low) / TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= rough * 0.999)
    first = -floor(-low / step + 1e-9)
    count = floor(high / step + 1e-9) - first
    return tuple(round((first + n) * step, 10) + 0.0 for n in range(count + 1))


def words(value: float, unit: Unit) -> str:
    """A value on an axis."""
    shown = f"{100 * value:.0f}" if unit in (SHARE, POINTS) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return shown.replace("-", "−") + (" %" if unit == SHARE else "")
