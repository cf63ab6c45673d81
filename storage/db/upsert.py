"""Rows written over those of the same key, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite

from storage.schemas.base import ReleasedRow
from storage.schemas.registry import released


@dataclass(frozen=True, slots=True)
class RowOwner:
    """The owner of rows: a session, or with an empty stream and origin the study."""

    study: str
    stream: str = ""
    origin: str = ""


def own_columns(owner: RowOwner, row: ReleasedRow) -> dict[str, Any]:
    """The columns of a row that exports leave out."""
    own = {"_study": owner.study, "_session": owner.stream, "_part": row.part, "_seq": row.seq}
    return {**own, "_written": row.written, "_origin": owner.origin}


def upsert_rows(connection: Connection, owner: RowOwner, rows: Iterable[ReleasedRow]) -> None:
    """Write rows of released tables; a row of the same key is replaced."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row.table, []).append({**own_columns(owner, row), **row.values})
    for name, values in grouped.items():
        table = released(name).table()
        upsert(connection, table, values, [column.name for column in table.primary_key])


def upsert(connection: Connection, table: Table, values: list[dict[str, Any]], key: Sequence[str]) -> None:
    """Write rows of any table, all with the same columns; a row of the same key is replaced."""
    connection.execute(_upserting(connection.dialect.name, table, tuple(key)), values)


@cache
def _upserting(dialect: str, table: Table, key: tuple[str, ...]) -> Any:
    statement = insert_into(table, dialect)
    others = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in key}
    return statement.on_conflict_do_update(index_elements=list(key), set_=others)


def insert_into(table: Table, dialect: str) -> Any:
    """An insert that can say what happens on a conflict, which is the dialect's own."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # no server over SQLite waits for it

        return postgresql.insert(table)
    return sqlite.insert(table)
