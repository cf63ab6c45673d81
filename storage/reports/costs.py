"""The cost of a study's replies: all of them by purpose, and those in sessions by model, condition, participant or
place.

They are those of all attempts, whatever became of them and whoever took part. A cost is unknown if the server counted
no tokens; such attempts are counted. A budget bounds what people cost, whatever the replies were for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Connection, Integer, and_, case, cast, func, literal_column, select

from experiments.events import NOTES
from experiments.session.fidelity import JUDGE_SLOT
from experiments.session.study_status import Where
from experiments.study.cells import matches
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.seats import PEOPLE
from storage.registers.origins import Origin

By = Literal["model", "condition", "participant"]
_try, _fact, _session = tables.attempts.c, tables.events.c, tables.sessions.c
_OF_SESSION = _try.cell.is_(None)
# The slot of the attempts to get what a simulated user says.
USER = "user"
# What the names of the models begin with that speak for simulated users; no study's model can be called so.
SIMULATED_PREFIX = "user:"
SIMULATED = " (simulated users)"
KINDS: Mapping[str, str] = {
    Origin.PERSON: "sessions of participants",
    Origin.PILOT: "pilot sessions",
    Origin.REHEARSAL: "rehearsed sessions",
    Origin.BOT: "simulated sessions",
    "user": "simulated users",
    "judge": "judges of fidelity",
    "alone": "models alone",
    "annotation": "annotations",
}
# Written out, or SQLite would not see that the index of finished sessions serves.
FINISHED: ColumnElement[str] = literal_column("'finished'")


@dataclass(frozen=True, slots=True)
class Cost:
    """`failed` attempts brought no reply; `unknown` ones brought one of unknown cost."""

    attempts: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unknown: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Spending so far, and what running sessions may still spend; `each` is the expected spending of a participant
    (limit, or mean of those who finished). Attempts of unknown cost count as the average."""

    spent: float
    under_way: float
    each: float | None

    @property
    def bound(self) -> float:
        return self.spent + self.under_way


def spending(database: Database, study: Study, where: Where, now_us: int) -> BudgetUse:
    """The spending of participants with these factors. Abandoned sessions spend nothing more."""
    limit, name = study.file.cost_limit, study.name
    since_us = now_us - round(study.file.session_limits.hold_place_s * 1e6)
    with database.connect() as connection:
        within = _within(connection, name, where)
        finished = select(_fact.stream).where(_fact.kind == FINISHED)
        over = set(connection.execute(finished.where(_fact.stream.in_(_people(name)))).scalars())
        own = _fact.stream == _session.stream, _fact.kind.not_in(NOTES)
        last_us = select(func.max(_fact.at_us)).where(*own).scalar_subquery()
        placed = _session.stream.in_(select(tables.seats.c.stream).where(tables.seats.c.placed))
        started = _people(name).where(_session.stream.not_in(finished), last_us > since_us, placed)
        here = set(connection.execute(started).scalars())
        # Last, as PostgreSQL lets each statement see what was committed by then: nothing that who ends meanwhile spent
        # before it is missed.
        rows = connection.execute(
            select(_try.stream, func.coalesce(func.sum(_try.cost), 0.0), func.count(_try.cost), _unknown())
            .join(tables.sessions, _session.stream == _try.stream)
            .where(_try.study == name, _OF_SESSION, _session.origin.in_(PEOPLE))
            .group_by(_try.stream)
        ).all()
    if within is not None:
        rows, over, here = [row for row in rows if row[0] in within], over & within, here & within
    known, counted = sum(row[1] for row in rows), sum(row[2] for row in rows)
    by_stream = {stream: cost + unknown * known / max(1, counted) for stream, cost, _, unknown in rows}
    done = [by_stream.get(stream, 0.0) for stream in over]
    each = limit if limit is not None else sum(done) / len(done) if done else None
    left = sum(max(0.0, (each or 0.0) - by_stream.get(stream, 0.0)) for stream in here)
    return BudgetUse(sum(by_stream.values()), left, each)


def _within(connection: Connection, study: str, where: Where) -> set[str] | None:
    if not where:
        return None
    seat = tables.seats.c
    found = connection.execute(select(seat.stream, seat.cell).where(seat.study == study))
    return {stream for stream, cell in found if matches(orjson.loads(cell), dict(where))}


def _people(study: str) -> Any:
    return select(_session.stream).where(_session.study == study, _session.origin == Origin.PERSON)


def _unknown() -> Any:
    return func.coalesce(func.sum(cast((_try.cost.is_(None)) & _try.reason.is_(None), Integer)), 0)


def costs(database: Database, study: str, by: By) -> Mapping[str, Cost]:
    """The cost of a study's attempts, dearest first: by model, by a participant's factors, or by session."""
    with database.connect() as connection:
        names_of = {"condition": _conditions, "participant": _participants}.get(by)
        names = names_of(connection, study) if names_of else {}
        wanted = select(_try.stream, _try.model, *_numbers()).where(_try.study == study, _OF_SESSION)
        rows = connection.execute(wanted.group_by(_try.stream, _try.model)).all()
    found: defaultdict[str, Cost] = defaultdict(Cost)
    for stream, model, *values in rows:
        who = f"{names[stream]}{SIMULATED if model.startswith(SIMULATED_PREFIX) else ''}" if names_of else model
        found[who] += Cost(*values)
    return dict(sorted(found.items(), key=lambda item: -item[1].cost))


def costs_by_kind(database: Database, study: str) -> Mapping[str, Cost]:
    """The cost of all attempts of a study by purpose, as KINDS has them; only kinds that occur."""
    cell = tables.cells.c
    kind = case(
        (_try.cell.is_not(None), cell.kind),
        (_try.slot.startswith(JUDGE_SLOT), "judge"),
        (_try.slot == USER, "user"),
        else_=_session.origin,
    )
    attempts = tables.attempts.outerjoin(tables.sessions, _session.stream == _try.stream)
    attempts = attempts.outerjoin(tables.cells, (cell.study == _try.study) & (cell.cell == _try.cell))
    wanted = select(kind, *_numbers()).select_from(attempts).where(_try.study == study).group_by(kind)
    with database.connect() as connection:
        found = {kind: Cost(*numbers) for kind, *numbers in connection.execute(wanted)}
    return {KINDS.get(kind, "others"): cost for kind, cost in sorted(found.items(), key=lambda item: -item[1].cost)}


def _numbers() -> tuple[ColumnElement[Any], ...]:
    return (
        func.count(),
        func.count(_try.reason),
        func.coalesce(func.sum(_try.prompt_tokens), 0),
        func.coalesce(func.sum(_try.completion_tokens), 0),
        func.coalesce(func.sum(_try.cost), 0.0),
        _unknown(),
    )


def _participants(connection: Connection, study: str) -> dict[str, str]:
    """Sessions by their number, and by whose they are if not a person's."""
    found = connection.execute(
        select(_session.stream, _session.ordinal, _session.origin).where(_session.study == study)
    )
    return {
        stream: f"{number}" + ("" if origin == Origin.PERSON else f" ({origin})") for stream, number, origin in found
    }


def _conditions(connection: Connection, study: str) -> dict[str, str]:
    found = connection.execute(
        select(_session.stream, _fact.data)
        .outerjoin(tables.events, and_(_fact.stream == _session.stream, _fact.kind == "assigned"))
        .where(_session.study == study)
    )
    return {
        stream: ", ".join(f"{name}: {value}" for name, value in (data or {}).get("factors", {}).items()) or "everybody"
        for stream, data in found
    }


AT_ONCE = 500
# The columns that only attempts of runs of models alone have.
OF_SAMPLES = ("cell", "sample", "step", "sent", "raw")


def attempts(database: Database, study: str, *, failed: bool = False) -> Iterator[dict[str, Any]]:
    """The attempts, failed ones too: what was asked, came and cost, and the session's number and origin, in order."""
    own = [column for column in _try if column.name not in OF_SAMPLES]
    wanted = (
        select(_session.ordinal.label("session"), _session.origin, *own)
        .join(tables.sessions, _session.stream == _try.stream)
        .where(_try.study == study, _OF_SESSION)
        .order_by(_try.started_us, _session.ordinal, _try.turn, _try.slot, _try.number)
        .execution_options(yield_per=AT_ONCE)
    )
    with database.connect() as connection:
        for row in connection.execute(wanted.where(_try.reason.is_not(None)) if failed else wanted):
            yield {str(name): cell for name, cell in row._asdict().items()}  # which are quoted names


def times_asked(database: Database, stream: str, turn: int, slot: str) -> int:
    """The number of attempts in a session for one reply, while `turn` was its last event."""
    same = (_try.stream == stream, _try.turn == turn, _try.slot == slot)
    with database.connect() as connection:
        return connection.execute(select(func.count()).select_from(tables.attempts).where(*same)).scalar_one()
