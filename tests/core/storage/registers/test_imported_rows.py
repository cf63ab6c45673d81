"""A row of a released file as an event, and back."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.registers.imported_rows import imported_event, row_of
from storage.schemas.base import ReleasedRow, ReleasedTable
from storage.schemas.registry import schemas

TABLES = [table for schema in schemas().values() for table in schema.tables]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@given(data=st.data())
def test_a_row_is_the_same_after_the_log(table: ReleasedTable, data: st.DataObject) -> None:
    names = [column.sql for column in table.columns]
    cells = data.draw(st.lists(st.none() | st.text() | st.integers(0, 9), min_size=len(names), max_size=len(names)))
    row = ReleasedRow(table.name, data.draw(st.integers(1, 99)), dict(zip(names, cells, strict=True)))
    assert row_of(orjson.loads(orjson.dumps(imported_event(row)))) == row


def test_events_of_earlier_versions_name_their_values() -> None:
    table = TABLES[0]
    first, *others = (column.sql for column in table.columns)
    row = row_of({"table": table.name, "row": 3, "values": {first: "a"}})
    assert row == ReleasedRow(table.name, 3, {first: "a"} | dict.fromkeys(others))
