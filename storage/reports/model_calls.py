"""The attempts to get replies in a study's sessions, failed ones too: what was asked, what came, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select

from storage import tables
from storage.db.engine import Database

AT_ONCE = 500
# The columns that only attempts of runs of models alone have.
OF_SAMPLES = ("cell", "sample", "step", "sent", "raw")


def attempts(database: Database, study: str, *, failed: bool = False) -> Iterator[dict[str, Any]]:
    """Each attempt with the number and origin of its session, in the order in which they were begun."""
    t = tables.attempts
    session = tables.sessions.c
    own = [column for column in t.c if column.name not in OF_SAMPLES]
    wanted = (
        select(session.ordinal.label("session"), session.origin, *own)
        .join(tables.sessions, session.stream == t.c.stream)
        .where(t.c.study == study, t.c.cell.is_(None))
        .order_by(t.c.started_us, session.ordinal, t.c.turn, t.c.slot, t.c.number)
        .execution_options(yield_per=AT_ONCE)
    )
    if failed:
        wanted = wanted.where(t.c.reason.is_not(None))
    names = [str(column.name) for column in wanted.selected_columns]
    with database.connect() as connection:
        for row in connection.execute(wanted):
            yield dict(zip(names, row, strict=True))


def times_asked(database: Database, stream: str, turn: int, slot: str) -> int:
    """The number of attempts in a session for one reply, while `turn` was its last event."""
    t = tables.attempts.c
    same = (t.stream == stream, t.turn == turn, t.slot == slot)
    with database.connect() as connection:
        return connection.execute(select(func.count()).select_from(tables.attempts).where(*same)).scalar_one()
