"""What the sessions of a study wrote, and what models wrote that were asked the same questions alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from experiments.session.engine import fold
from experiments.views.integrity import LEAST_RUNS, Question, WrittenSession, written
from experiments.views.text_likeness import Runs, runs
from storage import tables
from storage.ai_alone.answers import ALONE
from storage.ai_alone.cells import cells_of
from storage.ai_alone.replies import stored
from storage.db.engine import Database
from storage.log import telemetry
from storage.log.event_log import facts
from storage.registers.studies import Studies

_session, _seat = tables.sessions.c, tables.seats.c


class SessionWriting(NamedTuple):
    """What a session wrote, and whether it is excluded already: not why, as reasons can name an outcome."""

    session: WrittenSession
    excluded: bool


def session_writings(database: Database, study: str, origins: Sequence[str]) -> Iterator[SessionWriting]:
    """What each session of these origins wrote, oldest first; nothing of those that withdrew."""
    studies = Studies(database)
    columns = _session.stream, _session.hash, _session.ordinal, _seat.excluded
    joined = select(*columns).outerjoin(tables.seats, _seat.stream == _session.stream)
    query = joined.where(_session.study == study, _session.origin.in_(origins)).order_by(_session.ordinal)
    with database.connect() as connection:
        for stream, hash_, number, excluded in connection.execute(query).all():
            state = fold(facts(connection, stream))
            if state.seq and state.outcome != "withdrawn":
                records: dict[str, list[dict[str, Any]]] = {}
                for row in telemetry.read(database, study, stream):
                    records.setdefault(row["path"], []).append({**row["data"], "kind": row["kind"]})
                yield SessionWriting(written(studies.get(hash_), state, number, records), excluded is not None)


def replies_alone(database: Database, study: str) -> dict[Question, list[Runs]]:
    """The replies of models that were asked a study's questions alone, by question; without those that are short."""
    about = {
        cell.cell: (cell.dataset or "", cell.problem)
        for cell in cells_of(database, study, ALONE)
        if cell.problem is not None
    }
    found: dict[Question, list[Runs]] = {}
    for reply in stored(database, about):
        if reply.text is not None and len(of_reply := runs(reply.text)) >= LEAST_RUNS:
            found.setdefault(about[reply.cell], []).append(of_reply)
    return found
