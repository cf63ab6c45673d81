"""A database as the first Parley made it: its tables and rows, frozen in tests/migrations/first; no stamp.

They were written when revision 0001 was made, from simulated sessions and some that withdrew, were excluded or stopped
on the way. Never make them anew: they are what older databases hold.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from storage.db.engine import connect, writer
from storage.db.revisions import OWN, Revisions

FOLDER = Path(__file__).parents[1] / "migrations"
LATER = Revisions((*OWN.folders, FOLDER / "later"))
"""Parley's own revisions, and two of the tests'."""
FACTS = 387
"""How many facts the frozen rows have."""


def make_first(url: str, copies: int = 1) -> None:
    """Fill an empty database; more copies of every session have streams and ordinals of their own."""
    engine = connect(url)
    with writer(engine) as connection, connection.begin():
        for statement in (FOLDER / "first" / f"{engine.dialect.name}.sql").read_text(encoding="utf-8").splitlines():
            connection.exec_driver_sql(statement)
        frozen = _frozen()
        for number in range(copies):
            _insert(connection, frozen, number)
    engine.dispose()


def _frozen() -> Mapping[str, list[dict[str, Any]]]:
    rows = defaultdict(list)
    with gzip.open(FOLDER / "first" / "rows.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, row = json.loads(line)
            rows[name].append({column: _value(value) for column, value in row.items()})
    return rows


def _value(value: Any) -> Any:
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value


def _insert(connection: Connection, frozen: Mapping[str, list[dict[str, Any]]], number: int) -> None:
    for name, rows in frozen.items():
        if number and "stream" not in rows[0]:
            continue  # not of a session, or made anew from the log
        columns = ", ".join(f'"{column}"' for column in rows[0])
        values = ", ".join(f":{column}" for column in rows[0])
        copied = [_copied(row, number) if number else row for row in rows]
        connection.execute(text(f'INSERT INTO "{name}" ({columns}) VALUES ({values})'), copied)


def _copied(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    ordinal = {"ordinal": row["ordinal"] + 1_000 * number} if "ordinal" in row else {}
    return {**row, **ordinal, "stream": f"{number:04}{row['stream'][4:]}"}
