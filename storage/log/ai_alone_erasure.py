"""Delete model replies about participants who withdrew while the models were queried, after the erasure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select

from storage import tables
from storage.ai_alone.cells import StoredCell, save_cells
from storage.db.engine import Database, writer
from storage.log.erasure import forget_annotations, truncate_wal

AT_ONCE = 500


def forget_erased(database: Database, study: str, asked: Sequence[StoredCell]) -> None:
    """Delete the cells and replies of a plan that are about erased sessions."""
    erased = _erased(database, {one.stream for one in asked if one.stream})
    mine = [one for one in asked if one.stream in erased]
    if not mine:
        return
    save_cells(database, study, mine)  # replies are found by their cells, which have the session
    with writer(database) as connection:
        with connection.begin():
            for stream in sorted(erased):
                forget_annotations(connection, stream)
        truncate_wal(connection)


def _erased(database: Database, streams: Iterable[str]) -> set[str]:
    own, listed = tables.erasures.c.stream, sorted(streams)
    found: set[str] = set()
    with database.connect() as connection:
        for start in range(0, len(listed), AT_ONCE):
            query = select(own).where(own.in_(listed[start : start + AT_ONCE]))
            found |= set(connection.execute(query).scalars())
    return found
