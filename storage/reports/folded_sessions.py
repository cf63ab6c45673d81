"""A study's own sessions with their states, for analyses that read events instead of released rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select

from experiments.session.engine import fold
from experiments.session.state import State
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.reports.analysis_data import sessions_left_out


class FoldedSession(NamedTuple):
    """A session, the version of the study that it ran, and its state."""

    stream: str
    study: Study
    state: State

    @property
    def arms(self) -> dict[str, str]:
        """The values of its factors."""
        return {name: str(value) for name, value in self.state.factors.items()}


def folded_sessions(database: Database, study: str, origin: str, *, complete: bool = False) -> Iterator[FoldedSession]:
    """The sessions of one origin, in the order of arrival; those that withdrew, were excluded or (with `complete`) were
    not completed are left out. Imports have none."""
    studies, t = Studies(database), tables.sessions.c
    if origin == Origin.IMPORT:
        return
    wanted = select(t.stream, t.hash).where(t.study == study, t.origin == origin).order_by(t.ordinal)
    wanted = wanted.where(t.stream.not_in(sessions_left_out(study, origin, complete=complete)))
    with database.connect() as connection:
        for stream, hash_ in connection.execute(wanted).all():
            state = fold(facts(connection, stream))
            if state.seq and state.outcome != "withdrawn":
                yield FoldedSession(stream, studies.get(hash_), state)
