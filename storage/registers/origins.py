"""Origins of sessions (participants, imported, simulated, ...), which origin a request without one means, and who the
simulated users are, from the `enrolled` events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from experiments.errors import suggestion
from storage import tables
from storage.db.engine import Database
from storage.errors import StorageError


class Origin(StrEnum):
    """The origin of a session. Where no origin is named, the first one that a study has is used, in this order."""

    PERSON = "person"
    IMPORT = "import"
    BOT = "bot"
    PILOT = "pilot"
    # Simulated participants who came to the running server (`parley rehearse`); one command removes them.
    REHEARSAL = "rehearsal"


ORIGINS = tuple(Origin)
# The banner above what is shown of a rehearsal.
REHEARSAL = "Rehearsal. No person took part: nothing here is data, and nobody is paid."
ONLY_NAMED = (Origin.PILOT, Origin.REHEARSAL)
# The origins of sessions in which no person took part.
SIMULATED = (Origin.BOT, Origin.REHEARSAL)
# The origins to whose sessions a study's quotas apply; those of each origin are counted among themselves.
QUOTAS_APPLY = (Origin.PERSON, Origin.REHEARSAL)
RANDOM = "random"
_fact, _session = tables.events.c, tables.sessions.c


def origins(
    connection: Connection,
    study: str,
    wanted: str | None,
    also: Collection[str] = (),
    *,
    instead: Collection[str] = (),
) -> list[Origin]:
    """The origins of a study's data, the default first; raises StorageError if there is none, or not the `wanted` one.

    `also` are origins of data without sessions; `instead` are origins to use if there are no others.
    """
    t = tables.sessions.c
    found = {*connection.execute(select(t.origin).where(t.study == study).distinct()).scalars(), *also}
    found = found or {*instead}
    if not found:
        known = connection.execute(select(t.study).distinct()).scalars().all()
        raise StorageError(f"the database has no sessions of the study {study!r}{suggestion(study, known)}")
    if wanted is not None and wanted not in found:
        raise StorageError(f"{study!r} has no sessions of origin '{wanted}'{suggestion(wanted, found)}")
    if wanted is None and found <= {*ONLY_NAMED}:
        words = " and ".join(origin for origin in ONLY_NAMED if origin in found)
        first = next(origin for origin in ONLY_NAMED if origin in found)
        raise StorageError(f"{study!r} has {words} sessions only. To include them, add --origin {first}")
    searched = [wanted] if wanted is not None else [origin for origin in ORIGINS if origin not in ONLY_NAMED]
    return [Origin(origin) for origin in searched if origin in found]


@dataclass(frozen=True, slots=True, order=True)
class SimulatedUserInfo:
    """A kind of simulated user, and its model; empty if it has none.

    Sessions of old Parley versions that did not record this were played by the random user.
    """

    kind: str = RANDOM
    model: str = ""

    def __str__(self) -> str:
        return f"{self.kind} ({self.model})" if self.model else self.kind


def simulated(database: Database, study: str) -> dict[str, SimulatedUserInfo]:
    """The simulated user of each simulated session of a study, by stream."""
    with database.connect() as connection:
        return {stream: _read(data) for stream, data in connection.execute(_enrolled(study, _fact.stream, _fact.data))}


def count_simulated(connection: Connection, study: str) -> list[tuple[str, int]]:
    """Count the sessions by kind of user and model, the most frequent first; apart where the scripted model replied in
    place of the study's."""
    rows = connection.execute(_enrolled(study, _fact.data)).scalars()
    found = Counter(f"{_read(data)}{', scripted replies' if 'models' in data else ''}" for data in rows)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def simulated_kinds(connection: Connection, study: str) -> list[str]:
    return sorted({_read(data).kind for (data,) in connection.execute(_enrolled(study, _fact.data))})


def played_by(study: str, kind: str) -> Select[tuple[str]]:
    said: ColumnElement[str] = _fact.data["user"]["kind"].as_string()
    its = (said == kind) | said.is_(None) if kind == RANDOM else said == kind
    return _enrolled(study, _fact.stream).where(its)


def _enrolled(study: str, *columns: ColumnElement[Any]) -> Select[Any]:
    conditions = (_session.study == study, _session.origin == Origin.BOT, _fact.seq == 1)
    return select(*columns).join(tables.sessions, _session.stream == _fact.stream).where(*conditions)


def _read(enrolled: Mapping[str, Any]) -> SimulatedUserInfo:
    user = enrolled.get("user", {})
    return SimulatedUserInfo(user.get("kind", RANDOM), user.get("model", ""))
