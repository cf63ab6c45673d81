"""Seats: who counts where. One row a session, written with its facts, so that an arrival counts by one small query.

Who has completed the study holds a seat for good; who is taking part holds it under a lease, until so long after their
last fact; who ended otherwise, withdrew or was returned to the recruiter holds none. A seat of somebody who comes back
after the lease counts again. Whoever counts to decide holds the lock, as any other arrival would count the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, Select, and_, bindparam, func, insert, or_, select, update

from experiments.study.cells import Cell, Counts, cells
from experiments.study.resolve import Study
from storage import tables
from storage.db.engine import advisory_xact_lock
from storage.registers.origins import Origin

COMPLETE = "complete"
PEOPLE = (Origin.PERSON, Origin.PILOT)
"""The origins of sessions that go by the world's clock."""
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
NOT_WITHDRAWN = or_(_seat.outcome.is_(None), _seat.outcome != "withdrawn")
"""Whose data there are: what is left of who withdrew is that there was somebody."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
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
    """What is odd about it (`experiments.views.quality_flags`), comma-joined."""
    excluded: str | None = None
    """Why a researcher has excluded it, if it is."""
    placed: bool = False
    """Whether they hold a place: from the start, or from their consent."""


CHANGING = ("outcome", "due_us", "last_us", "place", "furthest", "flags", "excluded", "placed")
_NEW = {**{name: getattr(SessionSummary(), name) for name in CHANGING}, "pasted": 0}
_changing = attrgetter(*CHANGING)
_CHANGE = update(tables.seats).where(_seat.stream == bindparam("at_stream"))


def lock(connection: Connection) -> None:
    """Let nobody else count until this transaction is over."""
    advisory_xact_lock(connection, ONE_AT_A_TIME)


def insert_seat(connection: Connection, stream: str, seat: Mapping[str, Any], cell: Mapping[str, str]) -> None:
    """Give a new session its seat: `study`, `origin`, `language`, `begun_us`, `until_us` and a cell."""
    row = {**_NEW, **seat, "stream": stream, "cell": stored_cell(cell)}
    connection.execute(insert(tables.seats), row)


def stored_cell(cell: Mapping[str, str]) -> str:
    """A cell as the table has it."""
    return orjson.dumps(dict(cell)).decode()


def changes(before: SessionSummary, after: SessionSummary) -> dict[str, Any]:
    """The columns of a seat that change, with what stands in them then."""
    columns = zip(CHANGING, _changing(before), _changing(after), strict=True)
    return {name: now for name, was, now in columns if now != was}


def update_seat(connection: Connection, stream: str, changed: Mapping[str, Any]) -> None:
    """Write the changed columns of a seat, and name no other: SQLite rewrites each index of a column that is named."""
    if changed:
        connection.execute(_CHANGE, {"at_stream": stream, **changed})


def release(connection: Connection, stream: str, now_us: int) -> bool:
    """Take back the seat of somebody who was returned to the recruiter; whether there was one to take back."""
    held = and_(_seat.stream == stream, _seat.outcome.is_(None), _seat.released_us.is_(None))
    return connection.execute(update(tables.seats).where(held).values(released_us=now_us)).rowcount > 0


def counts(connection: Connection, study: str, origin: str, now_us: int, lease_s: float) -> Counts:
    """How many have completed or are taking part, by cell."""
    found = Counter[str]()
    for cell, number in connection.execute(_COUNTS, query_params(study, origin, now_us, lease_s)):
        found[cell] += number
    return [(orjson.loads(cell), number) for cell, number in sorted(found.items())]


def query_params(study: str, origin: str, now_us: int, lease_s: float) -> dict[str, Any]:
    """What OURS and LIVE are to be filled with."""
    return {"study": study, "origin": origin, "now_us": now_us, "since_us": now_us - round(lease_s * 1e6)}


def _in_cells(whom: ColumnElement[bool]) -> Select[Any]:
    return select(_seat.cell, func.count()).where(OURS, whom).group_by(_seat.cell)


_COUNTS = _in_cells(_seat.outcome == COMPLETE).union_all(_in_cells(and_(LIVE, _seat.placed)))
"""Made once: every arrival counts. The two are asked for apart, as an index finds either and not both together."""


def last_us(engine: Engine) -> int:
    """When anybody last did something, by the clock of the time; 0 if nobody has."""
    with engine.connect() as connection:
        return connection.execute(select(func.max(_seat.last_us)).where(_seat.origin.in_(PEOPLE))).scalar() or 0


def due(connection: Connection, now_us: int, most: int) -> list[str]:
    """Sessions on which the clock has to act by now."""
    wanted = select(_seat.stream).where(_seat.due_us <= now_us).order_by(_seat.due_us).limit(most)
    return list(connection.execute(wanted).scalars())


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """How a study's sessions of an origin stand: by outcome (`live` and `left` while there is none), and each cell with
    those who completed it and those who are taking part."""

    outcomes: Mapping[str, int]
    cells: Sequence[tuple[Mapping[str, str], int, int]]


def counted(study: Study, now: SessionCounts) -> list[tuple[Cell, int, int]]:
    """Each cell of a study with who has completed it and who is taking part, in whatever version they began."""
    done, live = Counter[tuple[str | None, ...]](), Counter[tuple[str | None, ...]]()
    for values, complete, present in now.cells:
        key = tuple(map(values.get, study.factors))
        done[key] += complete
        live[key] += present
    every = [(cell, tuple(cell.values.values())) for cell in cells(study.factors, study.pools)]
    return [(cell, done[key], live[key]) for cell, key in every]


def cells_of(connection: Connection, study: str) -> dict[str, Mapping[str, str]]:
    """The cells that a study's sessions are in, as they are stored and as factors with their values."""
    cells = connection.execute(select(_seat.cell).where(_seat.study == study).distinct()).scalars()
    return {cell: orjson.loads(cell) for cell in sorted(cells)}


def cell_key(cell: Mapping[str, str]) -> str:
    """A cell in words: `condition: a, model: b`."""
    return ", ".join(f"{name}: {value}" for name, value in cell.items())
