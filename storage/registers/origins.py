"""Whose sessions a study has: people's, imported, simulated or pilot ones; and which of them are meant."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from experiments.errors import allowed
from storage import tables
from storage.errors import StorageError
from storage.registers.imported_rows import ORIGIN

PERSON, PILOT = "person", "pilot"
ORIGINS = (PERSON, ORIGIN, "bot", PILOT)
"""Whose sessions a study may hold, in the order in which they are meant unless it is said; a pilot's only if it is."""


def origins(
    connection: Connection,
    study: str,
    wanted: str | None,
    also: Collection[str] = (),
    *,
    instead: Collection[str] = (),
) -> list[str]:
    """The origins that a study has, first what is meant first; raises StorageError where it has none, or not the one
    that is wanted. `also` are those of data without sessions, `instead` what holds where there is no other."""
    t = tables.sessions.c
    found = {*connection.execute(select(t.origin).where(t.study == study).distinct()).scalars(), *also}
    found = found or {*instead}
    if not found:
        known = connection.execute(select(t.study).distinct()).scalars().all()
        raise StorageError(f"the database has no session of a study {study!r}{allowed(study, known)}")
    if wanted is not None and wanted not in found:
        raise StorageError(f"{study!r} has no session of origin {wanted!r}{allowed(wanted, found)}")
    if wanted is None and found == {PILOT}:
        raise StorageError(f"{study!r} has pilot sessions only; to have them, say so: --origin {PILOT}")
    meant = ORIGINS if wanted == PILOT else ORIGINS[:-1]
    return [origin for origin in meant if origin in found and wanted in (None, origin)]
