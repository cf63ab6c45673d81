"""Many sessions made of few: their rows copied under other names and earlier times, as quickly as SQLite takes them.

Rows are written in the order of their keys, whole sessions one after another, and what is only an index or a trigger is
taken away before and made again after. If it breaks off, the file is of no use: work on one that is thrown away then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from rich.progress import track

EARLIER_US = 6 * 3_600_000_000
"""How much earlier each copy is than the one before it."""
TIMES = ("at_us", "begun_us", "last_us", "until_us", "due_us", "started_us", "recorded_us", "released_us")
ONCE = "participant_identity"
"""The table whose rows may not be there twice."""
QUICK = ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-400000", "temp_store=MEMORY")
NUMBERS = """CREATE TEMP TABLE copy AS WITH RECURSIVE upwards(nth) AS
  (SELECT 1 UNION ALL SELECT nth + 1 FROM upwards WHERE nth < ?) SELECT nth FROM upwards"""


def multiply(path: Path, streams: Iterable[str], copies: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for pragma in QUICK:
            database.execute(f"PRAGMA {pragma}")
        taken = _take_away(database)
        database.execute(NUMBERS, (copies,))
        (sessions,) = database.execute("SELECT max(ordinal) FROM session").fetchone()
        statements = [_copying(table, names, sessions) for table, names in _tables(database).items()]
        database.execute("BEGIN")
        for stream in track(sorted(streams), "Copying sessions"):
            for statement in statements:
                database.execute(statement, (stream,))
        database.execute("COMMIT")
        for statement in track(taken, "Making indexes"):
            database.execute(statement)
        database.execute("PRAGMA journal_mode=WAL")


def _take_away(database: sqlite3.Connection) -> list[str]:
    asked = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
    found = database.execute(asked).fetchall()
    for kind, name, _ in found:
        database.execute(f'DROP {kind} "{name}"')
    return [sql for _, _, sql in found]


def _tables(database: sqlite3.Connection) -> dict[str, list[str]]:
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [told[1] for told in database.execute(f'PRAGMA table_info("{name}")')] for name in names}
    return {name: some for name, some in columns.items() if name != ONCE and {"stream", "_session"} & {*some}}


def _copying(table: str, columns: list[str], sessions: int) -> str:
    stream = "_session" if "_session" in columns else "stream"
    made = {name: f'"{name}" - (nth - 1) * {EARLIER_US}' for name in TIMES}
    made |= {stream: f"substr(\"{stream}\", 1, 30) || printf('%06x', nth)", "origin": "'person'"}
    made |= {"_origin": "'person'", "ordinal": f"ordinal + nth * {sessions}"}
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(made.get(name, f'"{name}"') for name in columns)
    rows = f'temp.copy CROSS JOIN "{table}" AS one WHERE one."{stream}" = ?'
    return f'INSERT INTO "{table}" ({names}) SELECT {values} FROM {rows}'
