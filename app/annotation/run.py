"""Annotate a study's finished conversations: plan the calls, and turn stored replies into annotations.

The engine asks and stores (app/batch); here conversations become cells, and stored replies become facts. To read
stored replies again needs no call, and to write a finding again is no change, so a run that was killed is repeated with
the same command. What cannot be read is counted and reported, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from app.annotation.annotators.base import AnnotationCell, Annotator
from app.annotation.annotators.json_reply import UnparsableReply, Values
from app.backends.model_ref import ModelRef
from experiments.session.annotations import Annotation
from storage.ai_alone.replies import StoredCell, StoredReply, save_cells, stored
from storage.db.engine import Database
from storage.log.erasure import forget_erased
from storage.registers.session_pictures import picture_contents
from storage.reports.conversations import Conversation, conversations
from storage.tables import SETTLED

Wanted = tuple[Annotator, ModelRef]
KIND: Final = "annotation"
CUT = "length"


@dataclass(frozen=True, slots=True)
class FixedAnnotation:
    """An annotation that follows without asking."""

    conversation: Conversation
    annotator: str
    values: Values


@dataclass(frozen=True, slots=True)
class AnnotationPlan:
    cells: tuple[AnnotationCell, ...]
    known: tuple[FixedAnnotation, ...]
    lacking: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class AnnotationResults:
    """The annotations by stream; those not parsed by annotator and reason; calls refused, failed or not made."""

    annotations: Mapping[str, Sequence[Annotation]]
    unparsed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    refused: int = 0
    failed: int = 0
    missing: int = 0


def plan_annotations(database: Database, study: str, origin: str, wanted: Sequence[Wanted]) -> AnnotationPlan:
    cells: list[AnnotationCell] = []
    known: list[FixedAnnotation] = []
    lacking: Counter[tuple[str, str]] = Counter()
    for whole in sorted({annotator.whole for annotator, _ in wanted}):
        mine = [one for one in wanted if one[0].whole == whole]
        for conversation in conversations(database, study, origin, whole=whole):
            for annotator, asked in mine:
                if why := annotator.lacks(conversation):
                    lacking[annotator.name, why] += 1
                elif (values := annotator.known(conversation)) is not None:
                    known.append(FixedAnnotation(conversation, annotator.name, values))
                else:
                    cells.append(annotator.cell(conversation, asked, partial(picture_contents, database)))
    return AnnotationPlan(tuple(cells), tuple(known), lacking)


def save_annotations(database: Database, study: str, plan: AnnotationPlan) -> None:
    """Store the plan's cells before any call, so that a withdrawal finds the replies about a participant."""
    save_cells(database, study, (_stored_cell(number, cell) for number, cell in enumerate(plan.cells)))


def forget_withdrawn(database: Database, study: str, plan: AnnotationPlan) -> None:
    """Delete replies about participants who withdrew during the call."""
    forget_erased(database, study, [_stored_cell(number, cell) for number, cell in enumerate(plan.cells)])


def _stored_cell(number: int, cell: AnnotationCell) -> StoredCell:
    about = cell.conversation.about
    return StoredCell(
        cell=cell.key,
        kind=KIND,
        name=cell.annotator.name,
        model=cell.asked.label,
        position=number,
        samples=1,
        stream=cell.conversation.stream,
        path=about.path,
        data={"slot": about.slot, "of": about.of},
    )


def collect_results(database: Database, plan: AnnotationPlan, run: str) -> AnnotationResults:
    by_stream: dict[str, list[Annotation]] = {}
    for one in plan.known:
        found = Annotation(one.conversation.about, one.annotator, "", one.values, run, "")
        by_stream.setdefault(one.conversation.stream, []).append(found)
    unparsed: Counter[tuple[str, str]] = Counter()
    refused = failed = asked = 0
    for cell, reply in _replied(database, plan):
        asked += 1
        if reply.text is None:
            refused += reply.reason in SETTLED
            failed += reply.reason not in SETTLED
            continue
        values = read(cell, reply)
        if isinstance(values, UnparsableReply):
            unparsed[cell.annotator.name, values.why] += 1
            continue
        about, name = cell.conversation.about, cell.annotator.name
        found = Annotation(about, name, cell.asked.label, values, run, cell.key)
        by_stream.setdefault(cell.conversation.stream, []).append(found)
    return AnnotationResults(by_stream, unparsed, refused, failed, len(plan.cells) - asked)


def read(cell: AnnotationCell, reply: StoredReply) -> Values | UnparsableReply:
    values = cell.annotator.read(reply.text or "", cell.conversation)
    if isinstance(values, UnparsableReply) and reply.finish_reason == CUT:
        return UnparsableReply(f"it was cut off at {cell.annotator.max_tokens:,} tokens")
    return values


def _replied(database: Database, plan: AnnotationPlan) -> Iterator[tuple[AnnotationCell, StoredReply]]:
    cells = {cell.key: cell for cell in plan.cells}
    return ((cells[reply.cell], reply) for reply in stored(database, cells))


def describe_plan(study_hash: str, plan: AnnotationPlan, origin: str) -> dict[str, Any]:
    by = sorted({(cell.annotator.name, cell.asked.label) for cell in plan.cells})
    names, models = ([*dict.fromkeys(column)] for column in (zip(*by, strict=True) if by else ((), ())))
    settings = {cell.annotator.name: settings_of(cell.annotator) for cell in plan.cells}
    return {"hash": study_hash, "annotators": names, "models": models, "origin": origin, "settings": settings}


def settings_of(annotator: Annotator) -> dict[str, Any]:
    return {
        "temperature": annotator.temperature,
        "max_tokens": annotator.max_tokens,
        "system": annotator.system,
        "prompt": annotator.template or annotator.guide(),
    }
