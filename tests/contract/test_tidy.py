"""The tidy export: everything that was asked, for every study, with the keys of the released files."""

from __future__ import annotations

import asyncio
import csv
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import Sessions, SessionService
from experiments.session.conversation import messages_of
from storage import tables
from storage.datasets.exports import exporter
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.session_filter import SessionFilter
from storage.datasets.manifest import ExportManifest
from storage.datasets.tidy.columns import NAME, session_id
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.registers.participants import ParticipantId, Participants
from storage.reports.sessions import find_sessions
from tests.fakes.databases import SESSIONS, busy, export, fill
from tests.fakes.served import SECRET
from tests.fakes.sessions import NAMES, study

ROOT = Path(__file__).parents[2]
TABLES = (
    "sessions", "answers", "answers_wide", "scores", "messages", "ratings", "events", "timings", "model_calls",
    "integrity", "fidelity", "memory", "tool_calls", "rewards", "documents", "document_edits",
)  # fmt: skip
STUDIES = tuple(study(name).name for name in NAMES)
# Values in events that answer no question.
BESIDE = {"of", "passed", "tries", "check", "turn", "onward"}
Rows = list[dict[str, str]]


def read(folder: Path, table: str) -> Rows:
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def released(folder: Path, file: str) -> Rows:
    with (folder / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.fixture(scope="module")
def folders(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("tidy")
    for name in STUDIES:
        export(filled, name, NAME, folder / name)
    return {name: folder / name for name in STUDIES}


@pytest.fixture(scope="module")
def manifests(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, ExportManifest]:
    folder = tmp_path_factory.mktemp("again")
    return {name: export(filled, name, NAME, folder / name) for name in STUDIES}


def check_cells(done: ExportManifest) -> None:
    for file in done.files:
        rows = read(done.folder, file.table.name)
        assert len(rows) == file.rows
        assert len({column.name for column in file.columns}) == len(file.columns)
        for row in rows:
            for column in file.columns:
                cell = row[column.name]
                assert column.form.read(cell) is not None if cell else column.form.blank, (file.path, column.name, cell)


def sessions_of(database: Database, name: str) -> Mapping[str, tuple[Any, ...]]:
    """The events of each session of a study, by its id in the tidy export."""
    t = tables.sessions.c
    with database.connect() as connection:
        streams = connection.execute(select(t.stream).where(t.study == name).order_by(t.ordinal)).scalars().all()
        found = [facts(connection, stream) for stream in streams]
    return {session_id(events[0].data["seed"]): events for events in found}


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_every_table_and_each_cell_is_as_its_column_says(
    name: str, manifests: Mapping[str, ExportManifest]
) -> None:
    done = manifests[name]
    assert tuple(file.table.name for file in done.files) == TABLES
    check_cells(done)
    whole = {file.table.name: file.rows for file in done.files}
    assert whole["sessions"] == whole["answers_wide"] == done.sessions == SESSIONS


@pytest.mark.parametrize("name", STUDIES)
def test_everything_that_was_asked_and_said_is_there_once(
    name: str, filled: Database, folders: Mapping[str, Path]
) -> None:
    given = Counter(
        (row["session"], row["seq"]) for table in ("answers", "ratings") for row in read(folders[name], table)
    )
    said = Counter((row["session"], row["role"]) for row in read(folders[name], "messages"))
    happened = Counter(row["session"] for row in read(folders[name], "events"))
    for session, events in sessions_of(filled, name).items():
        for event in events:
            told: Mapping[str, Any] = {
                "submitted": event.data,
                "missed": event.data.get("values", {}),
                "rated": event.data,
                "voted": event.data,
            }.get(event.kind, {})
            assert given[session, str(event.seq)] == len(told.keys() - BESIDE), (event.path, event.kind, event.data)
        spoken = Counter({"said": "user", "replied": "assistant"}[event.kind] for event in messages_of(events))
        assert {role: said[session, role] for role in spoken} == spoken
        assert happened[session] == sum(event.by != "researcher" for event in events)


def test_chatbench_answers_join_with_the_released_ones(
    filled: Database, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    export(filled, "chatbench", "chatbench", tmp_path)
    ours = {
        (row["participant"], row["position"], row["step"]): (row["value"], row["correct"], row["model"], row["problem"])
        for row in read(folders["chatbench"], "answers")
        if row["question"] == "answer"
    }
    kinds = {"user-alone": "answer", "user-AI": "chat"}
    theirs = {
        (row["worker_id"], row["position"], kinds[row["answer_type"]]): (
            row["selected_answer"],
            row["acc"],
            row["model"],
            row["question_id"],
        )
        for row in released(tmp_path, "full_study/user_answers.csv")
    }
    assert theirs
    assert {key: ours[key] for key in theirs} == theirs
    assert {row["participant"] for row in read(folders["chatbench"], "sessions")} == {key[0] for key in theirs}
    talks = json.loads((tmp_path / "full_study/conversations.json").read_bytes())
    told = [m["content"] for talk in talks for m in talk["chat_history"]]
    texts = Counter(row["text"] for row in read(folders["chatbench"], "messages"))
    assert not Counter(told) - texts


def test_a_model_is_named_only_where_one_took_part_and_replies_have_the_time_of_their_first_word(
    folders: Mapping[str, Path],
) -> None:
    rows = [*read(folders["demo"], "answers"), *read(folders["chatbench"], "answers")]
    assert {row["model"] for row in rows if row["step"] == "consent"} == {""}
    assert all(row["model"] for row in rows if row["step"] == "chat")
    replies = [row for row in read(folders["demo"], "messages") if row["role"] == "assistant"]
    assert all("" < row["t_first_shown"] <= row["t_shown"] for row in replies)
    assert any(row["t_first_shown"] < row["t_shown"] for row in replies)


@pytest.mark.parametrize("name", STUDIES)
def test_the_same_again_is_the_same_to_the_byte(
    name: str, folders: Mapping[str, Path], manifests: Mapping[str, ExportManifest]
) -> None:
    one, other = folders[name], manifests[name].folder
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    assert all((one / path).read_bytes() == (other / path).read_bytes() for path in names)


def test_sessions_under_way_have_the_rows_that_they_reached(database: Database, tmp_path: Path) -> None:
    streams = asyncio.run(busy(database))
    done = export(database, "demo", NAME, tmp_path)
    check_cells(done)
    assert (done.origin, done.sessions, done.withdrawn) == ("person", 3, 1)
    sessions, timings = read(tmp_path, "sessions"), read(tmp_path, "timings")
    assert [row["outcome"] for row in sessions] == ["", "", ""]
    assert {row["hash"] for row in sessions} == {study.hash for study in done.studies}
    assert {row["session"] for row in timings} == {row["session"] for row in sessions}
    (pasted,) = [row for row in timings if (row["pasted"], row["pasted_chars"], row["left"]) == ("2", "6", "1")]
    with database.connect() as connection:
        seed = facts(connection, streams[3])[0].data["seed"]
    assert (pasted["session"], pasted["path"], pasted["step"]) == (session_id(seed), "consent", "consent")
    assert any(not row["seconds"] for row in timings)


# Whose data


def test_excluded_and_withdrawn_sessions_are_left_out(database: Database, tmp_path: Path) -> None:
    asyncio.run(fill(database, ["demo"], 4, "1"))
    seat, t = tables.seats, tables.sessions.c
    with database.begin() as connection:
        streams = connection.execute(select(t.stream).order_by(t.ordinal)).scalars().all()
        connection.execute(update(seat).where(seat.c.stream == streams[0]).values(excluded="a machine"))
    asyncio.run(_withdraw(database, streams[1]))
    done = export(database, "demo", NAME, tmp_path / "some")
    every = {row["session"] for table in TABLES for row in read(tmp_path / "some", table)}
    assert (done.sessions, len(every), done.withdrawn) == (2, 2, 1)
    request = ExportRequest("demo", NAME, selection=SessionFilter(with_excluded=True))
    exporter.export(database, request, tmp_path / "more")
    assert Counter(row["excluded"] for row in read(tmp_path / "more", "sessions")) == {"0": 2, "1": 1}
    only = ExportRequest(
        "demo", NAME, selection=SessionFilter(where=(("condition", "answer-first"),), with_excluded=True)
    )
    exporter.export(database, only, tmp_path / "one")
    assert {row["condition"] for row in read(tmp_path / "one", "sessions")} == {"answer-first"}


async def _withdraw(database: Database, stream: str) -> None:
    await Sessions(database, VirtualClock(10**16)).withdraw(stream)


def test_nothing_in_it_identifies_anybody_and_every_id_leads_back(database: Database, tmp_path: Path) -> None:
    people = Participants(database, SECRET)
    stream = asyncio.run(_begin_and_note(database, people))
    export(database, "everything", NAME, tmp_path)
    whole = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (b"5f3a0c6e-canary", b"a-seed", stream.encode(), b"She told me her name"):
        assert secret not in whole
    (row,) = read(tmp_path, "sessions")
    for called in (row["session"], row["participant"]):
        assert find_sessions(database, people, called) == (stream,)


async def _begin_and_note(database: Database, participants: Participants) -> str:
    name = str(ROOT / "tests/core/studies/everything.yaml")
    runtime = SessionService(database, Settings(), VirtualClock(0))
    runtime.studies.register(study(name))
    identity = participants.entry(study(name).name, ParticipantId("prolific", "5f3a0c6e-canary"))
    live = await runtime.enrol(study(name), origin="person", seed="a-seed", identity=identity)
    await Sessions(database, VirtualClock(10)).remark(live.stream, "noted", "She told me her name", "ada")
    await runtime.close()
    return str(live.stream)
