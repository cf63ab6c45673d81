"""What a schema is: released tables, and the rows of them that a session's facts imply.

Rows are a pure function of a study and a session's folded state, so the tables can be dropped and rebuilt from the log
at any time. A row may hold what is known only later (a preference at the end of a set), so rows are upserted by their
key. Beside the released columns stand `_study`, `_session` and `_seq` (the fact that completed the row); exports leave
them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Column as SqlColumn
from sqlalchemy import Float, Integer, String, Table, Text
from sqlalchemy.types import TypeEngine

from experiments.core.place import State
from experiments.core.resolve import Study
from storage.tables import metadata

Kind = Literal["text", "integer", "number", "json"]
SQL: Mapping[str, type[TypeEngine[Any]]] = {"text": Text, "integer": Integer, "number": Float, "json": Text}


@dataclass(frozen=True, slots=True)
class Column:
    """A released column; `stored` is its name in the database where that cannot bear the released one."""

    name: str
    kind: Kind
    meaning: str
    stored: str = ""

    @property
    def sql(self) -> str:
        """Its name in the database."""
        return self.stored or self.name


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a released table: `key` and `values` by the columns' names in the database, `seq` of its last fact."""

    table: str
    seq: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Released:
    """A released table and the file it is published as; `key` tells one session's rows apart."""

    name: str
    file: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    of_study: bool = False

    def table(self) -> Table:
        """The table in the database, made once."""
        if self.name in metadata.tables:
            return metadata.tables[self.name]
        keys = {"_study", "_session", *self.key}
        own = [
            SqlColumn("_study", String(60), primary_key=True),
            SqlColumn("_session", String(36), primary_key=True),
        ]
        released = [
            SqlColumn(
                c.sql,
                String(255) if c.sql in keys and c.kind == "text" else SQL[c.kind],
                primary_key=c.sql in keys,
            )
            for c in self.columns
        ]
        return Table(self.name, metadata, *own, SqlColumn("_seq", Integer, nullable=False), *released)


@dataclass(frozen=True, slots=True)
class Schema:
    """A released dataset: its tables, the rows a session has in them, and those the study itself has."""

    name: str
    title: str
    source: str
    tables: tuple[Released, ...]
    rows: Callable[[Study, State], Sequence[Row]]
    study_rows: Callable[[Study], Sequence[Row]] = field(default=lambda study: ())
