"""The released tables and the log: what differs is told, what is a fact stays, and rebuilding gives the same rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log.projections import differences, rebuild
from tests.fakes.databases import export, fill
from tests.fakes.sessions import study

ANSWERS = (
    "worker_id,model,condition,subject,batch,phase,position,answer_type,dataset,question_id,confidence,"
    "selected_answer,acc"
)


def test_people_are_exported_apart_from_bots(database: Database, tmp_path: Path) -> None:
    asyncio.run(fill(database, ["chatbench"], 2, "1"))
    assert export(database, "chatbench", "chatbench", tmp_path / "bots").sessions == 2

    async def enrol() -> None:
        runtime = SessionService(database, Settings(), VirtualClock(0))
        await runtime.enrol(study("chatbench"), origin="person")
        await runtime.close()

    asyncio.run(enrol())
    assert export(database, "chatbench", "chatbench", tmp_path / "a").origin == "person"
    assert (tmp_path / "a/full_study/user_answers.csv").read_text() == ANSWERS + "\n"
    assert export(database, "chatbench", "chatbench", tmp_path / "b", "bot").sessions == 2
    with pytest.raises(StorageError, match="Did you mean 'person'"):
        export(database, "chatbench", "chatbench", tmp_path / "c", "persn")
    with pytest.raises(StorageError, match="does not record 'mathconverse'; allowed: chatbench"):
        export(database, "chatbench", "mathconverse", tmp_path / "e")
    with pytest.raises(StorageError, match="Did you mean 'chatbench'"):
        export(database, "chatbensh", "chatbench", tmp_path / "d")


@pytest.mark.parametrize("table", ["event", "attempt"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET stream = 'x'", "DELETE FROM {}"])
def test_facts_and_attempts_are_never_changed_or_deleted(table: str, statement: str, filled: Database) -> None:
    with pytest.raises(DatabaseError, match=r"a fact is|only by an erasure"), filled.begin() as connection:
        connection.execute(text(statement.format(table)))


def test_an_erased_session_may_be_deleted_and_leaves_its_tombstone(database: Database) -> None:
    asyncio.run(fill(database, ["demo"], 2, "1"))
    with database.begin() as connection:
        stream = connection.execute(text("SELECT stream FROM session WHERE ordinal = 1")).scalar()
        erased = {"stream": stream}
        connection.execute(text("INSERT INTO erasure VALUES (:stream, 0, 'operator', 'withdrawn')"), erased)
        connection.execute(text("DELETE FROM event WHERE stream = :stream"), erased)
    with database.connect() as connection:
        assert connection.execute(text("SELECT count(DISTINCT stream) FROM event")).scalar() == 1
        assert connection.execute(text("SELECT count(*) FROM erasure")).scalar() == 1


def test_verify_says_what_differs_and_rebuild_mends_it(database: Database) -> None:
    asyncio.run(fill(database, ["demo"], 3, "1"))
    assert list(differences(database)) == []
    with database.begin() as connection:
        connection.execute(text("UPDATE user_answers SET acc = 7 WHERE position = 0 AND answer_type = 'user-AI'"))
        connection.execute(text("DELETE FROM mathconverse_interactions WHERE row_index = 1"))
        connection.execute(text("UPDATE conversations SET _session = 'nobody' WHERE rowid = 1"))
    said = list(differences(database))
    assert sum("acc is 7, the log implies" in sentence for sentence in said) == 3
    assert (
        sum(
            sentence.startswith("mathconverse_interactions") and sentence.endswith("the row is missing")
            for sentence in said
        )
        == 3
    )
    assert sum(sentence.startswith("conversations") for sentence in said) == 1
    assert rebuild(database) == 3
    assert list(differences(database)) == []
