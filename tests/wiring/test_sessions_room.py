"""The console's room of sessions: what is listed and told, who may do what there, and texts that want to do harm."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.studies.loader import load_study
from app.use_cases.sessions import DONE
from storage.db.engine import Database
from storage.log.event_log import load
from storage.registers.participants import ParticipantId, Participants
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.hostile import LIGHT
from tests.fakes.hostile.bombs import BOMBS, MESSAGE
from tests.fakes.researcher import Researcher, value, visible
from tests.fakes.served import SECRET
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
PID = "5f3c9a-the-recruiters-id"
WORD = "a word of Bob's own"
Console = tuple[Room, Researcher]


async def _somebody(folder: Path, database: Database, said: str = WORD, id_: str = PID) -> None:
    """A participant with a recruiter's id, who wrote something and asked a model."""
    identity = Participants(database, SECRET).entry("short", ParticipantId("prolific", id_))
    async with Sitting(folder, load_study(str(studies.short(folder)))) as one:
        await one.begin("", identity=identity)
        while "say" not in one.live.screen.actions:
            fields = one.live.screen.panel.fields
            first = {field.name: next(iter(field.options)) for field in fields if hasattr(field, "options")}
            await one.click(**(first | {"agreed": "on", "comment": said, "used": ["Pen"]}))
        await one.click("say", text=said)


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    await _somebody(tmp_path, database)
    async with console(tmp_path, database) as made:
        yield made


async def test_an_analyst_notes_and_excludes_and_it_is_written_down(at: Console, database: Database) -> None:
    room, researcher = at
    room.as_("analyst", "Eve")
    await researcher.open(study="short", tab="sessions", session="1")
    here = {"study": "short", "session": "1"}
    found = await researcher.on("session-exclude", "click", **here, **{"session-said": " "})
    assert "give a reason" in value(found["session-refused"])
    found = await researcher.on("session-note", "click", **here, **{"session-said": "rang <b>up</b>"})
    assert value(found["session-refused"]) == ""
    assert "rang &lt;b&gt;up&lt;/b&gt;" in value(found["session-story"])
    found = await researcher.on("session-exclude", "click", **here, **{"session-said": "a friend"})
    assert "a friend" in value(found["session-head"])
    assert '<tr class="excluded">' in value(found["sessions-list"])
    found = await researcher.on("session-include", "click", **here, **{"session-said": "no friend"})
    assert "Excluded:" not in value(found["session-head"])
    (stream,) = _streams(database)
    told = [(event.kind, event.data["who"]) for event in load(database, stream) if event.by == "researcher"]
    assert told == [("noted", "Eve"), ("excluded", "Eve"), ("included", "Eve")]
    assert [what for _, what, _ in room.did] == [DONE[kind] for kind, _ in told]


def _streams(database: Database) -> list[str]:
    with database.connect() as connection:
        return list(connection.exec_driver_sql("SELECT stream FROM session WHERE study = 'short'").scalars())


async def test_the_desk_answers_gives_time_and_ends_a_session(at: Console, database: Database) -> None:
    room, researcher = at
    room.as_("analyst", "Eve")
    shown = await researcher.open(study="short", tab="sessions", session="1")
    assert [visible(shown[f"session-{name}"]) for name in ("answer", "desk")] == [False, True]  # the study has no help
    here = {"study": "short", "session": "1"}
    unlimited = await researcher.on("session-give", "click", **here, **{"session-minutes": "5"})
    assert "bad" in value(unlimited["session-refused"])
    found = await researcher.on("session-end", "click", **here, **{"session-outcome": "technical_failure"})
    assert not visible(found["session-desk"])
    (stream,) = _streams(database)
    last = load(database, stream)[-1]
    assert (last.kind, last.by, last.data["outcome"]) == ("finished", "researcher", "technical_failure")
    assert room.did[-1][1] == DONE["finished"]


PAYLOADS = tuple(one.text for one in LIGHT[::20])
HARM = re.compile(
    r"<(script|img|svg|iframe|object|embed|form)\b|\son\w+\s*=|javascript:\w+\(.*?\)\s*[\"']", re.IGNORECASE
)
HEAVY = ("emphasis", "brackets", "open formulas", "roots, bare", "quotes", "word")


async def test_a_hostile_text_is_only_text_in_the_researchers_tab(tmp_path: Path, database: Database) -> None:
    for number, payload in enumerate(PAYLOADS):
        await _somebody(tmp_path, database, payload, f"{number}")
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions")
        for number in range(1, len(PAYLOADS) + 1):
            shown = await researcher.enter("sessions", study="short", session=f"{number}")
            for name in ("session-head", "session-story", "sessions-list"):
                assert not HARM.search(_tags(value(shown[name]))), (name, PAYLOADS[number - 1])
            (document,) = re.findall(r'srcdoc="([^"]*)"', value(shown["session-page"]))
            assert not HARM.search(_tags(html.unescape(document)).replace("<form", "")), PAYLOADS[number - 1]


def _tags(page: str) -> str:
    """Its tags alone: what a browser would make elements of."""
    return " ".join(re.findall(r"<[a-zA-Z/][^>]*>", page))


async def test_a_text_that_is_heavy_to_render_is_shown_as_typed(tmp_path: Path, database: Database) -> None:
    for bomb in (one for one in BOMBS if one.name in HEAVY):
        await _somebody(tmp_path, database, bomb.text[:MESSAGE], bomb.name)
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions")
        for number, name in enumerate(HEAVY, 1):
            shown = await researcher.enter("sessions", study="short", session=f"{number}")
            for part in ("session-story", "session-page"):
                told = html.unescape(value(shown[part]))
                assert len(told) < 100_000, (name, part)
                assert told.count("<") < 2_000, (name, part)
                assert told.count("<msqrt") <= 40, (name, part)
