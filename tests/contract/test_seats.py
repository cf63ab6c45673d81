"""Seats and what models were used for: rebuilt they are as they were live, in a database of any kind and age."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import event, insert, select, text

from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from storage import tables
from storage.db.engine import Database, open_database, writer
from storage.errors import StorageError
from storage.log import usage
from storage.log.projections import rebuild
from storage.log.seats import SessionCounts, counted
from tests.fakes.databases import busy, fill, note, rows
from tests.fakes.postgres import fresh
from tests.fakes.sessions import study

OLD_SEAT = (
    "CREATE TABLE seat (stream VARCHAR(36) PRIMARY KEY, study VARCHAR(60) NOT NULL, origin VARCHAR(16) NOT NULL, "
    "cell TEXT NOT NULL, until_us BIGINT NOT NULL, outcome VARCHAR(32), released_us BIGINT, due_us BIGINT)"
)
LEFT = ("begun_us", "last_us", "place", "furthest", "language", "flags", "pasted", "excluded")
FAILED = {"reason": "timeout", "cost": None, "first_token_us": None, "completion_tokens": None}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database of each kind, which the tests of it share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('seats') / 'parley.db'}"
    return fresh(request.getfixturevalue("postgres_server"), f"seats_{uuid4().hex}")


@pytest.fixture(scope="module")
def streams(url: str) -> list[str]:
    """The sessions that it holds: ended, stopped, withdrawn, excluded."""
    made = open_database(url)
    found = asyncio.run(busy(made))
    made.dispose()
    return found


@pytest.fixture
def there(url: str, streams: list[str]) -> Iterator[Database]:
    made = open_database(url)
    yield made
    made.dispose()


@pytest.mark.nightly
def test_rebuilt_seats_are_the_live_ones(there: Database, streams: list[str]) -> None:
    database = there
    before = rows(database, tables.seats)
    assert rebuild(database) == 8
    assert rows(database, tables.seats) == before
    seats = {row["stream"]: row for row in before}
    assert [seats[stream]["excluded"] for stream in streams] == [None, "a friend of ours", None, None, None]
    assert [seats[stream]["pasted"] for stream in streams] == [0, 0, 0, 2, 0]
    assert seats[streams[0]]["released_us"] == 77
    assert all(row["place"] and row["furthest"] for row in before if row["outcome"] != "withdrawn")
    assert {row["place"] for row in before if row["outcome"] == "complete"} == {"finish"}


def test_an_ordinary_click_writes_no_index_of_the_seats(tmp_path: Path) -> None:
    """SQLite writes each index of which a column is named, though nothing changes in it."""
    database, told = open_database(f"sqlite:///{tmp_path / 'seats.db'}"), list[str]()
    database.dispose()
    event.listen(database, "connect", lambda connection, _: connection.set_trace_callback(told.append))
    asyncio.run(fill(database, ["demo"], 1, "1"))
    *clicks, end = [_indexes_written(database, words) for words in told if words.startswith("UPDATE seat SET")]
    clicks.remove({"ix_seat_counts", "ix_seat_ended"})  # the consent, with which a cell is given
    assert len(clicks) > 10
    assert set().union(*clicks) == {"ix_seat_ended"}  # of those that have ended alone: no page of it for a click
    assert end == {"ix_seat_counts", "ix_seat_ended"}


def _indexes_written(database: Database, update: str) -> set[str]:
    with database.connect() as connection:
        pages = dict(connection.execute(text("SELECT rootpage, name FROM sqlite_schema WHERE type = 'index'")).all())
        steps = connection.exec_driver_sql(f"EXPLAIN {update}").all()
    opened = {step.p1: pages[step.p2] for step in steps if step.opcode == "OpenWrite" and step.p2 in pages}
    return {opened[step.p1] for step in steps if step.opcode == "IdxInsert"}


def test_a_note_of_a_researcher_is_no_sign_of_life(database: Database) -> None:

    async def noted() -> None:
        clock = VirtualClock(5_000_000)
        runtime = SessionService(database, Settings(), clock)
        live = await runtime.enrol(study("demo"), origin="person", seed="1")
        clock.advance(600)
        await note(runtime, live.stream, "noted", {"text": "Is anybody there?"})
        await runtime.close()

    asyncio.run(noted())
    (seat,) = rows(database, tables.seats)
    assert (seat["begun_us"], seat["last_us"]) == (5_000_000, 5_000_000)


def test_an_erasure_leaves_nothing_of_where_somebody_was_and_what_was_odd(there: Database, streams: list[str]) -> None:
    database = there
    (gone,) = (row for row in rows(database, tables.seats) if row["stream"] == streams[4])
    (withdrew,) = (row for row in rows(database, tables.events) if row["stream"] == streams[4])
    at_us = withdrew["at_us"]
    assert {name: gone[name] for name in LEFT} == {
        **{"begun_us": at_us, "last_us": at_us, "place": "", "furthest": "", "language": "", "flags": "", "pasted": 0},
        "excluded": None,
    }
    assert (gone["outcome"], gone["until_us"], gone["due_us"]) == ("withdrawn", at_us, None)


def test_what_models_were_used_for_is_the_sum_of_the_attempts(each_database: Database) -> None:
    database = each_database
    asyncio.run(fill(database, ["demo"], 2, "1"))
    tried = rows(database, tables.attempts)
    later = {**tried[0], "number": 99, "started_us": tried[0]["started_us"] + usage.HOUR_US}
    with writer(database) as connection, connection.begin():
        for attempt in ({**later, "cost": 0.25}, {**later, **FAILED, "number": 100}):
            connection.execute(insert(tables.attempts), [attempt])
            usage.add_usage(connection, attempt)
    before = rows(database, tables.usage)
    assert sum(row["calls"] for row in before) == len(tried) + 2
    assert sum(row["failed"] for row in before) == sum(attempt["reason"] is not None for attempt in tried) + 1
    assert sum(row["cost"] for row in before) == pytest.approx(0.25 + sum(a["cost"] or 0 for a in tried))
    rebuild(database)
    for old, new in zip(before, rows(database, tables.usage), strict=True):
        assert {**new, "cost": 0} == {**old, "cost": 0}
        assert new["cost"] == pytest.approx(old["cost"])


def test_a_database_of_an_older_parley_is_rebuilt_when_told_so(url: str, there: Database) -> None:
    database = there
    before = rows(database, tables.seats), rows(database, tables.usage)
    with database.begin() as connection:
        kept = connection.execute(select(tables.seats)).all()
        tables.metadata.drop_all(connection, [tables.seats, tables.usage])
        connection.execute(text(OLD_SEAT))
        for row in kept:
            values = {"stream": row.stream, "cell": row.cell, "us": row.released_us}
            sql = "INSERT INTO seat VALUES (:stream, 'demo', 'person', :cell, 0, NULL, :us, NULL)"
            connection.execute(text(sql), values)
    database.dispose()
    with pytest.raises(StorageError, match=r"the table seat is of an older version.*parley db rebuild"):
        open_database(url)
    old = open_database(url, outdated=True)
    rebuild(old)
    old.dispose()
    again = open_database(url)
    assert (rows(again, tables.seats), rows(again, tables.usage)) == before
    again.dispose()


def test_who_began_in_another_version_counts_in_the_cell_of_the_factors_that_are_left() -> None:
    demo = study("demo")
    cells = [dict(cell.values) for cell, *_ in counted(demo, SessionCounts({}, []))]
    turned = {name: cells[0][name] for name in reversed(cells[0])}
    assert list(turned) != list(cells[0])
    now = SessionCounts({}, [(cells[0], 1, 2), (turned, 10, 20), ({**turned, "gone": "x"}, 100, 200), ({}, 1000, 2000)])
    assert [(done, live) for _, done, live in counted(demo, now)] == [(111, 222), *([(0, 0)] * (len(cells) - 1))]
