"""The simulated users of a study's sessions, from their `enrolled` events: kind of user, model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from storage import tables
from storage.db.engine import Database
from storage.registers.origins import Origin

RANDOM = "random"
_fact, _session = tables.events.c, tables.sessions.c


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


def counted(connection: Connection, study: str) -> list[tuple[str, int]]:
    """Count the sessions by kind of user and model, the most frequent first; apart where the scripted model replied in
    place of the study's."""
    rows = connection.execute(_enrolled(study, _fact.data)).scalars()
    found = Counter(f"{_read(data)}{', scripted replies' if 'models' in data else ''}" for data in rows)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def kinds_of(connection: Connection, study: str) -> list[str]:
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
