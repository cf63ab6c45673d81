"""Seats and what models were used for: rebuilt they are as they were live, in a database of any kind and age."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import insert, select, text

from storage import tables
from storage.db.engine import Database, open_database, writer
from storage.errors import StorageError
from storage.log.projections import rebuild
from storage.log.writer import HOUR_US, add_usage
from tests.fakes.databases import busy, fill, rows
from tests.fakes.postgres import fresh

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
    later = {**tried[0], "number": 99, "started_us": tried[0]["started_us"] + HOUR_US}
    with writer(database) as connection, connection.begin():
        for attempt in ({**later, "cost": 0.25}, {**later, **FAILED, "number": 100}):
            connection.execute(insert(tables.attempts), [attempt])
            add_usage(connection, attempt)
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
