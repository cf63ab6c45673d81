"""Human labels of a random sample of conversations, beside a model's labels of all of them.

Only a sample whose draw is recorded can stand for all: the label study must hold the conversations that were drawn, all
of them and no others, and each must be labelled. Whatever else decides who labels what (the first that came, the hard
cases) can move the estimate by any amount, and no later computation shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from app.annotation.annotators.base import Annotator
from app.annotation.validation_study import POOL, STEP, YES, AnnotationField, fields, public_id
from app.errors import NoRandomSample
from storage.db.engine import Database
from storage.registers.label_samples import LabelSample, label_samples
from storage.registers.studies import Studies
from storage.reports.conversations import Conversation
from storage.reports.labels import labels

Annotated = Sequence[tuple[Conversation, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    """A conversation with the model's values, and those of each person who labelled it."""

    conversation: Conversation
    values: Mapping[str, Any]
    labels: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class LabelMean:
    """The mean of a number, or the share of a value: the people's labels (None without any), and the model's."""

    field: str
    value: str
    """The value whose share it is; empty for the mean of a number."""
    scale: tuple[float, float]
    human: tuple[float | None, ...] = ()
    model: tuple[float, ...] = ()
    why: str = ""
    """Why it is not estimated."""


def draw_of(database: Database, study: str, annotator: str, label_study: str) -> tuple[LabelSample, int]:
    """The draw that gave exactly the label study's conversations, and the number of draws for this annotator.

    Raises NoRandomSample if none is recorded, or if conversations were added to the label study or left out.
    """
    draws = label_samples(database, study, annotator)
    again = f"Draw a sample with: parley annotate sample {study} --annotator {annotator} -o FOLDER"
    if not draws:
        raise NoRandomSample(
            f"It is not recorded how the conversations of {label_study!r} were chosen, so their labels cannot stand "
            f"for all. {again}, and let people label it."
        )
    held = {problem.id for problem in Studies(database).newest(label_study).pools.get(POOL, ())}
    found = next((one for one in reversed(draws) if set(one.sample) == held), None)
    if found is None:
        newest = set(draws[-1].sample)
        raise NoRandomSample(
            f"{label_study!r} does not have the conversations that were drawn: {len(held - newest):,} are not in the "
            f"newest sample, and {len(newest - held):,} of it are missing. {again}, and leave its conversations as "
            f"they are."
        )
    return found, len(draws)


def human_sample(
    database: Database, drawn: LabelSample, annotated: Annotated, label_origin: str, secret: str
) -> tuple[LabelledConversation, ...]:
    """The conversations among which the sample was drawn, as far as they are still there, with their labels.

    Raises NoRandomSample while some of the sample have no label.
    """
    given: dict[str, list[Mapping[str, Any]]] = {}
    for label in labels(database, drawn.label_study, label_origin, STEP):
        given.setdefault(label.problem, []).append(label.values)
    population, sample = set(drawn.population), set(drawn.sample)
    found = {
        public: LabelledConversation(one, values, tuple(given.get(public, ())) if public in sample else ())
        for one, values in annotated
        if (public := public_id(secret, one)) in population
    }
    there = [found[public] for public in drawn.sample if public in found]
    unlabelled = sum(not one.labels for one in there)
    if unlabelled or not there:
        raise NoRandomSample(
            f"{unlabelled:,} of the {len(there):,} conversations that were drawn have no label yet (origin "
            f"{label_origin}). Those that happen to be labelled are no random sample: let people label all of "
            f"{drawn.label_study!r}, or draw fewer with -n in: parley annotate sample"
        )
    return tuple(found.values())


def label_means(annotator: Annotator, held: Sequence[LabelledConversation]) -> Iterator[LabelMean]:
    """What can be estimated of each field: the share of each value of a closed list, or the mean of a number."""
    for field in fields(annotator, (one.conversation for one in held)):
        if field.numeric:
            yield _mean(field, held)
        elif field.closed:
            for option in [YES] if YES in field.options else field.options:
                yield _share(field, option, held)
        else:
            yield LabelMean(field.name, "", (-inf, inf), why="a list or free text has no mean")


def _share(field: AnnotationField, option: str, held: Sequence[LabelledConversation]) -> LabelMean:
    def hit(values: Mapping[str, Any]) -> float:
        return float(field.says(values.get(field.name)) == option)

    if not field.may_be_null and (lacking := _lacking(field, held)):
        return LabelMean(field.name, option, (0.0, 1.0), why=f"{lacking:,} conversations have a label without a value")
    human = tuple(fmean(map(hit, one.labels)) if one.labels else None for one in held)
    return LabelMean(field.name, option, (0.0, 1.0), human, tuple(hit(one.values) for one in held))


def _mean(field: AnnotationField, held: Sequence[LabelledConversation]) -> LabelMean:
    scale = float(field.schema.get("minimum", -inf)), float(field.schema.get("maximum", inf))
    if lacking := _lacking(field, held):
        return LabelMean(field.name, "", scale, why=f"{lacking:,} conversations have a label without a number")

    def number(values: Mapping[str, Any]) -> float:
        return float(values[field.name])

    human = tuple(fmean(map(number, one.labels)) if one.labels else None for one in held)
    return LabelMean(field.name, "", scale, human, tuple(number(one.values) for one in held))


def _lacking(field: AnnotationField, held: Sequence[LabelledConversation]) -> int:
    """The number of conversations for which a person or the model gave no value."""
    return sum(any(values.get(field.name) is None for values in (one.values, *one.labels)) for one in held)
