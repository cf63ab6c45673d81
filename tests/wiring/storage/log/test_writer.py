"""Batches of the writer: nothing is written of who was erased in it or before, and what was sent is no draft."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, select

from experiments.events import Event
from storage import tables
from storage.db.engine import Database, writer
from storage.errors import Conflict
from storage.log.event_log import facts
from storage.log.telemetry import TelemetryBatch
from storage.log.writer import Append, AttemptRow, ClearedDraft, DraftRow, Enrolment, Work, write

STREAM, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
NEW = Enrolment("study", "h", "person")


@pytest.fixture
def connection(each_database: Database) -> Iterator[Connection]:
    with writer(each_database) as connection:
        yield connection


def fact(seq: int, kind: str = "said", stream: str = STREAM, **more: object) -> Append:
    return Append(stream, "study", (Event(seq, 0, "participant", "here", kind, {}),), **more)  # type: ignore[arg-type]


def attempt(stream: str = STREAM) -> AttemptRow:
    own = {"stream": stream, "turn": 3, "slot": "", "study": "study", "path": "here", "text": "words", "model": "m"}
    nothing = dict.fromkeys(column.name for column in tables.attempts.c if column.name != "number")
    return AttemptRow({**nothing, **own, "backend": "b", "request": {"asked": 1}, "started_us": 1, "total_us": 1})


def late() -> list[Work]:
    told = TelemetryBatch(STREAM, "b", ({"path": "here", "at_us": 1, "kind": "screen", "data": {}},))
    return [DraftRow(STREAM, "here", {"text": "late"}, 1), told, attempt()]


def together(connection: Connection, works: list[Work]) -> None:
    with connection.begin():
        for work in works:
            write(connection, work)


def check_nothing_is_left(connection: Connection) -> None:
    with connection.begin():
        assert [event.kind for event in facts(connection, STREAM)] == ["withdrew"]
        for table in (tables.drafts, tables.telemetry):
            assert connection.execute(select(table.c.stream)).all() == []
        kept = connection.execute(select(tables.attempts.c.text, tables.attempts.c.request)).all()
        assert kept == [("", {})]


def test_what_comes_after_an_erasure_of_the_same_batch_is_dropped(connection: Connection) -> None:
    before: list[Work] = [fact(1, "enrolled", enrolment=NEW), DraftRow(STREAM, "here", {"text": "early"}, 1)]
    together(connection, [*before, fact(2, "withdrew", erases=True), *late()])
    check_nothing_is_left(connection)


def test_what_comes_in_a_batch_after_that_of_an_erasure_is_dropped(connection: Connection) -> None:
    together(connection, [fact(1, "enrolled", enrolment=NEW), fact(1, "enrolled", OTHER, enrolment=NEW)])
    together(connection, [fact(2, "withdrew", erases=True)])
    together(connection, [fact(2, stream=OTHER), *late()])
    check_nothing_is_left(connection)
    for seq in (1, 3):
        with pytest.raises(Conflict, match="erased"):
            together(connection, [fact(3, stream=OTHER), fact(seq)])
    check_nothing_is_left(connection)


def test_what_is_undone_was_not_erased(connection: Connection) -> None:
    together(connection, [fact(1, "enrolled", enrolment=NEW)])
    with connection.begin():
        with connection.begin_nested() as savepoint:
            write(connection, fact(2, "withdrew", erases=True))
            savepoint.rollback()
        write(connection, fact(2))
        assert [event.kind for event in facts(connection, STREAM)] == ["enrolled", "said"]


def test_what_is_typed_and_sent_in_one_batch_is_no_draft(connection: Connection) -> None:
    typed = DraftRow(STREAM, "here", {"text": "sent", "more": "kept"}, 1)
    looked = fact(2, spent=ClearedDraft("here"))
    together(
        connection, [fact(1, "enrolled", enrolment=NEW), looked, typed, fact(3, spent=ClearedDraft("here", ("text",)))]
    )
    drafts = select(tables.drafts.c.data)
    with connection.begin():
        assert connection.execute(drafts).scalars().all() == [{"more": "kept"}]
    together(connection, [fact(4, spent=ClearedDraft("here"))])
    with connection.begin():
        assert connection.execute(drafts).all() == []
