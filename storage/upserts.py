"""Rows written over those of the same key, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from storage.schemas.base import Row
from storage.schemas.registry import released


def upsert_rows(connection: Connection, study: str, stream: str, rows: Iterable[Row]) -> None:
    """Write rows of released tables; a row of the same key is replaced."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        own = {"_study": study, "_session": stream, "_part": row.part, "_seq": row.seq, "_written": row.written}
        grouped.setdefault(row.table, []).append({**own, **row.values})
    for name, values in grouped.items():
        table = released(name).table()
        upsert(connection, table, values, [column.name for column in table.primary_key])


def upsert(connection: Connection, table: Table, values: list[dict[str, Any]], key: Sequence[str]) -> None:
    """Write rows of any table; a row of the same key is replaced."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    others = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=others), values)
