"""Seats: who counts where. One row a session, written with its facts, so that an arrival counts by one small query.

Who has completed the study holds a seat for good; who is taking part holds it under a lease, until so long after their
last fact; who ended otherwise, withdrew or was returned to the recruiter holds none. A seat of somebody who comes back
after the lease counts again. Whoever counts to decide holds the lock, as any other arrival would count the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import Connection, Select, and_, bindparam, func, insert, or_, select, update

from experiments.core.cells import Cell, Counts, cells
from experiments.core.resolve import Study
from storage import tables
from storage.engine import Database, alone

COMPLETE = "complete"
ONE_AT_A_TIME = 0x5EA75
"""One number for all studies, so that two batches cannot wait for each other."""
_seat = tables.seats.c
OURS = and_(_seat.study == bindparam("study"), _seat.origin == bindparam("origin"))
LIVE = and_(
    _seat.outcome.is_(None),
    _seat.released_us.is_(None),
    or_(_seat.until_us > bindparam("now_us"), _seat.last_us > bindparam("since_us")),
)
"""Who is taking part: under the lease of the beginning, or since their last fact."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What facts change in a session's seat."""

    outcome: str | None = None
    """How the session ended, if it has."""
    due_us: int | None = None
    """When the clock acts on it next."""
    last_us: int = 0
    """When the last fact was that no researcher wrote."""
    place: str = ""
    """The folded path of the present screen, or of the last one."""
    furthest: str = ""
    """That of the step furthest down the study that was come to, which in a later turn of a loop is its last."""
    flags: str = ""
    """What is odd about it (`experiments.core.flags`), comma-joined."""
    excluded: str | None = None
    """Why a researcher has excluded it, if it is."""


_changing = attrgetter("outcome", "due_us", "last_us", "place", "furthest", "flags", "excluded")
_CHANGE = (
    "UPDATE seat SET outcome = ?, due_us = ?, last_us = ?, place = ?, furthest = ?, flags = ?, excluded = ? "
    "WHERE stream = ?"
)


def lock(connection: Connection) -> None:
    """Let nobody else count until this transaction is over."""
    alone(connection, ONE_AT_A_TIME)


def take(connection: Connection, stream: str, seat: Mapping[str, Any], cell: Mapping[str, str]) -> None:
    """Give a new session its seat: `study`, `origin`, `language`, `begun_us`, `until_us` and a cell."""
    connection.execute(insert(tables.seats), [{**seat, "stream": stream, "cell": orjson.dumps(dict(cell)).decode()}])


def change(connection: Connection, stream: str, seat: Seat) -> None:
    """Write what facts change in a seat."""
    values = (*_changing(seat), stream)
    if connection.dialect.name == "sqlite":
        # Past SQLAlchemy, where a transaction is open: it is part of every click, and an eighth of the work.
        driver = connection.connection.driver_connection
        assert driver is not None  # noqa: S101  (it is open)
        driver.execute(_CHANGE, values).close()
    else:
        connection.exec_driver_sql(_CHANGE.replace("?", "%s"), values)


def release(connection: Connection, stream: str, now_us: int) -> bool:
    """Take back the seat of somebody who was returned to the recruiter; whether there was one to take back."""
    held = and_(_seat.stream == stream, _seat.outcome.is_(None), _seat.released_us.is_(None))
    return connection.execute(update(tables.seats).where(held).values(released_us=now_us)).rowcount > 0


def counts(connection: Connection, study: str, origin: str, now_us: int, lease_s: float) -> Counts:
    """How many have completed or are taking part, by cell."""
    known = meant(study, origin, now_us, lease_s)
    return [(orjson.loads(cell), number) for cell, number in connection.execute(_COUNTS, known)]


def meant(study: str, origin: str, now_us: int, lease_s: float) -> dict[str, Any]:
    """What OURS and LIVE are to be filled with."""
    return {"study": study, "origin": origin, "now_us": now_us, "since_us": now_us - round(lease_s * 1e6)}


def _counting() -> Select[Any]:
    """Who has completed, and who is taking part."""
    counts = or_(_seat.outcome == COMPLETE, LIVE)
    return select(_seat.cell, func.count()).where(OURS, counts).group_by(_seat.cell)


_COUNTS = _counting()
"""Made once: every arrival counts."""


def due(connection: Connection, now_us: int, most: int) -> list[str]:
    """Sessions on which the clock has to act by now."""
    wanted = select(_seat.stream).where(_seat.due_us <= now_us).order_by(_seat.due_us).limit(most)
    return list(connection.execute(wanted).scalars())


@dataclass(frozen=True, slots=True)
class Tally:
    """How a study's sessions of an origin stand: by outcome (`live` and `left` while there is none), and by cell those
    who completed it and those who are taking part."""

    outcomes: Mapping[str, int]
    cells: Mapping[str, tuple[int, int]]


def tally_of(database: Database, study: str, origin: str, now_us: int, lease_s: float) -> Tally:
    """The same now."""
    with database.connect() as connection:
        return tally_in(connection, study, origin, now_us, lease_s)


def tally_in(connection: Connection, study: str, origin: str, now_us: int, lease_s: float) -> Tally:
    """The same, as a connection sees it."""
    ours = and_(_seat.study == study, _seat.origin == origin)
    grouped = select(_seat.cell, _seat.outcome, func.count()).where(ours).group_by(_seat.cell, _seat.outcome)
    rows = connection.execute(grouped).all()
    counting = {cell_key(cell): n for cell, n in counts(connection, study, origin, now_us, lease_s)}
    outcomes: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for cell, outcome, number in rows:
        outcomes[outcome or "left"] += number
        done[cell_key(orjson.loads(cell))] += number if outcome == COMPLETE else 0
    live = sum(counting.values()) - sum(done.values())
    outcomes.update({"live": live, "left": -live})
    return Tally(dict(outcomes), {key: (done[key], counting.get(key, 0) - done[key]) for key in sorted(done)})


def counted(study: Study, now: Tally) -> list[tuple[Cell, int, int]]:
    """Each cell of a study with who has completed it and who is taking part."""
    return [(cell, *now.cells.get(cell_key(cell.values), (0, 0))) for cell in cells(study.factors, study.pools)]


def cell_key(cell: Mapping[str, str]) -> str:
    """A cell in words: `condition: a, model: b`."""
    return ", ".join(f"{name}: {value}" for name, value in cell.items())
