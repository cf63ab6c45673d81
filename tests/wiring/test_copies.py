"""The benches' large databases: sessions that are copied are sessions like all others."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from storage.engine import open_database
from storage.projections import rebuild
from tests.bench.copies import multiply
from tests.fakes.databases import fill, read_tables

COPIES = 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "parley.db"
    database = open_database(f"sqlite:///{path}")
    asyncio.run(fill(database, ["chatbench"], 2, "copies"))
    database.dispose()
    return path


def asked(path: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def test_copies_have_all_facts_and_the_file_has_its_indexes_and_triggers_again(path: Path) -> None:
    made = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    kinds = "SELECT kind, count(*) FROM event GROUP BY kind"
    schema, before = asked(path, made), asked(path, kinds)
    multiply(path, [stream for (stream,) in asked(path, "SELECT stream FROM session")], COPIES)
    assert asked(path, made) == schema
    assert asked(path, kinds) == [(kind, (COPIES + 1) * often) for kind, often in before]
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]
    origins = Counter(origin for (origin,) in asked(path, "SELECT origin FROM session"))
    assert origins == {"bot": 2, "person": 2 * COPIES}


def test_released_rows_of_copies_are_what_their_facts_say(path: Path) -> None:
    multiply(path, [stream for (stream,) in asked(path, "SELECT stream FROM session")], COPIES)
    database = open_database(f"sqlite:///{path}")
    before = read_tables(database)
    assert rebuild(database) == 2 * (COPIES + 1)
    assert read_tables(database) == before
    assert len(before["user_answers"]) > COPIES
    database.dispose()
