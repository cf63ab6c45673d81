"""Import, validate and export as an analyst runs them: what they print, write and leave alone, and how they exit."""

from __future__ import annotations

import asyncio
import csv
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from experiments.session.seeded_random import public_id
from experiments.views.problem_history import problem_turns
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.db.engine import open_database
from storage.registers.participants import ParticipantId, Participants
from storage.schemas.registry import schema as schema_of
from tests.fakes import payees
from tests.fakes.clicks import present
from tests.fakes.commanding import parley as run
from tests.fakes.forked import Forked, command
from tests.fakes.served import SECRET
from tests.fakes.sessions import study

FILE = "mathconverse_parsed_interactions.csv"
ANSWERS = "full_study/user_answers.csv"
FILTERED = "full_study/user_answers_filtered.csv"
EXPORT = ("export", "paid", "--schema", "tidy")


def parley(folder: Path, *words: Any, code: int = 0, **settings: str) -> bytes:
    """What a command prints, where it exits with this code: on the error stream if it is an error of ours."""
    done = run(*map(str, words), folder=folder, **settings)
    assert done.returncode == code, done.stderr
    return done.stderr.encode() if code == 2 else done.printed


def dump(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = list(connection.iterdump())
    connection.close()
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_is_imported_once_and_comes_out_to_the_byte(tmp_path: Path, shared: Path) -> None:
    real = shared / "mathconverse_part.csv"
    count = len(rows(real))
    assert f"{count} rows, {count} new".encode() in parley(tmp_path, "import", "mathconverse", real)
    assert b" 0 new" in parley(tmp_path, "import", "mathconverse", real)
    told = parley(tmp_path, "export", "mathconverse", "--schema", "mathconverse", "-o", "out")
    assert f"{count} rows".encode() in told
    assert b"origin import" in told
    assert (tmp_path / "out" / FILE).read_bytes() == real.read_bytes()
    streamed = parley(tmp_path, "export", "mathconverse", "--schema", "mathconverse", "-o", "-")
    assert streamed == real.read_bytes()
    assert b"match the event log" in parley(tmp_path, "db", "verify")


def test_a_check_of_files_exits_with_0_for_a_right_file_and_1_for_a_wrong_one(tmp_path: Path, shared: Path) -> None:
    real = shared / "dices_350_rows.csv"
    parley(tmp_path, "import", "--check", "dices-350", real)
    wrong = tmp_path / "wrong.csv"
    wrong.write_bytes(real.read_bytes().replace(b"Phase3", b"Phase7", 1).replace(b",Man,", b",Mam,", 1))
    told = parley(tmp_path, "import", "--check", "dices-350", wrong, code=1).decode()
    assert all(fact in told for fact in ("wrong.csv", "(line 2)", "'phase'", "'Phase7'", "'rater_gender'", "'Mam'"))
    assert not (tmp_path / "parley.db").exists(), "a check needs no database"


def test_every_file_of_a_release_streams_and_lies_in_the_zip(tmp_path: Path) -> None:
    parley(tmp_path, "simulate", "chatbench", "-n", "2", "--seed", "1")
    parley(tmp_path, "export", "chatbench", "--schema", "chatbench", "-o", "out", "--zip")
    for name in (FILTERED, "full_study/conversations.json"):
        words = ("export", "chatbench", "--schema", "chatbench", "-o", "-", "--file", name)
        assert parley(tmp_path, *words) == (tmp_path / "out" / name).read_bytes()
    with ZipFile(tmp_path / "out.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    there = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert packed == {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in there}
    assert {ANSWERS, "README.md", "metadata.json"} <= packed.keys()
    parley(tmp_path, "import", "chatbench", "out", "--study", "copy")
    parley(tmp_path, "export", "copy", "--schema", "chatbench", "-o", "again")
    for name in (ANSWERS, FILTERED, "full_study/conversations.json", "questions.csv"):
        assert (tmp_path / "again" / name).read_bytes() == packed[name]
    said = parley(tmp_path, "export", "copy", "--schema", "chatbench", "-o", "-", "--file", "questons.csv", code=2)
    assert b"'questions.csv'" in said


@pytest.mark.nightly
def test_the_options_choose_sessions_and_what_they_leave_out_is_told(tmp_path: Path) -> None:
    parley(tmp_path, "simulate", "chatbench", "-n", "4")
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection, connection:
        connection.execute("UPDATE seat SET excluded = 'a bot' WHERE stream IN (SELECT stream FROM seat LIMIT 1)")
    words = ("export", "chatbench", "--schema", "chatbench", "-o")

    def people(folder: str, *options: str) -> tuple[int, bytes]:
        told = parley(tmp_path, *words, folder, *options)
        return len({row["worker_id"] for row in rows(tmp_path / folder / ANSWERS)}), told

    assert people("all", "--with-excluded")[0] == 4
    kept, told = people("kept")
    assert (kept, b"left out: 1 excluded by a researcher" in told) == (3, True)
    arms = [people(arm, "--where", f"condition={arm}")[0] for arm in ("answer-first", "direct-to-AI")]
    assert sum(arms) == 3
    for wrong in (("--where", "conditon=x"), ("--since", "tomorrow"), ("--language", "fr")):
        parley(tmp_path, *words, "no", *wrong, code=2)
        assert not (tmp_path / "no").exists()


PID = "5f3a0c6e9d1b2a7c-{}"
PEOPLE = ("ann", "bob", "cat", "dan", "eve")


async def take_part(url: str) -> dict[str, str]:
    """Who takes part in ChatBench; worker ids by recruiter's id. Dan fails the attention check, Eve leaves early."""
    database = open_database(url)
    people, clock = Participants(database, SECRET), VirtualClock(START_US)
    runtime, known = SessionService(database, Settings(), clock), study("chatbench")
    runtime.studies.register(known)
    workers = {}
    for name in PEOPLE:
        identity = people.entry("chatbench", ParticipantId("prolific", PID.format(name)))
        live = await runtime.enrol(known, origin="person", seed=name, identity=identity)
        workers[name] = public_id(live.state.seed, "worker_id")
        bot, acts = RandomBot(name), 25 if name == "eve" else 2_000
        while acts and not (live := await present(runtime, live.stream)).screen.ended:
            acts -= 1
            kind, values = bot.act(live.screen)
            problem = problem_turns(known, live.state)[-1].problem if problem_turns(known, live.state) else None
            if problem and problem.dataset == "attention_check" and "answer" in values:
                wrong = next(letter for letter in "ABCD" if letter != problem.answer)
                values = {**values, "answer": wrong if name == "dan" else problem.answer}
            clock.advance(bot.seconds(live.screen, values))
            known_by = {"seen": live.screen.seen, "key": f"{live.state.seq}"}
            await runtime.participant(live.stream, kind, live.screen.path, values, **known_by)
    await runtime.close()
    database.dispose()
    return workers


def test_each_step_of_the_filter_is_counted(tmp_path: Path) -> None:
    workers = asyncio.run(take_part(f"sqlite:///{tmp_path / 'parley.db'}"))
    told = parley(tmp_path, "export", "chatbench", "--schema", "chatbench", "-o", "out").decode()
    whole, filtered = rows(tmp_path / "out" / ANSWERS), rows(tmp_path / "out" / FILTERED)
    assert {row["worker_id"] for row in whole} == set(workers.values())
    own = Counter(row["worker_id"] for row in whole)
    others = Counter(row["worker_id"] for row in whole if row["dataset"] != "attention_check")

    def of(*names: str) -> str:
        return f"{len(names)} participants, {sum(others[workers[name]] for name in names)} answers"

    for step in (
        f"answered a question: 5 participants, {sum(own.values())} answers",
        f"without the attention check: {of(*PEOPLE)}",
        f"completed the study: {of('ann', 'bob', 'cat', 'dan')}",
        f"passed every attention check: {of('ann', 'bob', 'cat')}",
        f"the first assignment only: {of('ann', 'bob', 'cat')}",
    ):
        assert step in told
    stay = [workers[name] for name in ("ann", "bob", "cat")]
    assert filtered == [row for row in whole if row["worker_id"] in stay and row["dataset"] != "attention_check"]
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) > 3
    assert not any(PID.format("").encode() in content for content in written)


def test_an_import_that_is_interrupted_leaves_nothing_behind(tmp_path: Path, shared: Path) -> None:
    parley(tmp_path, "import", "mathconverse", shared / "mathconverse_part.csv")
    database, big = tmp_path / "parley.db", tmp_path / "user_answers.csv"
    before = dump(database)
    header = ",".join(schema_of("chatbench").tables[0].header)
    row = "w{},gpt-4o,answer-first,math,3,2,4,user-AI,d,d-redux-{},very-confident,A,1"
    big.write_text("\n".join([header, *(row.format(n // 22, n) for n in range(50_000))]) + "\n")
    words, env = ("import", "chatbench", str(big)), {"PARLEY_DATABASE_URL": f"sqlite:///{database}"}
    written = database.with_name("parley.db-wal")
    there = written.stat().st_size if written.exists() else 0
    importing = Forked(command, *words, folder=tmp_path, out=tmp_path / "said.txt", env=env)
    deadline = time.monotonic() + 60
    while not (written.exists() and written.stat().st_size > there + 400_000):
        assert importing.alive, "it was done before it was interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    importing.tell(signal.SIGINT)
    assert importing.wait() == 130
    assert "Traceback" not in importing.said()
    assert dump(database) == before
    assert b"match the event log" in parley(tmp_path, "db", "verify")


def test_recruiters_ids_are_in_a_file_of_their_own_and_it_is_recorded(tmp_path: Path) -> None:
    asyncio.run(
        payees.take_part(
            tmp_path,
            payees.Somebody("prolific", payees.pid(1), 4),
            payees.Somebody("prolific", payees.pid(2), 1),
            payees.Somebody("open", ""),
        )
    )
    told = parley(tmp_path, *EXPORT, "-o", "out", "--recruiter-ids", "ids.csv", PARLEY_SECRET=SECRET)
    assert b"2 recruiter IDs" in told
    found = rows(tmp_path / "ids.csv")
    assert sorted((row["recruiter"], row["id"]) for row in found) == [
        ("prolific", payees.pid(1)),
        ("prolific", payees.pid(2)),
    ]
    sessions = rows(tmp_path / "out/sessions.csv")
    keys = {(row["participant"], row["session"]) for row in sessions}
    assert {(row["participant"], row["session"]) for row in found} < keys
    whole = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert payees.pid(1).encode() not in whole
    deeds = AuditLog(open_database(f"sqlite:///{tmp_path}/parley.db"), lambda: 0).read()
    assert (TERMINAL, "exported recruiter IDs", "paid") in [(deed.who, deed.what, deed.about) for deed in deeds]
    assert (tmp_path / "ids.csv").stat().st_mode & 0o077 == 0


def test_recruiters_ids_are_never_written_into_an_export(tmp_path: Path) -> None:
    asyncio.run(payees.take_part(tmp_path, payees.Somebody("prolific", payees.pid(1), 4)))
    parley(tmp_path, *EXPORT, "-o", "before")
    for place in ("out/ids.csv", "out/data/ids.csv", "before/ids.csv"):
        parley(tmp_path, *EXPORT, "-o", "out", "--recruiter-ids", place, code=2)
        assert not (tmp_path / place).exists()
    parley(tmp_path, *EXPORT, "-o", "-", "--recruiter-ids", "ids.csv", code=2)
    assert not (tmp_path / "ids.csv").exists()
    assert not AuditLog(open_database(f"sqlite:///{tmp_path}/parley.db"), lambda: 0).read()
