"""Logs: one line a record, in either format, and nothing in them of what people say or who they are."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from app.cli.logging_setup import LineFormatter, is_worth_a_line
from storage.db.engine import open_database, writer
from storage.errors import StorageError
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import serve
from tests.fakes.postgres import fresh
from tests.fakes.served import SECRET, Process

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
SAID, PERSON, KEY = "zq_said_qz", "zq_person_qz", "zq_key_qz"


def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    raised = None
    if error is not None:
        try:
            raise error
        except BaseException as caught:
            raised = (type(caught), caught, caught.__traceback__)
    return logging.LogRecord("app.web", logging.ERROR, "x.py", 1, message, (), raised)


MOST_BYTES = 16_000
FORGED = "\n2026-01-01T00:00:00 CRITICAL app: forged"
# What somebody may send as a field, a path, a name, or a model's server as an error.
HUGE = {
    "long": "a" * 100_000,
    "lines": FORGED * 3_000,
    "quotes": '"' * 100_000,
    "emoji": "\U0001f600" * 100_000,
    "controls": "\x1b[2J\x00\x85\u2028" * 30_000,
    "surrogates": "\ud800" * 100_000,
}


@given(st.text())
def test_a_record_is_one_line(message: str) -> None:
    for form in (LineFormatter(as_json=True), LineFormatter(as_json=False)):
        told = form.format(record(message, StorageError(message)))
        assert len(told.splitlines()) == 1
        assert told.isprintable() or not {"\x1b", "\r", "\0"} & {*told}
    assert (
        json.loads(LineFormatter(as_json=True).format(record("it failed", StorageError(message))))["message"]
        == "it failed"
    )


def test_a_request_that_the_end_of_its_server_meets_is_no_error() -> None:
    assert not is_worth_a_line(record("Exception in ASGI application", asyncio.CancelledError()))
    assert is_worth_a_line(record("Exception in ASGI application", OSError()))
    assert is_worth_a_line(record("Stopping"))


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("kind", HUGE)
def test_a_line_is_short_whatever_is_in_it(as_json: bool, kind: str) -> None:
    given = record(HUGE[kind], StorageError(HUGE[kind]))
    given.name = HUGE[kind]
    told = LineFormatter(as_json=as_json).format(given)
    assert len(told.splitlines()) == 1
    assert len(told.encode()) < MOST_BYTES
    where = json.loads(told)["raised"] if as_json else told
    assert where.endswith(" record"), "it still says where it was raised"


FLOOD = """
import logging
from app.cli.logging_setup import FLOODED, set_up
from app.config.settings import Settings

set_up(Settings(_env_file=None))
set_up(Settings(_env_file=None))
for number in range(1_000):
    for name in FLOODED:
        logging.getLogger(name).info("refused: %d", number)
        logging.getLogger(name).warning("Invalid HTTP request received.")
    logging.getLogger("app.alerts").warning("sent: %d", number)
logging.getLogger("uvicorn.error").error("failed")
logging.getLogger("uvicorn.error").error("failed")
"""


def test_what_anybody_can_cause_is_a_line_a_minute() -> None:
    done = subprocess.run([sys.executable, "-c", FLOOD], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    kinds = Counter(line.split()[-2 if "sent" in line else -1] for line in done.stderr.splitlines())
    assert kinds["received."] == kinds["0"] == 1, "whichever logger it is"
    assert (kinds["sent:"], kinds["failed"]) == (1_000, 2)


@pytest.mark.parametrize("command", ["serve", "console"])
def test_no_line_of_a_start_shows_the_databases_password(postgres_server: str, tmp_path: Path, command: str) -> None:
    url = fresh(postgres_server, f"parley_{uuid4().hex}").replace("postgres:@", f"postgres:{KEY}@")
    process = Process(tmp_path, (), env={"PARLEY_DATABASE_URL": url}, command=command)
    process.start()
    process.stop()
    assert "data: postgresql+psycopg://postgres:***@" in process.log
    assert KEY not in process.log


async def fail(bot: HttpBot, url: str) -> None:
    """A model that refuses with the whole request in its message, and a database that has lost its log."""
    await bot.arrive("talk", f"?PROLIFIC_PID={PERSON}&STUDY_ID=a&SESSION_ID=b")
    await bot.until(path="with_ai")
    said = {"text": f"What is {SAID}?"}
    await bot.do("say", said)
    while bot.screen.panel.chat and not bot.screen.panel.chat.failed:
        await bot.look()
    database = open_database(url)
    with writer(database) as connection, connection.begin():
        connection.execute(text("ALTER TABLE event RENAME TO elsewhere"))
    database.dispose()
    for act in (bot.intend("retry", {}), bot.intend("submit", {"answer": "A", "comment": SAID})):
        await bot.send("POST", "/api/act", act.body)
    await bot.send("GET", f"/walk/{SAID}")


@pytest.mark.parametrize(
    ("format_", "database_url"), [("text", "sqlite"), ("json", "postgresql")], indirect=["database_url"]
)
async def test_nothing_that_people_say_or_are_is_logged_whatever_fails(
    format_: str, database_url: str, tmp_path: Path
) -> None:
    study = studies.chat(tmp_path, backend="openai", model="fault:401-quote", options={})
    with serve() as models:
        env = {"DATABASE_URL": database_url, "LOG_FORMAT": format_, "LOG_LEVEL": "INFO"}
        env |= {"OPENAI_BASE_URL": models.base_url, "OPENAI_API_KEY": KEY}
        process = Process(tmp_path, (study,), env={f"PARLEY_{name}": value for name, value in env.items()})
        await asyncio.to_thread(process.start)
        try:
            async with HttpBot(process.url, "one", canary=SAID) as bot:
                await fail(bot, database_url)
        finally:
            await asyncio.to_thread(process.stop)
    logged = process.log
    assert "no reply from only at" in logged
    assert "POST /api/act, session " in logged
    assert [word for word in (SAID, PERSON, SECRET, KEY) if word in logged] == []
    assert "\n  File" not in logged
    if format_ == "json":
        lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
        assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
        assert any("no reply from only at" in line["message"] for line in lines)
