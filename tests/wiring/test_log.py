"""The writer under stress: conflicts, what cannot be stored, and those who no longer wait harm nobody else."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from experiments.events import Event
from storage.db.engine import Database, open_database
from storage.errors import Conflict, StorageError, Unwritable
from storage.log.event_log import Log, last_seq
from storage.log.quota import StudyCounts
from storage.log.writer import Append, AppendWithCounts, ClearedDraft, DraftRow


@pytest.fixture
def log(database: Database) -> Iterator[Log]:
    log = Log(database)
    yield log
    log.close()


def fact(stream: str, seq: int, key: str | None = None, **data: object) -> Append:
    return Append(stream, "study", (Event(seq, 0, "participant", "", "said", data, key),))


def test_of_two_writers_of_one_number_one_wins(log: Log) -> None:
    barrier = threading.Barrier(20)

    def write(number: int) -> BaseException | None:
        barrier.wait()
        return log.append(fact("s", 1, writer=number)).exception(60)

    with ThreadPoolExecutor(20) as threads:
        outcomes = list(threads.map(write, range(20)))
    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 19
    assert len(log.load("s")) == 1


def test_the_same_key_twice_is_a_conflict_and_no_second_fact(log: Log) -> None:
    log.append(fact("s", 1, "key")).result(60)
    assert isinstance(log.append(fact("s", 2, "key")).exception(60), Conflict)
    assert [event.seq for event in log.load("s")] == [1]


def test_what_cannot_be_stored_harms_nobody_else(log: Log) -> None:
    futures = [log.append(fact("a", 1)), log.append(fact("b", 1, bad=object())), log.append(fact("c", 1))]
    assert futures[0].exception(60) is None
    assert isinstance(futures[1].exception(60), StorageError)
    assert futures[2].exception(60) is None
    assert log.load("b") == ()


def test_that_nothing_can_be_written_is_known_before_anybody_is_told(database: Database, log: Log) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql("DROP TABLE draft")
        connection.commit()
    asked, known = threading.Event(), list[str]()

    def make(_: StudyCounts) -> Append:
        assert asked.wait(60)
        return fact("s", 1)

    log.append_counted(AppendWithCounts("s", 0, make))
    draft = log.save_draft(DraftRow("s", "here", {}, 0))
    draft.add_done_callback(lambda _: known.append(log.fault))  # is called by the writer, as it is still at the first
    asked.set()
    assert isinstance(draft.exception(60), Unwritable)
    log.close()
    assert len(known) == 1
    assert "no such table" in known[0]


def test_a_draft_that_comes_after_what_was_sent_is_dropped(log: Log) -> None:
    left = Append(
        "s", "study", (Event(1, 0, "participant", "here", "submitted", {}, None),), spent=ClearedDraft("here")
    )
    log.append(left).result(60)
    log.save_draft(DraftRow("s", "here", {"text": "late"}, 0)).result(60)
    log.save_draft(DraftRow("s", "there", {"text": "in time"}, 0)).result(60)
    assert log.draft("s", "here") == {}
    assert log.draft("s", "there") == {"text": "in time"}


def test_a_database_that_is_gone_is_told_and_the_writer_lives(log: Log, database: Database) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE event RENAME TO away")
    assert isinstance(log.append(fact("s", 1)).exception(60), StorageError)
    with database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO event")
    log.append(fact("s", 1)).result(60)
    assert len(log.load("s")) == 1


def test_many_open_an_empty_database_at_once(database_url: str) -> None:
    together = threading.Barrier(8)

    def opened(_: int) -> int:
        together.wait()
        database = open_database(database_url)
        found = last_seq(database, "nobody")
        database.dispose()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(opened, range(8))) == [0] * 8


def test_whoever_opens_a_new_file_waits_for_who_is_writing_there(tmp_path: Path) -> None:
    file = tmp_path / "parley.db"
    writing = sqlite3.connect(file, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_database, f"sqlite:///{file}")
        with pytest.raises(TimeoutError):
            opening.result(0.3)
        writing.execute("COMMIT")
        opening.result().dispose()
    writing.close()
