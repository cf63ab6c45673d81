"""SQLite's write-ahead log is copied beside the writer: it stays short."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.events import Event
from storage.db.engine import open_database
from storage.log import event_log
from storage.log.event_log import Log
from storage.log.writer import Append

CHARS, COMMITS = 8_000, 600


def append(log: Log, stream: str, number: int) -> None:
    event = Event(number, 0, "participant", "here", "submitted", {"text": "x" * CHARS}, None)
    log.append(Append(stream, "study", (event,))).result()


def test_the_write_ahead_log_stays_short_however_much_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "CHECKPOINT_EVERY_S", 0.01)
    monkeypatch.setattr(event_log, "LONG_WAL", 50)
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    log = Log(database)
    longest = 0
    for number in range(1, COMMITS + 1):
        append(log, "s", number)
        longest = max(longest, (tmp_path / "parley.db-wal").stat().st_size)
    log.close()
    database.dispose()
    assert (tmp_path / "parley.db").stat().st_size > CHARS * COMMITS
    assert longest < CHARS * COMMITS / 2, "it was never begun anew"


def test_a_reader_who_stays_keeps_no_commit_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "CHECKPOINT_EVERY_S", 0.01)
    monkeypatch.setattr(event_log, "LONG_WAL", 1)
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    log = Log(database)
    append(log, "s", 1)
    with database.connect() as reader:
        reader.exec_driver_sql("SELECT count(*) FROM event").scalar()
        for number in range(2, 52):
            append(log, "s", number)
        assert reader.exec_driver_sql("SELECT count(*) FROM event").scalar() == 1
    log.close()
    database.dispose()
