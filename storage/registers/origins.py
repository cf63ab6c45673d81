"""Whose sessions a study has: people's, imported, simulated or pilot ones; and which of them are meant."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from sqlalchemy import Connection, select

from experiments.errors import suggestion
from storage import tables
from storage.errors import StorageError


class Origin(StrEnum):
    """Whose sessions they are, in the order in which they are meant where no origin is named."""

    PERSON = "person"
    IMPORT = "import"
    BOT = "bot"
    PILOT = "pilot"
    """Meant only where it is named."""


ORIGINS = tuple(Origin)


def origins(
    connection: Connection,
    study: str,
    wanted: str | None,
    also: Collection[str] = (),
    *,
    instead: Collection[str] = (),
) -> list[Origin]:
    """The origins that a study has, first what is meant first; raises StorageError where it has none, or not the one
    that is wanted. `also` are those of data without sessions, `instead` what holds where there is no other."""
    t = tables.sessions.c
    found = {*connection.execute(select(t.origin).where(t.study == study).distinct()).scalars(), *also}
    found = found or {*instead}
    if not found:
        known = connection.execute(select(t.study).distinct()).scalars().all()
        raise StorageError(f"the database has no sessions of the study {study!r}{suggestion(study, known)}")
    if wanted is not None and wanted not in found:
        raise StorageError(f"{study!r} has no sessions of origin {wanted!r}{suggestion(wanted, found)}")
    if wanted is None and found == {Origin.PILOT}:
        raise StorageError(f"{study!r} has pilot sessions only. To include them, add --origin {Origin.PILOT}")
    meant = ORIGINS if wanted == Origin.PILOT else ORIGINS[:-1]
    return [origin for origin in meant if origin in found and wanted in (None, origin)]
