"""Statements that nearly every click runs: compiled once, and handed to the driver as they are.

SQLAlchemy looks up how a statement is compiled each time that it is run, which takes several times as long as SQLite
takes to run it, and what it does around the driver takes as long again. What a statement means is still written in its
words, for both databases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import Select

from storage.engine import is_writer, straight

Statement = UpdateBase | Select[Any]
Values = Mapping[str, Any]
Run = Callable[[Values], Any]


class Prepared:
    """A statement with named parameters; `make` gives it for a dialect, by name, where the two differ.

    An insert or update sets the columns in `names`, or all that it has parameters for.
    """

    def __init__(self, make: Callable[[str], Statement], names: Sequence[str] | None = None) -> None:
        self._make = make
        self._names = None if names is None else list(names)
        self._compiled: dict[str, tuple[str, Run]] = {}
        self._read: dict[str, list[Any]] = {}

    def run(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Run it for each of some rows, in the transaction that is open."""
        text, read = self._of(connection.dialect)
        values = [read(row) for row in rows]
        if _is_straight(connection):
            straight(connection, text, *values)
        else:
            connection.exec_driver_sql(text, values[0] if len(values) == 1 else values)

    def first(self, connection: Connection, values: Values) -> Any:
        """The first column of the first row that it finds; None if there is none."""
        return next((row[0] for row in self._found(connection, values)), None)

    def rows(self, connection: Connection, values: Values) -> list[tuple[Any, ...]]:
        """All rows that it finds, their values as the columns' types have them."""
        found = self._found(connection, values)
        return [tuple(map(_put, self._read[connection.dialect.name], row)) for row in found]

    def _found(self, connection: Connection, values: Values) -> Sequence[Any]:
        text, read = self._of(connection.dialect)
        if _is_straight(connection):
            return straight(connection, text, read(values))
        return connection.exec_driver_sql(text, read(values)).all()

    def _of(self, dialect: Dialect) -> tuple[str, Run]:
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = self._compile(dialect)
        return self._compiled[dialect.name]

    def _compile(self, dialect: Dialect) -> tuple[str, Run]:
        statement = self._make(dialect.name)
        compiled = statement.compile(dialect=dialect, column_keys=self._names)
        types = [column.type for column in statement.selected_columns] if isinstance(statement, Select) else []
        self._read[dialect.name] = [one.dialect_impl(dialect).result_processor(dialect, None) for one in types]
        written = {
            name: bind.type.dialect_impl(dialect).bind_processor(dialect) for name, bind in compiled.binds.items()
        }
        fixed = {name: bind.value for name, bind in compiled.binds.items() if bind.value is not None}
        if compiled.positiontup is None:
            return str(compiled), partial(_named, written, fixed)
        names = compiled.positiontup
        processed = [(place, process) for place, name in enumerate(names) if (process := written[name])]
        return str(compiled), partial(_placed, _picking(names), processed, fixed)


def _is_straight(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite" and connection.in_transaction() and is_writer(connection)


@cache
def inserting(table: Table, names: tuple[str, ...]) -> Prepared:
    """An insert of rows that have these columns."""
    return Prepared(lambda _: insert(table), names)


def _named(written: Mapping[str, Any], fixed: Values, values: Values) -> dict[str, Any]:
    """The parameters by name, as PostgreSQL's driver takes them."""
    return {name: _put(process, values[name] if name in values else fixed[name]) for name, process in written.items()}


def _placed(
    pick: Callable[[Values], tuple[Any, ...]],
    processed: Sequence[tuple[int, Callable[[Any], Any]]],
    fixed: Values,
    values: Values,
) -> tuple[Any, ...]:
    """The parameters in their places, as SQLite's driver takes them; few of them have to be processed."""
    placed = pick({**fixed, **values} if fixed else values)
    if not processed:
        return placed
    row = list(placed)
    for place, process in processed:
        row[place] = process(row[place])
    return tuple(row)


def _picking(names: Sequence[str]) -> Callable[[Values], tuple[Any, ...]]:
    """What takes some names' values; of one alone `itemgetter` makes no tuple."""
    return itemgetter(*names) if len(names) > 1 else lambda values: tuple([values[name] for name in names])


def _put(process: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if process is None else process(value)
