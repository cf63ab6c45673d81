"""How far an annotator and the people of a label study agree: labels read back, and compared field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.annotation.annotators.base import Annotator
from app.annotation.validation_study import STEP, AnnotationField, fields, public_id
from app.errors import AnnotatorUnknown
from storage.db.engine import Database
from storage.reports.conversations import Conversation
from storage.reports.session_views import Label, labels


@dataclass(frozen=True, slots=True)
class AnswerPairs:
    """What the annotator and a person say about a conversation, of one field."""

    field: AnnotationField
    pairs: tuple[tuple[str, str, str, str], ...]
    """Of each label: the conversation, the rater, what the annotator says, and what they say."""


def compare_answers(
    database: Database,
    annotator: Annotator,
    annotated: Sequence[tuple[Conversation, Mapping[str, Any]]],
    study: tuple[str, str | None],
    secret: str,
) -> list[AnswerPairs]:
    """Every label of a label study (name and origin) with its annotation; raises AnnotatorUnknown without any."""
    known = {public_id(secret, one): (one, values) for one, values in annotated}
    given = [label for label in labels(database, *study, STEP) if label.problem in known]
    if not given:
        raise AnnotatorUnknown(f"none of these conversations has been labelled in {study[0]!r} yet")
    asked = fields(annotator, (known[label.problem][0] for label in given))
    return [AnswerPairs(field, tuple(_pairs(field, known, given))) for field in asked]


def _pairs(
    field: AnnotationField, known: Mapping[str, Any], given: Iterable[Label]
) -> Iterator[tuple[str, str, str, str]]:
    for label in given:
        values = known[label.problem][1]
        yield label.problem, label.rater, field.says(values.get(field.name)), field.says(label.values.get(field.name))
