"""Which schemas a study fills, read from its documents; they are not built, as a package that they need may be gone."""

from __future__ import annotations

from threading import Lock

import orjson
from cachetools import LRUCache
from sqlalchemy import Connection, select

from storage import tables

MOST = 1_000
_study = tables.studies.c
_KNOWN: LRUCache[str, tuple[str, ...]] = LRUCache(MOST)
"""By the hash of the document, which never changes and may be megabytes long."""
_LOCK = Lock()


def recorded_schemas(connection: Connection, study: str) -> list[str]:
    """The schemas that some version of a study fills."""
    hashes = connection.execute(select(_study.hash).where(_study.name == study)).scalars().all()
    return list(dict.fromkeys(name for hash_ in hashes for name in _recorded(connection, hash_)))


def _recorded(connection: Connection, hash_: str) -> tuple[str, ...]:
    with _LOCK:
        known = _KNOWN.get(hash_)
    if known is None:
        document = connection.execute(select(_study.document).where(_study.hash == hash_)).scalar_one()
        known = tuple(orjson.loads(document)["file"].get("export_schemas", ()))
        with _LOCK:
            _KNOWN[hash_] = known
    return known
