"""A study's own sessions with their states, for readers of events instead of released rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, select

from experiments.session.engine import fold
from experiments.study.location import State
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import load
from storage.log.seats import sessions_left_out
from storage.registers.origins import Origin
from storage.registers.studies import Studies


class FoldedSession(NamedTuple):
    stream: str
    number: int
    origin: str
    study: Study
    state: State

    @property
    def arms(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.state.factors.items()}


def folded_sessions(
    database: Database, study: str, origins: Sequence[str], without: Select[Any] | None = None
) -> Iterator[FoldedSession]:
    """Sessions in the order of arrival, but for the streams `without` and those that withdrew; imports have none."""
    studies, t = Studies(database), tables.sessions.c
    own = [origin for origin in origins if origin != Origin.IMPORT]
    wanted = select(t.stream, t.ordinal, t.origin, t.hash).where(t.study == study, t.origin.in_(own))
    wanted = wanted if without is None else wanted.where(t.stream.not_in(without))
    with database.connect() as connection:
        found = connection.execute(wanted.order_by(t.ordinal)).all()
    for stream, number, origin, hash_ in found:  # no transaction is open meanwhile
        state = fold(load(database, stream))
        if state.seq and state.outcome != "withdrawn":
            yield FoldedSession(stream, number, origin, studies.get(hash_), state)


def analysed_sessions(
    database: Database, study: str, origin: str, *, complete: bool = False
) -> Iterator[FoldedSession]:
    """Those of one origin, without those that were excluded or (with `complete`) not completed."""
    return folded_sessions(database, study, (origin,), sessions_left_out(study, origin, complete=complete))
