"""How wiring tests read a database: a session's facts, the released rows, whether all is sound."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import text

from experiments.events import Event
from storage.db.engine import Database, dumps
from storage.log.event_log import load
from storage.log.projections import rebuild
from storage.log.seats import SessionCounts, query_params
from storage.reports.monitoring.sessions import session_groups, tally
from storage.schemas.registry import schemas
from tests.fakes.databases import export
from tests.fakes.http_bot import HttpBot

# An action's kind, and the facts that it may make.
ACTS = {
    **{"submit": ("submitted", "turned"), "say": ("said",), "rate": ("rated",), "retry": ("retried",)},
    **{"allow": ("allowed",), "deny": ("denied",)},
}


def query(database: Database, sql: str, **values: Any) -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql), values)]


def facts(database: Database, stream: str) -> list[Event]:
    return list(load(database, stream))


def words(events: Iterable[Event]) -> str:
    return dumps([dict(event.data) for event in events])


def released_rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    names = [table.name for schema in schemas().values() for table in schema.tables]
    return {name: sorted(query(database, f'SELECT * FROM "{name}"'), key=repr) for name in names}


def exported(database: Database, study: str, folder: Path) -> str:
    """All files of the schemas that the study records, one after the other."""
    (document,) = query(database, "SELECT document FROM study WHERE name = :study", study=study)[0]
    records = json.loads(document)["file"].get("export_schemas", [])
    written = [export(database, study, schema, folder / schema) for schema in records]
    return "\n".join((item.folder / file.path).read_text(encoding="utf-8") for item in written for file in item.files)


def check_facts(database: Database, bot: HttpBot) -> None:
    """The facts are those of the acknowledged actions, once each and in order; each message has one reply."""
    events = facts(database, bot.stream)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    own = [event for event in events if event.by == "participant"]
    assert [event.key for event in own] == [act.key for act in bot.acts]
    for event, act in zip(own, bot.acts, strict=True):
        assert event.path == act.path
        assert event.kind in ACTS[act.kind]
    talk = Counter(event.kind for event in events)
    assert talk["said"] + talk["retried"] == talk["replied"] + talk["failed"]
    assert talk["finished"] == bot.screen.ended


def check_rows(database: Database, bot: HttpBot) -> None:
    """`user_answers` holds what the participant chose, in order; `conversations` what it said."""
    chosen = [act.values["answer"] for act in bot.acts if "answer" in act.values]
    rows = query(database, "SELECT selected_answer FROM user_answers WHERE _session = :s ORDER BY _seq", s=bot.stream)
    assert [row[0] for row in rows] == chosen
    said = [act.values["text"] for act in bot.acts if act.kind == "say" and "/with_ai" in act.path]
    talks = query(database, "SELECT chat_history FROM conversations WHERE _session = :s ORDER BY _seq", s=bot.stream)
    told = [message["content"] for (talk,) in talks for message in json.loads(talk) if message["role"] == "You"]
    assert told == said


def check_sound(database: Database) -> None:
    """SQLite finds no damage, no two facts share a number or a key, and rebuilt tables equal the live ones."""
    if database.dialect.name == "sqlite":
        assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert (
        query(database, "SELECT stream, key FROM event WHERE key IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1") == []
    )
    live = released_rows(database)
    rebuild(database)
    assert released_rows(database) == live


def tally_of(database: Database, study: str, origin: str, now_us: int, lease_s: float) -> SessionCounts:
    with database.connect() as connection:
        return tally(session_groups(connection, query_params(study, origin, now_us, lease_s)))
