"""Tidy tables that are written together: the rows of each alone, from one reading of the sessions."""

from __future__ import annotations

import asyncio

from sqlalchemy import event

from storage import tables
from storage.datasets.exports.plan import ExportRequest, plan_export
from storage.datasets.exports.session_rows import SessionRows, sharing
from storage.db.engine import Database
from tests.fakes.databases import fill


def test_tables_that_share_a_reading_have_the_rows_of_each_alone_and_read_the_log_once(database: Database) -> None:
    asyncio.run(fill(database, ["chatbench"], 3, "1"))
    readings: list[str] = []
    with database.connect() as connection:
        plan = plan_export(connection, ExportRequest("chatbench", "tidy"))
        files = [
            chosen for chosen in plan.files if isinstance(chosen, SessionRows) and chosen.table.name != "integrity"
        ]
        alone = [[*chosen.stream(connection, texts=False)] for chosen in files]

        @event.listens_for(connection, "before_cursor_execute")
        def tell(*told: object) -> None:
            readings.append(str(told[2]))

        streams = (chosen.stream(connection, texts=False) for chosen in sharing(connection, files))
        together = [*zip(*streams, strict=True)]
    assert together == [*zip(*alone, strict=True)]
    assert len(together) == 3
    assert sum(f"FROM {tables.events.name}" in reading for reading in readings) == 1
