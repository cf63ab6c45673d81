"""Samples of an evaluation framework: each participant's work on each problem; people are the epochs.

The sessions are those of an export. A problem that a participant neither answered nor spoke about is no sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.events import Event
from experiments.session.conversation import SPEAKERS
from experiments.views.answers import AnswerView
from problems.problem import Problem
from storage.datasets.exports.plan import ExportRequest, plan_export
from storage.datasets.exports.session_rows import SessionRows
from storage.datasets.tidy.columns import Layout, session_id
from storage.datasets.tidy.rows import TidySession
from storage.db.engine import Database


@dataclass(frozen=True, slots=True)
class HumanSample:
    """A problem in a session; `epoch` counts its people from 1, `answers` are by question, the last given."""

    problem: Problem
    epoch: int
    participant: str
    session: str
    factors: Mapping[str, str]
    prefix: str
    messages: list[Event] = field(default_factory=list)
    answers: dict[str, tuple[Event, AnswerView]] = field(default_factory=dict)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of a sample beside its answers: nothing that identifies anybody."""
        return {"participant": self.participant, "session": self.session, **self.factors, "path": self.prefix}


def human_samples(database: Database, request: ExportRequest) -> list[HumanSample]:
    """The samples of the sessions that an export asks for, in the order of arrival; raises StorageError."""
    met = Counter[str]()
    found = [_of_session(record, layout, met) for record, layout in exported_sessions(database, request)]
    samples = (sample for session in found for sample in session.values())
    return [sample for sample in samples if sample.messages or sample.answers]


def exported_sessions(database: Database, request: ExportRequest) -> Iterator[tuple[TidySession, Layout]]:
    """The sessions that an export asks for, in the order of arrival; raises StorageError."""
    with database.connect() as connection:
        files = [file for file in plan_export(connection, request).files if isinstance(file, SessionRows)]
        yield from ((record, files[0].layout) for record in files[0].records(connection))


def _of_session(record: TidySession, layout: Layout, met: Counter[str]) -> dict[str, HumanSample]:
    seed = record.state.seed
    about = layout.ids["participant"](seed), session_id(seed), record.state.factors
    samples: dict[str, HumanSample] = {}
    for place in record.places.steps:
        if place.scope.problem is None or not place.scope.turns:
            continue
        prefix, problem = place.scope.turns[-1].prefix, place.scope.problem
        if prefix not in samples:
            met[problem.id] += 1
            samples[prefix] = HumanSample(problem, met[problem.id], *about, prefix)
        samples[prefix].messages.extend(event for event in place.facts if event.kind in SPEAKERS)
    for place, event, view in record.places.answers:
        if place.scope.turns and view.value not in (None, ""):
            samples[place.scope.turns[-1].prefix].answers[view.name] = (event, view)
    return samples
