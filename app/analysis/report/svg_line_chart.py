"""The figure of ratings by turn: a line for each rating, from the estimates `mathconverse.by_turn.<rating>.<n>`.

The lines differ in marker, dashes and shade, and are slightly offset so that intervals do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.estimates import Estimate, Finding, Unit, format_interval, format_value
from app.analysis.forest_plot import ticked
from app.analysis.forest_plot import words as tick_words
from app.analysis.report.svg_panels import SHAPES, ChartMark, MarkStyle

PREFIX = "mathconverse.by_turn."
PARTS = 4
WIDTH, HEIGHT = 480, 252
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 10, 48
BESIDE = 7
"""The horizontal offset between lines."""
LOOKS = (("circle", "full"), ("square", "hollow"), ("up", "full"), ("down", "hollow"))
DASHES = ("", "6 4", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class RatingLine:
    """A rating's line through its marks."""

    points: str
    dashes: str
    look: MarkStyle
    marks: tuple[ChartMark, ...]


@dataclass(frozen=True, slots=True)
class LineChart:
    """The figure; `across` and `upright` are the places and words on its axes, `counts` how many ratings a turn has."""

    lines: tuple[RatingLine, ...]
    across: tuple[tuple[float, str], ...]
    counts: tuple[tuple[float, str], ...]
    upright: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where a turn and a value stand."""

    turns: tuple[int, ...]
    low: float
    high: float

    def across(self, turn: int, beside: float = 0) -> float:
        """The place of a turn."""
        space = (WIDTH - LEFT - RIGHT) / (self.turns[-1] - self.turns[0] + 1)
        return round(LEFT + space * (turn - self.turns[0] + 0.5) + beside, 1)

    def upright(self, value: float) -> float:
        """The place of a value, at most at an end of the axis."""
        part = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * part, 1)

    def mark(self, beside: float, one: Estimate, look: MarkStyle, unit: Unit) -> ChartMark:
        """An estimate with its interval."""
        low, high = (None if end is None else self.upright(end) for end in (one.low, one.high))
        sure = f", {format_interval(one.low, one.high, unit)}" if one.low is not None else ""
        words = f"{one.label}: {format_value(one.value, unit)}{sure}, n = {one.n:,}"
        return ChartMark(self.across(_turn(one.name), beside), self.upright(one.value), low, high, look, words)


def lines(findings: Sequence[Finding]) -> LineChart | None:
    """The figure of these findings; None where none of their estimates belongs in it."""
    ratings: dict[str, list[Estimate]] = {}
    by_turn = [finding for finding in findings if any(_turn(one.name) for one in finding.estimates)]
    for one in (one for finding in by_turn for one in finding.estimates if _turn(one.name)):
        ratings.setdefault(one.name.split(".")[2], []).append(one)
    if not ratings:
        return None
    turns = tuple(sorted({_turn(one.name) for some in ratings.values() for one in some}))
    axes, unit = _Axes(turns, *by_turn[0].axis), by_turn[0].unit
    drawn = []
    for number, (name, some) in enumerate(ratings.items()):
        shape, fill = LOOKS[number % len(LOOKS)]
        look = MarkStyle(SHAPES[shape], fill, name.replace("_", " "))
        beside = BESIDE * (number - (len(ratings) - 1) / 2)
        marks = tuple(axes.mark(beside, one, look, unit) for one in sorted(some, key=lambda one: _turn(one.name)))
        points = " ".join(f"{one.x},{one.y}" for one in marks)
        drawn.append(RatingLine(points, DASHES[number % len(DASHES)], look, marks))
    across = tuple((axes.across(turn), f"{turn}") for turn in turns)
    counts = tuple((axes.across(turn), f"{size}") for turn, size in zip(turns, _sizes(ratings, turns), strict=True))
    ticks = tuple((axes.upright(value), tick_words(value, unit)) for value in ticked(by_turn[0].axis, unit))
    return LineChart(tuple(drawn), across, counts, ticks)


def _sizes(ratings: Mapping[str, Sequence[Estimate]], turns: Sequence[int]) -> Iterator[int]:
    """How many ratings each turn has, of the rating of which it has most."""
    for turn in turns:
        yield max(one.n for some in ratings.values() for one in some if _turn(one.name) == turn)


def _turn(name: str) -> int:
    """Which turn an estimate is about, from 1; 0 where it is about none."""
    parts = name.split(".")
    known = name.startswith(PREFIX) and len(parts) == PARTS and parts[3].isdecimal()
    return int(parts[3]) if known else 0
