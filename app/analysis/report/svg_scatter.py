"""Scatter plots: points in square panels, with the diagonal, and with the distributions of both values if they repeat.

All places are numbers in a panel's own units, for a page to draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from app.analysis.estimates import Finding, Scatter, ScatterPoint, Unit, format_value
from app.analysis.forest_plot import ticked
from app.analysis.forest_plot import words as tick_words
from app.analysis.report.svg_panels import SHAPES, MarkStyle

SIZE = 400
LEFT, RIGHT, TOP, BOTTOM = 62, 22, 10, 42
MARGIN = 54
"""The depth of a distribution beside the plot."""
LARGEST = 15
"""The radius of the mark of the most frequent pair of values."""
LOOKS = (("circle", "full"), ("square", "hollow"), ("up", "full"), ("down", "hollow"), ("cross", "hollow"))


@dataclass(frozen=True, slots=True)
class ScatterMark:
    """A point; `size` scales its mark's shape of radius 5."""

    x: float
    y: float
    size: float
    look: MarkStyle
    words: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a distribution."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """The points of one panel."""

    title: str
    marks: tuple[ScatterMark, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """The plot: `across` and `upright` are the places and words of its axes."""

    x: str
    y: str
    panels: tuple[ScatterPanel, ...]
    legend: tuple[MarkStyle, ...]
    across: tuple[tuple[float, str], ...]
    upright: tuple[tuple[float, str], ...]
    width: float
    height: float
    top: float
    """Where the plot begins, below the distribution of x."""

    @property
    def left(self) -> float:
        """Where the plot begins on the left."""
        return LEFT

    @property
    def bottom(self) -> float:
        """The place of the lowest value."""
        return self.height - BOTTOM

    @property
    def right(self) -> float:
        """The place of the largest value."""
        return SIZE - RIGHT


def scatter_chart(finding: Finding) -> ScatterChart | None:
    """The plot of a finding; None if it has none."""
    plot = finding.scatter
    if plot is None or not plot.points:
        return None
    axes = _ScatterAxes(plot, MARGIN if plot.margins else 0)
    series = tuple(dict.fromkeys(point.series for point in plot.points))
    looks = {
        name: MarkStyle(SHAPES[shape], fill, name)
        for name, (shape, fill) in zip(series, _looks(len(series)), strict=True)
    }
    unit: Unit = "number" if plot.margins else finding.unit
    panels = tuple(
        _panel(title, [point for point in plot.points if point.panel == title], plot, axes, looks, unit)
        for title in dict.fromkeys(point.panel for point in plot.points)
    )
    ticks = ticked(plot.axis, unit)
    return ScatterChart(
        plot.x, plot.y, panels, tuple(looks.values()) if len(series) > 1 else (),
        tuple((axes.across(tick), tick_words(tick, unit)) for tick in ticks),
        tuple((axes.upright(tick), tick_words(tick, unit)) for tick in ticks),
        SIZE + axes.margin, SIZE + axes.margin, TOP + axes.margin,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _ScatterAxes:
    """Where a value stands; with distributions, marks keep off the edges."""

    plot: Scatter
    margin: float

    def across(self, value: float) -> float:
        """The place of a value on the lower axis."""
        return round(LEFT + self._inset + self._part(value) * (SIZE - LEFT - RIGHT - 2 * self._inset), 1)

    def upright(self, value: float) -> float:
        """The place of a value on the upright axis."""
        low, high = SIZE + self.margin - BOTTOM - self._inset, TOP + self.margin + self._inset
        return round(low - self._part(value) * (low - high), 1)

    @property
    def _inset(self) -> float:
        return LARGEST if self.plot.margins else 0

    def _part(self, value: float) -> float:
        first, last = self.plot.axis
        return min(1.0, max(0.0, (value - first) / (last - first)))


def _looks(number: int) -> Iterator[tuple[str, str]]:
    yield from (LOOKS[place % len(LOOKS)] for place in range(number))


def _panel(
    title: str,
    points: Sequence[ScatterPoint],
    plot: Scatter,
    axes: _ScatterAxes,
    looks: dict[str, MarkStyle],
    unit: Unit,
) -> ScatterPanel:
    most = max(point.n for point in points)
    marks = tuple(
        ScatterMark(
            axes.across(point.x), axes.upright(point.y),
            round(LARGEST / 5 * sqrt(point.n / most), 2) if plot.margins else 0.6,
            looks[point.series], _tooltip(point, plot, unit),
        )
        for point in points
    )  # fmt: skip
    return ScatterPanel(title, marks, tuple(_bars(points, axes)) if plot.margins else ())


def _tooltip(point: ScatterPoint, plot: Scatter, unit: Unit) -> str:
    named = ", ".join(part for part in (point.label, point.series) if part)
    values = "" if plot.margins else f": {plot.x} {format_value(point.x, unit)}, {plot.y} {format_value(point.y, unit)}"
    return f"{named}{values}, n = {point.n:,}"


def _bars(points: Sequence[ScatterPoint], axes: _ScatterAxes) -> Iterator[Bar]:
    """The distribution of x above the plot and that of y to its right."""
    deep, wide = MARGIN - 8, 22.0
    for values, place in (("x", axes.across), ("y", axes.upright)):
        sums: dict[float, int] = {}
        for point in points:
            value = point.x if values == "x" else point.y
            sums[value] = sums.get(value, 0) + point.n
        for value, number in sums.items():
            long = round(deep * number / max(sums.values()), 1)
            at = place(value) - wide / 2
            name = axes.plot.x if values == "x" else axes.plot.y
            label = f"{name} {value:g}: {number:,}"
            if values == "x":
                yield Bar(at, TOP + MARGIN - 4 - long, wide, long, label)
            else:
                yield Bar(SIZE - RIGHT + 4, at, long, wide, label)
