"""Indexes of a part of a table are that in each database."""

from __future__ import annotations

from sqlalchemy import inspect

from storage.db.engine import open_database
from storage.tables import metadata


def test_an_index_has_its_condition_in_each_database(database_url: str) -> None:
    database = open_database(database_url)
    found, where = inspect(database), f"{database.dialect.name}_where"
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    partial = {index.name for index in indexes if index.dialect_kwargs.get("sqlite_where") is not None}
    made = {
        index["name"]
        for table in found.get_table_names()
        for index in found.get_indexes(table)
        if where in index.get("dialect_options", {})
    }
    database.dispose()
    assert made == partial != set()
