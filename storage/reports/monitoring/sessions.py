"""Sessions by cell and step, idle sessions, flags, arrivals and completions over time, and the times of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

import orjson
from sqlalchemy import Connection, and_, bindparam, case, func, literal, or_, select

from experiments.events import ASKED, Event
from experiments.session.timing import spans
from experiments.study.location import without_indices
from experiments.views.funnel import SessionGroup
from experiments.views.quality_flags import WAITS_FOR_HELP
from storage import tables
from storage.db.engine import Database
from storage.log.seats import COMPLETE, IN_PROGRESS, LEFT, LIVE, OURS, PEOPLE, SessionCounts

MOST_WAITING = 10
MOST_BUCKETS = 60
MINUTE_US = 60_000_000
# Whoever has done nothing for less is reading or typing.
LEAST_IDLE_US = MINUTE_US
# How long a bucket may be, as people count; beyond a day it is so many days.
WIDTHS = tuple(MINUTE_US * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440))
_seat, _fact = tables.seats.c, tables.events.c
# The end of a session; its last activity may come later, as people ask for help between waves.
_END_US = select(_fact.at_us).where(_fact.stream == _seat.stream, tables.FINISHED).scalar_subquery()


@dataclass(frozen=True, slots=True)
class StuckSession:
    ordinal: int
    place: str
    since_us: int


@dataclass(frozen=True, slots=True)
class FlagCounts:
    flags: Mapping[str, int]
    flagged: int
    pasted: int
    excluded: int


@dataclass(frozen=True, slots=True)
class HourCount:
    begin_us: int
    width_us: int
    arrived: int
    completed: int


@dataclass(frozen=True, slots=True)
class SessionsAtStep:
    group: SessionGroup
    placed: bool
    flags: tuple[str, ...]
    pasted: int
    excluded: int


def first_origin(database: Database, study: str, origins: Sequence[str]) -> str:
    """The first of these origins that a study has sessions of; the first of all if it has none."""
    with database.connect() as connection:
        for origin in origins:
            if connection.execute(_FIRST, {"study": study, "origin": origin}).scalar() is not None:
                return origin
    return origins[0]


def session_groups(connection: Connection, known: Mapping[str, Any]) -> tuple[SessionsAtStep, ...]:
    found = (*connection.execute(_ENDED, known), *connection.execute(_UNENDED, known))
    return tuple(_crowd(*row) for row in found)


def _crowd(
    outcome: str | None, cell: str, place: str, furthest: str, flags: str, placed: bool, *more: int
) -> SessionsAtStep:
    live, number, oldest_us, pasted, excluded = more
    group = SessionGroup(orjson.loads(cell), place, furthest, outcome, bool(live), number, oldest_us)
    return SessionsAtStep(group, placed, tuple(flags.split(",")) if flags else (), int(pasted), excluded)


_BY = (_seat.outcome, _seat.cell, _seat.place, _seat.furthest, _seat.flags, _seat.placed)
_SUMS = (
    func.count(),
    func.min(_seat.last_us),
    func.sum(case((_seat.pasted > 0, 1), else_=0)),
    func.count(_seat.excluded),
)
_IS_LIVE = case((IN_PROGRESS, 1), else_=0).label("live")
_ENDED = select(*_BY, literal(0), *_SUMS).where(OURS, _seat.outcome.is_not(None)).group_by(*_BY)
_UNENDED = select(*_BY, _IS_LIVE, *_SUMS).where(OURS, _seat.outcome.is_(None)).group_by(*_BY, "live")


def tally(sessions: Sequence[SessionsAtStep]) -> SessionCounts:
    outcomes: Counter[str] = Counter({LIVE: 0, LEFT: 0})
    done, live = Counter[tuple[tuple[str, str], ...]](), Counter[tuple[tuple[str, str], ...]]()
    for crowd in sessions:
        group = crowd.group
        key = tuple(group.factors.items())
        outcomes[group.outcome or (LIVE if group.live else LEFT)] += group.number
        done[key] += group.number if group.outcome == COMPLETE and crowd.placed else 0
        live[key] += group.number if group.live and crowd.placed else 0
    return SessionCounts(dict(outcomes), [(dict(key), done[key], live[key]) for key in sorted(done)])


def flag_counts(sessions: Sequence[SessionsAtStep]) -> FlagCounts:
    flags: Counter[str] = Counter()
    for crowd in sessions:
        flags.update(dict.fromkeys(crowd.flags, crowd.group.number))
    flagged = sum(crowd.group.number for crowd in sessions if crowd.flags)
    return FlagCounts(
        dict(flags), flagged, sum(crowd.pasted for crowd in sessions), sum(crowd.excluded for crowd in sessions)
    )


def stuck_sessions(connection: Connection, known: Mapping[str, Any]) -> tuple[StuckSession, ...]:
    """The sessions in progress that have done nothing for the longest, and for LEAST_IDLE_US at least."""
    return tuple(StuckSession(*row) for row in connection.execute(_WAITING, known))


_session = tables.sessions.c
_WAITING = (
    select(_session.ordinal, _seat.place, _seat.last_us)
    .join(tables.sessions, _session.stream == _seat.stream)
    .where(OURS, IN_PROGRESS, _seat.last_us + LEAST_IDLE_US <= bindparam("now_us"))
    .order_by(_seat.last_us)
    .limit(MOST_WAITING)
)


def help_requests(connection: Connection, known: Mapping[str, Any]) -> Mapping[int, Event]:
    """Unanswered requests by number of session, if in progress, or asked after its end before the next wave."""
    return {number: Event(*event) for number, *event in connection.execute(_ASKED, known)}


_finished = tables.events.alias("finished")
_over = select(func.max(_finished.c.seq)).where(_finished.c.stream == _seat.stream, _finished.c.kind == "finished")
_ASKED = (
    select(_session.ordinal, *tables.EVENT)
    .join(tables.seats, _session.stream == _seat.stream)
    .join(tables.events, tables.events.c.stream == _seat.stream)
    .where(or_(_seat.outcome.is_(None), tables.events.c.seq > _over.scalar_subquery()))
    .where(OURS, _seat.flags.contains(WAITS_FOR_HELP), tables.events.c.kind == ASKED)
    .order_by(tables.events.c.at_us)
)


def people_started(connection: Connection, study: str) -> int:
    ours = _seat.study == study, _seat.origin.in_(PEOPLE)
    return connection.execute(select(func.count()).select_from(tables.seats).where(*ours)).scalar_one()


def over_time(connection: Connection, known: Mapping[str, Any]) -> tuple[HourCount, ...]:
    """Starts and completions, from the first to the last, in at most MOST_BUCKETS equal stretches."""
    first_us = connection.execute(_FIRST, known).scalar()
    if first_us is None:
        return ()
    last_us = max(
        first_us, connection.execute(_LAST, known).scalar_one(), connection.execute(_DONE, known).scalar() or 0
    )
    width_us = _width(last_us - first_us)
    begin_us = first_us - first_us % width_us
    arrived, completed = (
        _counted(connection, column, condition, known, begin_us, width_us)
        for column, condition in ((_seat.begun_us, OURS), (_END_US, and_(OURS, _seat.outcome == COMPLETE)))
    )
    return tuple(
        HourCount(begin_us + n * width_us, width_us, arrived.get(n, 0), completed.get(n, 0))
        for n in range((last_us - begin_us) // width_us + 1)
    )


_FIRST = select(func.min(_seat.begun_us)).where(OURS)
_LAST = select(func.max(_seat.begun_us)).where(OURS)
_DONE = select(func.max(_END_US)).where(OURS, _seat.outcome == COMPLETE)


def _width(whole_us: int) -> int:
    """The shortest stretch of which so much time has few enough, wherever the first begins."""
    fits = (width for width in WIDTHS if whole_us // width + 2 <= MOST_BUCKETS)
    return next(fits, None) or WIDTHS[-1] * -(-whole_us // (WIDTHS[-1] * (MOST_BUCKETS - 2)))


def _counted(
    connection: Connection, column: Any, condition: Any, known: Mapping[str, Any], begin_us: int, width_us: int
) -> dict[int, int]:
    number = ((column - begin_us) // width_us).label("number")
    found = connection.execute(select(number, func.count()).where(condition).group_by("number"), known)
    return {place: count for place, count in found}


def median_minutes(connection: Connection, known: Mapping[str, Any]) -> float | None:
    """From the start of a completed session to its end; None if there are none."""
    spans_us = connection.execute(_SPANS, known).scalars().all()
    return median(spans_us) / MINUTE_US if spans_us else None


_SPANS = select(_END_US - _seat.begun_us).where(OURS, _seat.outcome == COMPLETE)
MOST_SESSIONS = 100
# Seconds on each screen, by session; those who have ended do not change.
Spent = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class StepTime:
    seconds: float
    times: int


def typical(connection: Connection, known: Mapping[str, Any], spent: Spent) -> Mapping[str, StepTime]:
    """The times of the steps by their folded paths; turns of a loop count each. What was read once is in `spent`."""
    streams = connection.execute(_LAST_ENDED, known).scalars().all()
    for stream in spent.keys() - set(streams):
        del spent[stream]
    new = [stream for stream in streams if stream not in spent]
    if new:
        rows = connection.execute(_FACTS, {"streams": new})
        for stream, facts in groupby(rows, key=itemgetter(0)):
            spent[stream] = spans(Event(seq, at_us, "system", path, kind, {}) for _, seq, at_us, path, kind in facts)
    found: dict[str, list[float]] = {}
    for screens in spent.values():
        for path, seconds in screens.items():
            found.setdefault(without_indices(path), []).append(seconds)
    return {path: StepTime(median(those), len(those)) for path, those in found.items()}


_LAST_ENDED = (
    select(_seat.stream)
    .where(OURS, _seat.outcome.is_not(None), _seat.outcome != "withdrawn")
    .order_by(_seat.begun_us.desc())
    .limit(MOST_SESSIONS)
)
_FACTS = (
    select(_fact.stream, _fact.seq, _fact.at_us, _fact.path, _fact.kind)
    .where(_fact.stream.in_(bindparam("streams", expanding=True)))
    .order_by(_fact.stream, _fact.seq)
)
