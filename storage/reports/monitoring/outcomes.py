"""How all people's sessions stand, of all studies together."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import func, select

from storage.db.engine import Database
from storage.tables import seats

PERSON = "person"


def outcomes_of(database: Database, live_us: int) -> tuple[int, Mapping[str, int]]:
    """How many have not ended and were heard of since a time, and how many have ended, by outcome."""
    seat = seats.c
    ours = seat.origin == PERSON
    with database.connect() as connection:
        counts = select(seat.outcome, func.count()).where(ours, seat.outcome.is_not(None)).group_by(seat.outcome)
        live = select(func.count()).where(ours, seat.outcome.is_(None), seat.last_us >= live_us)
        return connection.execute(live).scalar_one(), {name: number for name, number in connection.execute(counts)}
