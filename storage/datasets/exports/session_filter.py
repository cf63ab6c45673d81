"""Filter a study's own sessions for an export: by condition, start time, completion or language.

Sessions that a researcher excluded are left out by default. Each session that is left out is counted once, under the
first rule that it does not pass, in the order of the rules here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, func, literal, not_, or_, select

from experiments.errors import suggestion
from storage import tables
from storage.datasets.manifest import SessionSelection
from storage.errors import StorageError
from storage.log.seats import COMPLETE, NOT_WITHDRAWN, cells_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_CHARS = len("2026-01-31")
EXCLUDED = "excluded by a researcher"
_seat = tables.seats.c


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """`where` are pairs of factor and value; a session needs one of the values given for each factor. It must have
    started at `since_us` or later and before `until_us`, in microseconds UTC."""

    where: tuple[tuple[str, str], ...] = ()
    since_us: int | None = None
    until_us: int | None = None
    complete: bool = False
    language: str = ""
    with_excluded: bool = False

    @property
    def factors(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.where:
            found.setdefault(name, []).append(value)
        return found


ALL = SessionFilter()


@dataclass(frozen=True, slots=True)
class FilterResult:
    clause: ColumnElement[bool]
    selected: SessionSelection


def moment_of(text: str, *, end: bool = False) -> int | None:
    """Convert a date or time to microseconds UTC, an empty text to None. A date as an end means the end of its day."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        at = at.replace(tzinfo=at.tzinfo or UTC) + timedelta(days=end and len(text.strip()) == DAY_CHARS)
    except (ValueError, OverflowError):
        raise StorageError(f"{text!r} is not a date or time; write 2026-01-31 or 2026-01-31T14:00, in UTC") from None
    return (at - EPOCH) // timedelta(microseconds=1)


def day_of(at_us: int) -> str:
    """The day of a time in microseconds since 1970, in UTC, as ISO 8601."""
    return f"{EPOCH + timedelta(microseconds=at_us):%Y-%m-%d}"


def filter_sessions(connection: Connection, study: str, origin: str, sessions: SessionFilter) -> FilterResult | None:
    """Apply a filter; None if it restricts nothing. Raises StorageError for a value that no session has."""
    conditions = (_seat.study == study, _seat.origin == origin, NOT_WITHDRAWN)
    reasons = _counted(connection, _seat.excluded, (*conditions, _seat.excluded.is_not(None)))
    if sessions == ALL and not reasons:
        return None
    rules = list(_rules(connection, study, sessions))
    misses = {name: missed for name, missed, _ in rules}
    why = case(*((missed, name) for name, missed in misses.items()), else_="") if misses else literal("")
    found = dict(_counted(connection, why, conditions))
    selected = SessionSelection(
        rules=tuple(words for _, _, said in rules for words in said),
        of=sum(found.values()),
        left_out=tuple((name, found[name]) for name in misses if found.get(name)),
        excluded=tuple(reasons),
        with_excluded=sessions.with_excluded,
    )
    its = [_seat.stream == tables.sessions.c.stream, *map(not_, misses.values())]
    return FilterResult(select(literal(1)).where(*its).correlate(tables.sessions).exists(), selected)


def count_present_and_withdrawn(connection: Connection, study: str, origin: str) -> tuple[int, int]:
    query = (
        select(NOT_WITHDRAWN, func.count()).where(_seat.study == study, _seat.origin == origin).group_by(NOT_WITHDRAWN)
    )
    found = {bool(there): count for there, count in connection.execute(query)}
    return found.get(True, 0), found.get(False, 0)


def values_of(cells: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for cell in cells.values():
        for name, value in cell.items():
            found.setdefault(name, {})[value] = None
    return {name: sorted(values) for name, values in found.items()}


def languages_of(connection: Connection, study: str) -> list[str]:
    found = connection.execute(select(_seat.language).where(_seat.study == study).distinct()).scalars()
    return sorted(filter(None, found))


def _counted(
    connection: Connection, what: ColumnElement[str], where: Sequence[ColumnElement[bool]]
) -> list[tuple[str, int]]:
    """Count the sessions of each kind, the most frequent first."""
    kinds = select(what.label("kind")).where(*where).subquery().c.kind
    return [
        (kind, count)
        for kind, count in connection.execute(
            select(kinds, func.count()).group_by(kinds).order_by(func.count().desc(), kinds)
        )
    ]


def _rules(
    connection: Connection, study: str, sessions: SessionFilter
) -> Iterator[tuple[str, ColumnElement[bool], Sequence[str]]]:
    """A name for the sessions that do not pass, their condition, and the rule in words. Raises StorageError."""
    since, until = _period(sessions)
    if not sessions.with_excluded:
        yield EXCLUDED, _seat.excluded.is_not(None), ()
    if sessions.where:
        cells = _matching(cells_of(connection, study), study, sessions)
        wanted = [f"{name} is {' or '.join(values)}" for name, values in sessions.factors.items()]
        yield "in another condition", _seat.cell.not_in(cells), wanted
    if since is not None:
        yield "started earlier", _seat.begun_us < since, [f"started at or after {_when(since)}"]
    if until is not None:
        yield "started later", _seat.begun_us >= until, [f"started before {_when(until)}"]
    if sessions.complete:
        unfinished = or_(_seat.outcome.is_(None), _seat.outcome != COMPLETE)
        yield "not completed", unfinished, ["completed sessions only"]
    if language := sessions.language:
        known = languages_of(connection, study)
        if language not in known:
            raise StorageError(f"no session of {study!r} is in the language {language!r}{suggestion(language, known)}")
        yield "in another language", _seat.language != language, [f"in the language {language}"]


def _matching(cells: Mapping[str, Mapping[str, str]], study: str, sessions: SessionFilter) -> list[str]:
    """The cells with the requested values; raises StorageError for a value that no cell has."""
    known = values_of(cells)
    for name, value in sessions.where:
        if name not in known:
            raise StorageError(f"no session of {study!r} has a factor {name!r}{suggestion(name, known)}")
        if value not in known[name]:
            raise StorageError(f"no session of {study!r} has {name}={value}{suggestion(value, known[name])}")
    wanted = sessions.factors.items()
    return [cell for cell, has in cells.items() if all(has.get(name) in values for name, values in wanted)]


def _period(sessions: SessionFilter) -> tuple[int | None, int | None]:
    """The start and the end; raises StorageError if the end is not after the start."""
    since, until = sessions.since_us, sessions.until_us
    if since is not None and until is not None and since >= until:
        raise StorageError(f"the period from {_when(since)} to {_when(until)} is empty; give a later end")
    return since, until


def _when(at_us: int) -> str:
    return f"{EPOCH + timedelta(microseconds=at_us):%Y-%m-%d %H:%M:%S} UTC".replace(":00 UTC", " UTC")
