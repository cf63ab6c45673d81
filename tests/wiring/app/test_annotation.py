"""Annotations are facts beside a session at work: they refuse no click, are written once, and fill the tables."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.bots.random_bot import RandomBot
from app.clock import SystemClock
from app.session.service import AnnotationCount, Sessions
from experiments.session.annotations import Annotation, ConversationRef
from experiments.session.engine import fold
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database, open_database
from storage.log.event_log import load
from storage.log.projections import differences, rebuild
from storage.log.seats import seat_of
from storage.reports.conversations import annotated_in, conversations
from tests.fakes import studies
from tests.fakes.clicks import finish
from tests.fakes.databases import export, read_tables
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
EFFORT = Annotation(ConversationRef(), "user_effort", "judge", {"user_effort": "tried"}, "run-1", "a" * 64)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ANSWER = {"attempted_answer": True, "answer_val": "42", "answer_letter": None}


@dataclass
class Beside:
    """Another process that annotates."""

    database: Database
    sessions: Sessions

    async def write(self, stream: str, *found: Annotation, study: str = "short") -> AnnotationCount:
        return await self.sessions.annotate(study, {stream: found})


@pytest.fixture
async def beside(database_url: str) -> AsyncIterator[Beside]:
    database = open_database(database_url)
    other = Beside(database, Sessions(database, SystemClock()))
    yield other
    await other.sessions.close()
    database.dispose()


@pytest.fixture
async def sitting(tmp_path: Path, database_url: str) -> AsyncIterator[Sitting]:
    made = Sitting(tmp_path, studies.read_yaml(studies.short(tmp_path)), database_url=database_url)
    yield await made.begin()
    await made.close()


async def finished(sitting: Sitting, beside: Beside) -> ConversationRef:
    """The conversation of a session that has come to its end."""
    await finish(sitting.service, sitting.live, RandomBot("annotated"))
    (held,) = conversations(beside.database, "short", "person")
    return held.about


def cells_of(database: Database) -> dict[str, Any]:
    with database.connect() as connection:
        columns = "user_effort, attempted_answer, answer_val, answer_letter"
        return dict(connection.execute(text(f"SELECT {columns} FROM conversations")).one()._mapping)


@on_sqlite
async def test_findings_fill_the_table_and_the_newest_counts_while_all_stay_in_the_log(
    sitting: Sitting, beside: Beside
) -> None:
    about = await finished(sitting, beside)
    effort = replace(EFFORT, about=about)
    before = seat_of(sitting.study, fold(load(beside.database, sitting.live.stream)))
    assert cells_of(beside.database) == dict.fromkeys(("user_effort", *ANSWER))
    assert await beside.write(sitting.live.stream, effort) == AnnotationCount(new=1)
    assert cells_of(beside.database)["user_effort"] == "tried"
    assert seat_of(sitting.study, fold(load(beside.database, sitting.live.stream))) == before, "it keeps nobody's place"
    other = replace(effort, model="other", values={"user_effort": "known"}, cell="b" * 64)
    answer = replace(effort, annotator="answer", values=ANSWER, cell="c" * 64)
    assert await beside.write(sitting.live.stream, other, answer) == AnnotationCount(new=2)
    assert cells_of(beside.database) == {
        "user_effort": "known",
        "attempted_answer": "true",
        "answer_val": "42",
        "answer_letter": None,
    }
    assert list(differences(beside.database)) == []
    newest = annotated_in(beside.database, "short", "user_effort")
    assert [event.data["model"] for event in newest.values()] == ["other"]
    judge = annotated_in(beside.database, "short", "user_effort", "judge")
    assert [event.data["values"] for event in judge.values()] == [{"user_effort": "tried"}]


async def test_a_finding_is_written_once_however_often_and_by_however_many(sitting: Sitting, beside: Beside) -> None:
    effort = replace(EFFORT, about=await finished(sitting, beside))
    others = [replace(effort, cell=f"{number}") for number in range(6)]
    first = await asyncio.gather(*(beside.write(sitting.live.stream, effort, one) for one in others))
    assert sum(done.new for done in first) >= 7
    assert await beside.write(sitting.live.stream, effort, *others) == AnnotationCount(known=7)
    again = await beside.write(sitting.live.stream, replace(effort, run="run-2"))
    assert again == AnnotationCount(known=1), "another run found the same"
    facts = [event for event in load(beside.database, sitting.live.stream) if event.kind == "annotated"]
    assert len({event.key for event in facts}) == len(facts) == 7


@on_sqlite
async def test_nothing_is_written_about_who_withdrew(sitting: Sitting, beside: Beside) -> None:
    about = await finished(sitting, beside)
    await sitting.service.participant(sitting.live.stream, "withdraw", "", {})
    assert await beside.write(sitting.live.stream, replace(EFFORT, about=about)) == AnnotationCount(gone=1)
    assert [event.kind for event in load(beside.database, sitting.live.stream)] == ["withdrew"]
    assert list(conversations(beside.database, "short", "person")) == []


TALK = [{"role": "You", "content": "What is 6 x 7?"}, {"role": "Bot", "content": "42"}]
ROW: dict[str, Any] = {
    "worker_id": "a1B2c3D4e5",
    "model": "gpt-4o",
    "condition": "direct-to-AI",
    "subject": "math",
    "batch": 1,
    "phase": 2,
    "position": 4,
    "answer_type": "user-AI",
    "dataset": "elementary_mathematics",
    "question_id": "elementary_mathematics-redux-1",
    "confidence": None,
    "selected_answer": "B",
    "acc": 1,
    "chat_history": TALK,
}
LABELS: dict[str, Any] = {"user_effort": "", "attempted_answer": None, "answer_val": "", "answer_letter": None}
QUESTIONS = (
    "question_id,dataset,question,option_A,option_B,option_C,option_D,answer,question_formatted,option_A_formatted,"
    "option_B_formatted,option_C_formatted,option_D_formatted\n"
    "elementary_mathematics-redux-1,elementary_mathematics,6 x 7?,41,42,43,44,B,,,,,\n"
)


def release(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "full_study").mkdir(parents=True)
    (folder / "full_study" / "conversations.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    return folder


def exported(database: Database, folder: Path) -> list[dict[str, Any]]:
    export(database, "imported", "chatbench", folder)
    found: list[dict[str, Any]] = json.loads((folder / "full_study" / "conversations.json").read_text("utf-8"))
    return found


@on_sqlite
async def test_imported_conversations_are_annotated_where_they_were_not(tmp_path: Path, beside: Beside) -> None:
    blank = {**ROW, **LABELS}
    partly = {**ROW, **LABELS, "position": 5, "user_effort": "known", "answer_val": "released"}
    files = release(tmp_path / "in", [blank, partly])
    import_files(beside.database, "chatbench", [files], "imported")
    held = list(conversations(beside.database, "imported", "import"))
    assert [(one.question.text, one.question.options["B"], one.question.right) for one in held] == [
        ("6 x 7?", "42", "B")
    ] * 2
    assert [message.text for message in held[0].said] == ["What is 6 x 7?", "42"]
    found = [replace(EFFORT, about=one.about) for one in held]
    found += [replace(EFFORT, about=one.about, annotator="answer", values=ANSWER, cell="c") for one in held]
    assert await beside.write(held[0].stream, *found, study="imported") == AnnotationCount(new=4)
    assert await beside.write(held[0].stream, *found, study="imported") == AnnotationCount(known=4)
    first, second = exported(beside.database, tmp_path / "out")
    assert first == {**ROW, "user_effort": "tried", **ANSWER}
    assert second == partly, "what was released is never replaced, nor mixed with what we found"
    before = read_tables(beside.database)
    rebuild(beside.database)
    assert read_tables(beside.database) == before
    assert list(differences(beside.database)) == []
