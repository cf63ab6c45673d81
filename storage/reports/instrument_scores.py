"""The scores of instruments in a study's sessions, each with the answers to its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan

from sqlalchemy import select

from experiments.session.engine import fold
from experiments.session.state import visited
from experiments.session.telemetry import without_indices
from experiments.study.instrument import Instrument, Score
from experiments.views.instrument_scores import instrument_answers, keyed, scores
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.registers.studies import Studies


@dataclass(frozen=True, slots=True)
class ScoredSession:
    """A score in a session. `path` has no numbers of turns; `value` is None where too many items are unanswered;
    `items` are the answers in the order of the instrument, reverse items turned, NaN where unanswered."""

    session: str
    path: str
    arms: Mapping[str, str]
    instrument: Instrument
    score: Score
    value: float | None
    items: tuple[float, ...]


def scored_sessions(database: Database, study: str, origin: str) -> Iterator[ScoredSession]:
    """Every score of a study's sessions of one origin, in the order of arrival. Withdrawn sessions have none."""
    studies, t = Studies(database), tables.sessions.c
    with database.connect() as connection:
        wanted = select(t.stream, t.hash).where(t.study == study, t.origin == origin).order_by(t.ordinal)
        for stream, hash_ in connection.execute(wanted).all():
            frozen = studies.get(hash_)
            if not frozen.instruments:
                continue
            state = fold(facts(connection, stream))
            if not state.seq or state.outcome == "withdrawn":
                continue
            arms = {name: str(value) for name, value in state.factors.items()}
            for place in visited(frozen, state):
                for found in instrument_answers(frozen, place):
                    one = found.instrument
                    for score, made in zip(one.scores, scores(one, found.answers), strict=True):
                        items = tuple(
                            keyed(one, item, found.answers[item.id]) if item.id in found.answers else nan
                            for item in one.items_of(score)
                        )
                        path = without_indices(place.path)
                        yield ScoredSession(stream, path, arms, one, score, made.value, items)
