"""A study's rehearsal: its sessions of origin `rehearsal`, and the removal of everything that belongs to them.

Nothing remains of a removed rehearsal but what the caller records of it in the same transaction, in the audit log. A
withdrawal (erasure.py) keeps that somebody took part; here nobody did, so no tombstone, no digest and no count remain.
The cost of the model calls is recorded there, as the calls are deleted and count no longer against the study's budget.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, func, insert, literal, select
from sqlalchemy.exc import OperationalError

from storage import tables
from storage.db.engine import IN_THE_WAY, Database, writer
from storage.errors import Conflict
from storage.log import seats
from storage.log.erasure import truncate_wal
from storage.log.writer import lock_usage, recount_usage_of
from storage.registers.origins import Origin
from storage.schemas.registry import schemas

TRIES = 5
log = logging.getLogger(__name__)
_session, _attempt = tables.sessions.c, tables.attempts.c


@dataclass(frozen=True, slots=True)
class RemovedRehearsal:
    sessions: int
    events: int
    identities: int
    model_calls: int
    annotations: int
    cost: float


def rehearsed_sessions(database: Database, study: str) -> Mapping[str, str | None]:
    """The streams of a study's rehearsed sessions, each with its outcome if it has ended."""
    return seats.outcomes(database, study, Origin.REHEARSAL)


def remove_rehearsal(
    database: Database, study: str, at_us: int, record: Callable[[Connection, RemovedRehearsal], None]
) -> RemovedRehearsal:
    """Delete the rehearsed sessions of a study, running ones too, in one transaction with `record`, which is not called
    if there is none. Raises Conflict if writers were in the way TRIES times; nothing is deleted then."""
    for _ in range(TRIES):
        try:
            with writer(database) as connection:
                with connection.begin():
                    removed = _remove(connection, study, at_us)
                    if removed.sessions:
                        record(connection, removed)
                truncate_wal(connection)
            return removed
        except OperationalError as error:
            if not any(words in str(error.orig) for words in IN_THE_WAY):
                raise
            log.warning("removal blocked by another process; retrying")
    raise Conflict(
        f"The rehearsal of {study} could not be removed in {TRIES} tries, as it is still running. "
        "Stop it with Ctrl-C, and remove it again."
    )


def _remove(connection: Connection, study: str, at_us: int) -> RemovedRehearsal:
    seats.lock(connection)  # no session begins meanwhile
    lock_usage(connection)
    mine = select(_session.stream).where(_session.study == study, _session.origin == Origin.REHEARSAL)
    if connection.dialect.name == "postgresql":
        connection.execute(mine.with_for_update()).all()  # other writers' events of these sessions come before or fail
    spent = select(func.coalesce(func.sum(_attempt.cost), 0.0)).where(
        _attempt.stream.in_(mine), _attempt.cell.is_(None)
    )
    cost = float(connection.execute(spent).scalar_one())

    def gone(table: Table, column: str = "stream") -> int:
        return connection.execute(delete(table).where(table.c[column].in_(mine))).rowcount

    permitted = tables.erasures  # the triggers of the log let nothing go without it
    withdrew = select(permitted.c.stream)
    entries = mine.add_columns(literal(at_us), literal("system"), literal(Origin.REHEARSAL.value))
    columns = ["stream", "at_us", "by", "reason"]
    connection.execute(insert(permitted).from_select(columns, entries.where(_session.stream.not_in(withdrew))))
    about = select(tables.cells.c.cell).where(tables.cells.c.stream.in_(mine))
    for table in (tables.attempts, tables.answers):
        connection.execute(delete(table).where(table.c.cell.in_(about)))
    annotations = gone(tables.cells)
    for released in {one.name: one for schema in schemas().values() for one in schema.tables}.values():
        gone(released.table(), "_session")
    for table in (tables.drafts, tables.telemetry, tables.session_pictures, tables.seats):
        gone(table)
    events, calls, identities = gone(tables.events), gone(tables.attempts), gone(tables.identities)
    gone(permitted)
    sessions = gone(tables.sessions)
    if calls:
        recount_usage_of(connection, study)
    return RemovedRehearsal(sessions, events, identities, calls, annotations, cost)
