"""Imported data in the log: events `recorded` (a row of a released file) and `imported` (a file that was imported).

Each person's rows are in a stream with an id derived from schema, study and person, so a row maps to one event wherever
it was read. Rows without a person and the `imported` events are in the study's own stream. These streams are only read
here; such sessions are never resumed. The time of an event is that given in the data, or unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Connection, select

from experiments.events import Event
from experiments.session.annotations import ANNOTATED, ConversationRef, values
from storage import tables
from storage.registers.study_status import person_stream, study_events
from storage.schemas.base import ReleasedRow, ReleasedTable
from storage.schemas.registry import released, schemas


def streams_of_nobody(study: str) -> tuple[str, ...]:
    """Streams of imported rows of no participant, such as labels: sessions as every row needs one, never counted."""
    found = (one.name for one in schemas().values() if any(not (it.person or it.of_study) for it in one.tables))
    return tuple(person_stream(name, study, "") for name in found)


def imported_event(row: ReleasedRow) -> dict[str, Any]:
    """The values in the order of columns, to which a later Parley may only append; names would be most of the log."""
    values = [row.values.get(column.sql) for column in released(row.table).columns]
    data: dict[str, Any] = {"table": row.table, "row": row.seq, "values": values}
    return data | ({"part": row.part} if row.part else {}) | ({"written": row.written} if row.written else {})


def row_of(data: Mapping[str, Any]) -> ReleasedRow:
    """The row in a `recorded` event. Events from before 2026-11-26 name each value."""
    table: ReleasedTable = released(data["table"])
    names, recorded = [column.sql for column in table.columns], data["values"]
    named = recorded if isinstance(recorded, Mapping) else dict(zip(names, recorded, strict=False))
    values = {name: named.get(name) for name in names}
    return ReleasedRow(table.name, data["row"], values, data.get("part", ""), data.get("written"))


def recorded_rows(connection: Connection, stream: str) -> list[ReleasedRow]:
    t = tables.events.c
    wanted = select(*tables.EVENT).where(t.stream == stream, t.kind.in_(("recorded", ANNOTATED))).order_by(t.seq)
    return list(rows_of_events(Event(*row) for row in connection.execute(wanted)).values())


def rows_of_events(events: Iterable[Event]) -> dict[int, ReleasedRow]:
    """The rows by the number of the event; blank annotations are filled with later results of annotators."""
    rows: dict[int, ReleasedRow] = {}
    noted: list[Event] = []
    for event in events:
        if event.kind == "recorded":
            rows[event.seq] = row_of(event.data)
        elif event.kind == ANNOTATED and event.data.get("of"):
            noted.append(event)
    for seq in {event.data["of"] for event in noted} & rows.keys():
        rows[seq] = _filled(rows[seq], values(noted, ConversationRef(of=seq)))
    return rows


def _filled(row: ReleasedRow, found: Mapping[str, Mapping[str, Any]]) -> ReleasedRow:
    """The row with blank annotations filled in; the file's spelling of those blanks is dropped."""
    full = released(row.table).filled(row.values, found)
    spelled = orjson.loads(row.written) if row.written else {}
    kept = {name: cell for name, cell in spelled.items() if row.values.get(name) == full.get(name)}
    written = row.written if kept == spelled else orjson.dumps(kept).decode() if kept else None
    return replace(row, values=full, written=written)


def imports(connection: Connection, study: str, schema: str | None = None) -> list[Mapping[str, Any]]:
    """The imports of a study, oldest first: the data of its `imported` events."""
    found = study_events(connection, study, "imported")
    return [event.data for event in found if schema in (None, event.data["schema"])]


def importing_studies(connection: Connection) -> Iterator[str]:
    t = tables.events.c
    found = connection.execute(select(t.data).where(t.kind == "imported").order_by(t.stream, t.seq)).scalars()
    yield from dict.fromkeys(data["study"] for data in found)
