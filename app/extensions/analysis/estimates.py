"""The results of an analysis: estimates, each with its interval and a sentence for a paper.

An estimate's name is stable, so programs can rely on it. Without data there is no estimate; an estimate without an
interval gives the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from app.extensions.analysis.intervals import LEVEL, NO_SCALE, Interval, codes, mean_of, number_of, share_of
from experiments.plural import count

# A share is a number from 0 to 1, written in per cent; a difference of shares is written in percentage points.
Unit = Literal["share", "points", "number", "count"]
SHARE: Final = "share"
POINTS: Final = "points"
NUMBER: Final = "number"
COUNT: Final = "count"
UNITS: Mapping[Unit, str] = {SHARE: " %", POINTS: " pp", NUMBER: "", COUNT: ""}

# The name in `further` of the value of random groups, with which p compares.
RANDOM = "random_groups"
NO_INTERVAL = "A count."
# Numbers from this size are written without decimals.
LARGE = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    name: str
    """Stable, with dots: `chatbench.accuracy_by_condition.direct-to-AI.with_AI`."""
    label: str
    """The group in words."""
    value: float
    low: float | None
    high: float | None
    n: int
    participants: int
    groups: Mapping[str, str]
    """The group as columns with their values."""
    sentence: str
    why: str = ""
    """The reason why there is no interval."""
    further: Mapping[str, float] = field(default_factory=dict)
    """Related numbers by name, such as `p` or `standard_error_paper`; `sides` is 1 where p is one-sided."""
    level: float = LEVEL
    """The level of the interval."""


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A point of a scatter plot, which stands for `n` answers (pairs of ratings)."""

    x: float
    y: float
    n: int
    label: str
    series: str = ""
    """The value shown by the point's mark, such as the model."""
    panel: str = ""
    """The panel in which it is drawn, such as the condition."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot; both axes have the same scale. Values up to 1 have the unit of the finding."""

    x: str
    y: str
    axis: tuple[float, float]
    points: tuple[ScatterPoint, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    title: str
    counts: str
    """The unit of n: answers, ratings, votes."""
    unit: Unit
    axis: tuple[float, float]
    estimates: tuple[Estimate, ...]
    method: str
    """The computation of estimates and intervals, for a methods section."""
    code: str = ""
    """The call that computes them in a notebook."""
    reference: float | None = None
    """A value to compare with: chance, no difference."""
    note: str = ""
    """A note, for example about data that were left out."""
    columns: tuple[str, ...] = ()
    """The groups whose values are the columns of a table, with a row for each value of the others; without any, there
    is a row for each estimate."""
    scatter: Scatter | None = None
    """Points to draw besides."""

    @property
    def level(self) -> str:
        return format_level(next((one.level for one in self.estimates if one.low is not None), LEVEL))


NO_WORDS: Mapping[str, object] = {}


@cache
def declared() -> Mapping[str, Mapping[str, Any]]:
    """The declarations in figures.json; a method that is the name of another finding is that one's."""
    known: Mapping[str, Mapping[str, Any]] = json.loads(
        (Path(__file__).parent / "figures.json").read_text(encoding="utf-8")
    )
    return {name: {**one, "method": known.get(one["method"], one)["method"]} for name, one in known.items()}


def finding(
    key: str, estimates: Iterable[Estimate], *, name: str = "", axis: tuple[float, float] | None = None,
    reference: float | None = None, note: str = "", columns: tuple[str, ...] = (), scatter: Scatter | None = None,
    words: Mapping[str, object] = NO_WORDS,
) -> Finding:  # fmt: skip
    """A finding as figures.json declares it under a key; `words` fill the places in key, title and method. The key is
    its name, unless there is another; axis and reference are those of the declaration, if it has them."""
    one = declared()[key]
    low, high = one["axis"] if axis is None else axis
    title, method = (one[part].format_map(words) for part in ("title", "method"))
    return Finding(
        name or key.format_map(words), title, one["counts"], one["unit"], (low, high), tuple(estimates), method,
        reference=one.get("reference", reference), note=note, columns=columns, scatter=scatter,
    )  # fmt: skip


def share_estimate(
    name: str, label: str, groups: Mapping[str, str], said: str, hits: npt.ArrayLike, people: npt.ArrayLike,
    questions: npt.ArrayLike | None = None, *, counts: str, counted: bool = False,
    further: Mapping[str, float] | None = None,
) -> Estimate:  # fmt: skip
    """The share of ones among the zeros and ones of `people`, who may share `questions`, as `share_of` has it. If
    `counted`, the number of ones is `count` in `further`, and stands for `{count}` in the sentence."""
    ones, clusters = np.asarray(hits, dtype=np.float64), codes(people)
    found = share_of(ones, clusters, None if questions is None else codes(questions))
    if counted:
        said, further = said.replace("{count}", f"{int(ones.sum()):,}"), {"count": float(ones.sum())}
    size = (ones.size, number_of(clusters))
    return estimate(name, label, groups, size, found, said, SHARE, counts, further=further)


def mean_estimate(
    name: str, label: str, groups: Mapping[str, str], said: str, values: npt.ArrayLike, people: npt.ArrayLike,
    questions: npt.ArrayLike | None = None, *, counts: str, unit: Unit = NUMBER,
    scale: tuple[float, float] = NO_SCALE, further: Mapping[str, float] | None = None,
) -> Estimate:  # fmt: skip
    """The mean of values of `people`, who may share `questions`, as `mean_of` has it."""
    known, clusters = np.asarray(values, dtype=np.float64), codes(people)
    found = mean_of(known, clusters, None if questions is None else codes(questions), scale)
    size = (known.size, number_of(clusters))
    return estimate(name, label, groups, size, found, said, unit, counts, further=further)


def estimate(
    name: str, label: str, groups: Mapping[str, str], size: tuple[int, int], interval: Interval, said: str, unit: Unit,
    counts: str, *, further: Mapping[str, float] | None = None,
) -> Estimate:  # fmt: skip
    """An estimate with its sentence; `said` is the sentence without its full stop, with `{}` for the value. `size` is n
    and the number of participants: 0 of models alone, whose sentences do not mention any."""
    n, participants = size
    sure = ""
    if interval.low is not None:
        sure = f"{format_level(interval.level)} interval {format_interval(interval.low, interval.high, unit)}; "
    of = f" of {count(participants, 'participant')}" if participants else ""
    first, *rest = counts.split(" ")
    what = " ".join([first.removesuffix("s"), *rest]) if n == 1 else counts
    sized = f"n = {n:,}{'' if counts == 'participants' else f' {what}{of}'}"
    tested = f"; {format_p(further, words=True)}" if further and "p" in further else ""
    if further and RANDOM in further:
        tested += f", against {format_value(further[RANDOM], unit)} in random groups"
    sentence = f"{said.replace('{}', format_value(interval.value, unit))} ({sure}{sized}{tested})."
    values = (interval.value, interval.low, interval.high, n, participants)
    return Estimate(name, label, *values, groups, sentence, interval.why, further or {}, interval.level)


def count_estimate(
    name: str, label: str, groups: Mapping[str, str], n: int, participants: int, sentence: str,
    further: Mapping[str, float] | None = None,
) -> Estimate:  # fmt: skip
    return Estimate(name, label, float(n), None, None, n, participants, groups, sentence, NO_INTERVAL, further or {})


def format_p(further: Mapping[str, float], *, words: bool = False) -> str:
    """The p among an estimate's further numbers, with the adjusted p in brackets; empty if it has none."""
    if "p" not in further:
        return ""
    p = format_p_value(further["p"])
    side = "one-sided " if further.get("sides") == 1 else ""
    said = f"{side}p {p}" if p.startswith("<") else f"{side}p = {p}"
    if "p_adjusted" in further:
        adjusted = format_p_value(further["p_adjusted"])
        return f"{said}, adjusted {adjusted}" if words else f"{p} ({adjusted})"
    return said if words else p


def format_p_value(p: float, sides: float | None = 2) -> str:
    """Format a p value, and say if it is one-sided: `0.037, one-sided`."""
    return ("< 0.001" if p < 0.001 else f"{p:.3f}") + (", one-sided" if sides == 1 else "")


def format_level(level: float) -> str:
    return f"{100 * level:.4g} %"


def format_value(value: float | None, unit: Unit) -> str:
    if value is None:
        return "–"
    return _number(value, unit) + UNITS[unit]


def _number(value: float, unit: Unit) -> str:
    if unit == COUNT or (unit == NUMBER and abs(value) >= LARGE):
        return f"{value:,.0f}".replace("-", "−")
    return (f"{value:.2f}" if unit == NUMBER else f"{100 * value:.1f}").replace("-", "−")


def format_interval(low: float | None, high: float | None, unit: Unit) -> str:
    if low is None or high is None:
        return "–"
    return f"{_number(low, unit)} to {_number(high, unit)}{UNITS[unit]}"


# What ChatBench's tables call the ways of answering, in words.
WAYS: Mapping[str, str] = {
    "user-alone": "people alone",
    "user-AI": "people with the chatbot",
    "letter_only_zero_shot": "model alone, letter only, zero-shot",
    "letter_only_few_shot": "model alone, letter only, few-shot",
    "free_text": "model alone, free text",
}


def in_words(value: str) -> str:
    """A value of the tables as readers see it, such as `user-AI.answer-first`."""
    way, dot, condition = value.partition(".")
    return f"{WAYS[way]}{', ' if dot else ''}{condition}" if way in WAYS else value


def slug(text: object) -> str:
    """A value as a part of a name: dots, blanks and unprintable characters become `_`."""
    return "".join(sign if sign.isprintable() and sign not in ". " else "_" for sign in str(text)) or "none"
