"""The data of a study for an analysis: rows of a released table, its participants, and a mark that changes with them.

Everything is told apart by origin (person, pilot, bot, import), and sessions that a researcher excluded are left out
unless they are asked for. Nothing here identifies anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Select, func, or_, select

from experiments.errors import suggestion
from storage import tables
from storage.ai_alone.answers import asked_alone
from storage.datasets.exports.chatbench_filter import ATTENTION, passing_filter, sessions_passing_filter
from storage.datasets.exports.rows import RowSelection
from storage.db.engine import Database
from storage.db.recorded_schemas import recorded_schemas
from storage.errors import StorageError
from storage.log.seats import COMPLETE, sessions_left_out
from storage.registers.imported_rows import imports, streams_of_nobody
from storage.registers.origins import ORIGINS, Origin, origins
from storage.registers.study_status import study_stream
from storage.schemas.base import ReleasedTable
from storage.schemas.registry import released, schemas

# Another one is there whenever anything of a study is new.
Mark = tuple[Any, ...]
# Times are added up modulo this one, or the sum would be too large for a database.
PRIME = 1_000_000_007
# The outcome of who has not ended.
UNDER_WAY = ""
_seat, _session = tables.seats.c, tables.sessions.c


@dataclass(frozen=True, slots=True)
class ParticipantFlow:
    """Numbers of participants: arrived, ended by outcome, excluded by reason, and completed by factor."""

    origin: str
    arrived: int
    """Participants of the whole study, also of other parts of a release."""
    part: str = ""
    """The part of a release that is meant; empty if it is not divided."""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """The number of sessions in no rows of this part, by the part that they are in."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    excluded_complete: Mapping[str, int] = field(default_factory=dict)
    """The excluded participants who had completed the study."""
    factors: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """By factor and value: how many came, and how many completed the study."""
    first_wave: bool = False
    """True in a study with waves, of which all this is about the first."""


def rows(
    database: Database,
    study: str,
    table: ReleasedTable,
    origin: str,
    names: Sequence[str],
    *,
    excluded: bool = False,
    complete: bool = False,
    part: str = "",
) -> list[tuple[Any, ...]]:
    """Some columns of a study's rows, by their released names, each with its session; ordered by session and fact. Of a
    release in parts (ChatBench's pilots) only `part` is meant, by default the first one; tables of the whole release
    have all their rows. A filtered file of a study's own sessions has the rows that an export writes."""
    whole = table.parts == ("",)
    filters = table.filters if origin != Origin.IMPORT else ""
    own = (released(filters) if filters else table).table().c
    named = {column.name: own[column.sql] for column in table.columns}
    condition = (
        {"": own["_session"] == "", Origin.IMPORT: own["_session"] == study_stream(study)} if table.of_study else {}
    )
    its = condition.get(origin if origin == Origin.IMPORT else "", own["_origin"] == origin)
    query = select(*(named[name] for name in names), own["_session"])
    query = query.where(own["_study"] == study, own["_part"] == (table.parts[0] if whole or not part else part), its)
    if not table.of_study:
        query = query.where(
            own["_session"].not_in(sessions_left_out(study, origin, excluded=excluded, complete=complete))
        )
    with database.connect() as connection:
        if filters:
            sessions_passing_filter(
                connection, RowSelection(study, origin, table, table.parts[0], (), source=released(filters))
            )
            query = query.where(own["_session"].in_(passing_filter()), own["dataset"] != ATTENTION)
        ordered = query.order_by(own["_session"], own["_seq"], *(own[key] for key in table.key))
        return [tuple(row) for row in connection.execute(ordered)]


def recorded(database: Database, study: str) -> tuple[str, ...]:
    """The schemas that some version of a study fills, or that were imported into it, in the order of their names."""
    with database.connect() as connection:
        found = {*recorded_schemas(connection, study), *(item["schema"] for item in imports(connection, study))}
    return tuple(sorted(found & schemas().keys()))


def origins_of(database: Database, study: str) -> tuple[str, ...]:
    with database.connect() as connection:
        found = connection.execute(select(_session.origin).where(_session.study == study).distinct()).scalars().all()
    return tuple(origin for origin in ORIGINS if origin in found)


def require_origin(database: Database, study: str, origin: str) -> None:
    """Raise StorageError without data of an origin; imported rows, and answers of models alone, count too."""
    with database.connect() as connection:
        read = {Origin.IMPORT} if imports(connection, study) else ()
        alone = {Origin.PERSON} if asked_alone(connection, study) else ()
        origins(connection, study, origin, read, instead=alone)


def parts_of(database: Database, study: str, origin: str) -> Mapping[str, frozenset[str]]:
    """The sessions of each part of a study's release, in the order of the release; empty if it is not divided."""
    found: dict[str, set[str]] = {}
    for name in recorded(database, study):
        for table in schemas()[name].tables:
            if table.parts != ("",) and not table.of_study:
                own = table.table().c
                query = select(own["_part"], own["_session"]).where(own["_study"] == study, own["_origin"] == origin)
                with database.connect() as connection:
                    for part, session in connection.execute(query.distinct()):
                        found.setdefault(part, set()).add(session)
    order = [part for name in recorded(database, study) for part in schemas()[name].parts]
    return {part: frozenset(found[part]) for part in dict.fromkeys(order) if part in found}


def part_of(parts: Mapping[str, frozenset[str]], study: str, wanted: str) -> str:
    """The wanted part of a study's release, or the first one; empty if it is not divided. Raises StorageError."""
    if wanted and wanted not in parts:
        raise StorageError(f"{study!r} has no data of the part {wanted!r}{suggestion(wanted, parts) if parts else ''}")
    return wanted or next(iter(parts), "")


def persons_of_sessions(database: Database, study: str) -> Mapping[str, str]:
    query = select(_session.stream, _session.person).where(_session.study == study, _session.person.is_not(None))
    with database.connect() as connection:
        return {stream: person for stream, person in connection.execute(query)}


def data_version(database: Database, study: str, origin: str) -> Mark:
    """A mark that changes with every event of a study's sessions, found without reading the events. Of the times there
    is a sum, as the newest fact need not be the one with the latest time: clocks differ."""
    conditions = (_seat.study == study, _seat.origin == origin)
    counts = select(func.count(), func.sum(_seat.last_us % PRIME), func.count(_seat.outcome)).where(*conditions)
    out = select(_seat.stream, _seat.excluded).where(*conditions, _seat.excluded.is_not(None)).order_by(_seat.stream)
    with database.connect() as connection:
        if origin == Origin.IMPORT:
            return (len(imports(connection, study)),)
        return (*connection.execute(counts).one(), *map(tuple, connection.execute(out)))


def flow(database: Database, study: str, origin: str, part: str = "") -> ParticipantFlow:
    parts = parts_of(database, study, origin)
    part = part_of(parts, study, part)
    somebody = _session.stream.not_in(streams_of_nobody(study))
    conditions = (_session.study == study, _session.origin == origin, somebody, _first_visits(study))
    with database.connect() as connection:
        arrived = connection.execute(select(func.count()).where(*conditions)).scalar_one()
        seats = connection.execute(_seats(study, origin)).all()
    outcomes, excluded, complete = Counter[str](), Counter[str](), Counter[str]()
    for _, outcome, why, number in seats:
        outcomes[outcome or UNDER_WAY] += number
        if why is not None:
            excluded[why] += number
            complete += Counter({why: number if outcome == COMPLETE else 0})
    counts = (dict(outcomes), dict(excluded), dict(complete))
    first_wave = bool(persons_of_sessions(database, study))
    return ParticipantFlow(origin, arrived, part, _elsewhere(parts, part), *counts, _factors(seats), first_wave)


def _first_visits(study: str) -> ColumnElement[bool]:
    """The sessions that are not a person's later wave, also of those who withdrew; whoever came first began a first."""
    waves = select(_session.wave).where(_session.study == study, _session.wave.is_not(None))
    return or_(_session.wave.is_(None), _session.wave == waves.order_by(_session.ordinal).limit(1).scalar_subquery())


def _elsewhere(parts: Mapping[str, frozenset[str]], part: str) -> dict[str, int]:
    """The number of sessions in other parts only; each is counted once, in the first of them."""
    known = set(parts.get(part, ()))
    found: dict[str, int] = {}
    for other, sessions in parts.items():
        if other != part and (number := len(sessions - known)):
            found[other] = number
            known |= sessions
    return found


def _seats(study: str, origin: str) -> Select[Any]:
    columns = (_seat.cell, _seat.outcome, _seat.excluded)
    query = select(*columns, func.count()).where(_seat.study == study, _seat.origin == origin, _first_visits(study))
    query = query.join(tables.sessions, _session.stream == _seat.stream)
    return query.group_by(*columns).order_by(*columns)


def _factors(seats: Sequence[Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Participants who began and who completed, by each factor and value; excluded ones never completed."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for name, value, done, number in _assigned(seats):
        came, completed = found.setdefault(name, {}).get(value, (0, 0))
        found[name][value] = (came + number, completed + (number if done else 0))
    return found


def _assigned(seats: Sequence[Any]) -> Iterator[tuple[str, str, bool, int]]:
    for cell, outcome, why, number in seats:
        for name, value in orjson.loads(cell).items():
            yield name, str(value), outcome == COMPLETE and why is None, number
