"""The scores of instruments, from the answers to their items.

A reverse item counts as minimum + maximum − answer. A score is the mean or the sum of its items; a sum with unanswered
items is the mean of the answered ones times the number of items. With a `range`, the score is mapped to it linearly,
from the lowest and highest score that the scales of the items allow (Brooke 1996 for SUS: (sum − 10) * 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.events import Event
from experiments.study.instrument import Instrument, Item, ItemOnLine, ItemOnPoints, Score
from experiments.study.location import Location
from experiments.study.step import Step
from experiments.study.study import Study


@dataclass(frozen=True, slots=True)
class InstrumentAnswers:
    """The answers at one place: numbers by the id of the item; those without an answer are left out."""

    instrument: Instrument
    event: Event
    answers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ScoreValue:
    """A score of one participant at one place. `value` is None if more items are unanswered than its rule allows."""

    instrument: str
    score: str
    value: float | None
    answered: int
    items: int


def instrument_answers(study: Study, location: Location) -> Iterator[InstrumentAnswers]:
    """The answers to each instrument of a place whose form was sent, in the order of its questions."""
    sent = next((event for event in reversed(location.facts) if event.kind == "submitted"), None)
    if sent is None or not isinstance(location.node, Step):
        return
    found: dict[str, dict[str, float]] = {}
    for field in location.node.questions_asked():
        if isinstance(field, ItemOnPoints | ItemOnLine):
            answers = found.setdefault(field.instrument, {})
            if (value := sent.data.get(field.name)) is not None:
                answers[field.item] = float(value)
    for name, answers in found.items():
        yield InstrumentAnswers(study.instruments[name], sent, answers)


def keyed(instrument: Instrument, item: Item, answer: float) -> float:
    """The answer to an item, turned if it is a reverse item."""
    scale = instrument.scale_of(item)
    return scale.minimum + scale.maximum - answer if item.reverse else answer


def scores(instrument: Instrument, answers: Mapping[str, float]) -> Iterator[ScoreValue]:
    """Every score of an instrument, from the answers by the id of their item; items without an answer are left out."""
    for score in instrument.scores:
        items = instrument.items_of(score)
        values = [keyed(instrument, item, answers[item.id]) for item in items if item.id in answers]
        enough = len(items) - len(values) <= score.missing
        value = _value(instrument, score, values) if enough else None
        yield ScoreValue(instrument.instrument, score.name, value, len(values), len(items))


def limits(instrument: Instrument, score: Score) -> tuple[float, float]:
    """The lowest and the highest value that a score can have."""
    return score.range or _raw_limits(instrument, score)


def _raw_limits(instrument: Instrument, score: Score) -> tuple[float, float]:
    scales = [instrument.scale_of(item) for item in instrument.items_of(score)]
    share = len(scales) if score.rule == "mean" else 1
    return sum(scale.minimum for scale in scales) / share, sum(scale.maximum for scale in scales) / share


def _value(instrument: Instrument, score: Score, values: list[float]) -> float:
    mean = sum(values) / len(values)
    raw = mean if score.rule == "mean" else mean * len(instrument.items_of(score))
    if score.range is None:
        return raw
    low, high = _raw_limits(instrument, score)
    least, most = score.range
    return least + (raw - low) / (high - low) * (most - least)
