"""The schemas of this package by name, every `Schema` at the top level of one of its modules, and a session's rows."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from experiments.errors import suggestion
from experiments.study.location import State
from experiments.study.study import Study
from storage import schemas as package
from storage.errors import StorageError
from storage.schemas.base import ReleasedRow, ReleasedTable, Schema


@cache
def schemas() -> Mapping[str, Schema]:
    """The schemas by name. Their tables are added to the database metadata."""
    modules = [import_module(f"storage.schemas.{found.name}") for found in pkgutil.iter_modules(package.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    found = {value.name: value for value in values if isinstance(value, Schema)}
    for schema in found.values():
        for released in schema.tables:
            released.table()
    return MappingProxyType(found)


def schema(name: str) -> Schema:
    if name not in schemas():
        raise StorageError(f"no schema is called {name!r}{suggestion(name, list(schemas()))}")
    return schemas()[name]


@cache
def released(table: str) -> ReleasedTable:
    return next(item for schema in schemas().values() for item in schema.tables if item.name == table)


Key = tuple[Any, ...]
Rows = Mapping[Key, ReleasedRow]


def rows_of(study: Study, state: State) -> Rows:
    """The rows that a session's events imply, by key; none for a withdrawn session."""
    if state.outcome == "withdrawn":
        return {}
    return by_key(row for name in study.file.export_schemas for row in schemas()[name].rows(study, state))


def by_key(rows: Iterable[ReleasedRow]) -> dict[Key, ReleasedRow]:
    return {(row.table, row.part, row.seq, *_own(row)): row for row in rows}


def _own(row: ReleasedRow) -> Iterator[Any]:
    return (row.values[name] for name in released(row.table).key)
