"""Origins of sessions, which one a request without one means, and the simulated users, from `enrolled` events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select

from experiments.errors import suggestion
from storage import tables
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
_fact, _session = tables.events.c, tables.sessions.c


def origins(
    connection: Connection,
    study: str,
    wanted: str | None,
    also: Collection[str] = (),
    *,
    instead: Collection[str] = (),
) -> list[Origin]:
    """The origins, the default first; raises StorageError if there is none, or not the `wanted` one. `also` are origins
    of data without sessions; `instead` are origins to use if there are no others."""
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


def count_simulated(connection: Connection, study: str) -> list[tuple[str, int]]:
    """Sessions by kind of user and model, most frequent first; apart where the scripted model replied instead."""
    query = select(_fact.data).join(tables.sessions, _session.stream == _fact.stream)
    query = query.where(_session.study == study, _session.origin == Origin.BOT, _fact.seq == 1)
    rows = connection.execute(query).scalars()
    found = Counter(f"{_user(data['user'])}{', scripted replies' if 'models' in data else ''}" for data in rows)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _user(user: Mapping[str, Any]) -> str:
    return f"{user['kind']} ({user['model']})" if user.get("model") else str(user["kind"])
