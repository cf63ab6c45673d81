"""What people answered about each problem of a study: a form's answers, by who gave them and about what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from experiments.session.engine import fold
from experiments.views.problem_history import problem_turns
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.registers.origins import Origin, origins
from storage.registers.studies import Studies

_session, _seat = tables.sessions.c, tables.seats.c


@dataclass(frozen=True, slots=True)
class Label:
    """One form that somebody sent about a problem; `rater` is the session's stream."""

    rater: str
    problem: str
    values: Mapping[str, Any]


def labels(database: Database, study: str, origin: str | None, step: str) -> Iterator[Label]:
    """The answers given in a step of that id; people's, unless there are none. Excluded sessions are left out."""
    studies = Studies(database)
    out = select(_seat.stream).where(_seat.study == study, _seat.excluded.is_not(None))
    with database.connect() as connection:
        one_origin = next(iter(one for one in origins(connection, study, origin) if one != Origin.IMPORT), None)
        query = select(_session.stream, _session.hash).where(_session.study == study, _session.origin == one_origin)
        wanted = connection.execute(query.where(_session.stream.not_in(out)).order_by(_session.ordinal)).all()
        for stream, hash_ in wanted:
            state = fold(facts(connection, stream))
            for unit in problem_turns(studies.get(hash_), state) if state.outcome != "withdrawn" else ():
                for done in unit.steps:
                    if done.id == step and done.submitted is not None:
                        yield Label(stream, unit.problem.id, done.submitted.data)
