"""A row of a released file as an event, and back."""

from __future__ import annotations

from storage.registers.imported_rows import row_of
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import schemas

TABLES = [table for schema in schemas().values() for table in schema.tables]


def test_events_of_earlier_versions_name_their_values() -> None:
    table = TABLES[0]
    first, *others = (column.sql for column in table.columns)
    row = row_of({"table": table.name, "row": 3, "values": {first: "a"}})
    assert row == ReleasedRow(table.name, 3, {first: "a"} | dict.fromkeys(others))
