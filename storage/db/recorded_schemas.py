"""Schemas that a study fills, read from its documents; they are not built, as a package that they need may be gone."""

from __future__ import annotations

import json
from threading import Lock

from cachetools import LRUCache, cached
from sqlalchemy import Connection, select

from storage import tables

MOST = 1_000
_study = tables.studies.c


def recorded_schemas(connection: Connection, study: str) -> list[str]:
    hashes = connection.execute(select(_study.hash).where(_study.name == study)).scalars().all()
    return list(dict.fromkeys(name for hash_ in hashes for name in _recorded(connection, hash_)))


@cached(LRUCache(MOST), key=lambda _, hash_: hash_, lock=Lock())
def _recorded(connection: Connection, hash_: str) -> tuple[str, ...]:
    """The schemas in one document, which never changes and may be megabytes long."""
    document = connection.execute(select(_study.document).where(_study.hash == hash_)).scalar_one()
    return tuple(json.loads(document)["file"].get("export_schemas", ()))
