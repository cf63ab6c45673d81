"""Select, order and stream the rows of a released table for an export.

A study's own sessions are ordered by arrival, and each session's rows by event. Imported rows keep the order of their
files, and cells that an imported file spelled differently keep their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, Table, Text, case, cast, func, literal_column, or_, select

from storage import tables
from storage.columns import Column
from storage.datasets.writers import FORMULA_STARTS, Rows
from storage.registers.origins import Origin
from storage.registers.study_status import study_stream
from storage.schemas.base import ReleasedTable

AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class RowSelection:
    """`among` is a query that restricts the sessions, `passes` a condition on sessions, `without` a dataset to leave
    out, `source` another table with the same columns to read from, `folder` another part of the release to write it
    as."""

    study: str
    origin: str
    table: ReleasedTable
    part: str
    columns: tuple[Column, ...]
    among: Select[Any] | None = None
    passes: ColumnElement[bool] | None = None
    without: str = ""
    source: ReleasedTable | None = None
    folder: str | None = None

    @property
    def own(self) -> Table:
        return (self.source or self.table).table()

    @property
    def path(self) -> str:
        return self.table.path(self.folder if self.part and self.folder else self.part)

    @property
    def json(self) -> bool:
        return self.table.file.endswith(".json")

    @property
    def texts(self) -> bool:
        """True if every cell can be read as text and written unchanged."""
        numbers = any(column.kind == "number" for column in self.columns)
        return not numbers and not (self.table.counter and self.origin != Origin.IMPORT)

    def count(self, connection: Connection, where: ColumnElement[bool] | None = None) -> int:
        query = self._where(select(func.count()).select_from(self.own))
        return int(connection.execute(query if where is None else query.where(where)).scalar_one())

    def counts(self, connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> Sequence[int]:
        if not conditions:
            return ()
        counted: list[Any] = [func.count(case((met, 1))) for met in conditions]
        query = self._where(select(*counted).select_from(self.own))
        return tuple(connection.execute(query).one())

    def formulas(self, connection: Connection) -> dict[str, int]:
        """Count, for each text column, the cells that a spreadsheet would run."""
        starts = [start for start in FORMULA_STARTS if start != "\0"]  # PostgreSQL stores no NUL; SQLite skips it
        texts = [column for column in self.columns if column.kind == "text" and not column.form.labels]
        runs = [func.substr(cast(self.own.c[column.sql], Text), 1, 1).in_(starts) for column in texts]
        counts = self.counts(connection, runs)
        return {column.name: count for column, count in zip(texts, counts, strict=True) if count}

    def count_to(self, connection: Connection, most: int) -> int | None:
        """Count the rows up to `most`, which is fast for tables of any size. None for a filtered file."""
        if self.among is not None:
            return None
        some = self._where(select(literal_column("1")).select_from(self.own)).limit(most).subquery()
        return int(connection.execute(select(func.count()).select_from(some)).scalar_one())

    def stream(
        self, connection: Connection, *, texts: bool, most: int | None = None, as_spelled: bool = True
    ) -> Iterator[Rows]:
        """Batches of some hundreds. With `texts` all are texts; `as_spelled` gives imported cells as in their file."""
        spelled = as_spelled and self.is_spelled(connection)
        own = self.own
        cells: list[Any] = [own.c[column.sql] for column in self.columns]
        cells = [func.coalesce(cast(cell, Text), "") for cell in cells] if texts else cells
        query = self._ordered(select(*cells, *([own.c["_written"]] if spelled else []))).limit(most)
        number = 0
        for fetched in connection.execute(query.execution_options(stream_results=True)).partitions(AT_ONCE):
            rows: Rows = fetched
            if spelled:
                rows = _as_written(rows, self.columns)
            if self.table.counter and self.origin != Origin.IMPORT:
                rows = [self._counted(row, number + n) for n, row in enumerate(rows)]
            number += len(rows)
            yield rows

    def is_spelled(self, connection: Connection) -> bool:
        """True if some imported cells are spelled differently from Parley's form."""
        own = self.own.c
        query = select(own["_seq"]).where(
            own["_study"] == self.study, own["_part"] == self.part, own["_written"].is_not(None)
        )
        return self.origin == Origin.IMPORT and connection.execute(query.limit(1)).first() is not None

    def _where(self, query: Select[Any]) -> Select[Any]:
        own = self.own.c
        query = query.where(own["_study"] == self.study, own["_part"] == self.part)
        if self.without:
            query = query.where(own["dataset"] != self.without)
        if self.among is not None:
            query = query.where(own["_session"].in_(self.among))
        if self.table.of_study:
            return query.where(own["_session"] == (study_stream(self.study) if self.origin == Origin.IMPORT else ""))
        t = tables.sessions.c
        if self.origin == Origin.IMPORT:
            others = select(t.stream).where(t.study == self.study, t.origin != Origin.IMPORT)
            its = select(t.stream).where(t.stream == own["_session"], t.origin == Origin.IMPORT)
            query = query.where(or_(~others.exists(), its.exists()))  # the first runs once, the second for each row
            return query.where(own["_session"] != literal_column("''"))  # lets SQLite order by the partial index
        joined = query.join(tables.sessions, own["_session"] == t.stream)
        joined = joined.where(t.study == self.study, t.origin == self.origin)
        return joined if self.passes is None else joined.where(self.passes)

    def _ordered(self, query: Select[Any]) -> Select[Any]:
        own = self.own.c
        first = [] if self.origin == Origin.IMPORT or self.table.of_study else [tables.sessions.c.ordinal]
        return self._where(query).order_by(*first, own["_seq"], *(own[name] for name in self.table.key))

    def _counted(self, row: Sequence[Any], number: int) -> tuple[Any, ...]:
        """Fill the counter column with the number of the row in the file, unless it has a value."""
        named = zip(self.columns, row, strict=True)
        return tuple(number if cell is None and column.sql == self.table.counter else cell for column, cell in named)


def _as_written(rows: Rows, columns: Sequence[Column]) -> Rows:
    """Rows as spelled in their file, from rows that end with the differing cells."""
    places = {column.sql: number for number, column in enumerate(columns)}
    loads = lru_cache(orjson.loads)
    found = []
    for *cells, written in rows:
        for name, cell in loads(written).items() if written else ():
            if name in places:
                cells[places[name]] = cell
        found.append(cells)
    return found
