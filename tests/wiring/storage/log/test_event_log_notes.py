"""Notes and exclusions beside a session at work: facts of its stream that disturb nobody, from another process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.bots.random_bot import RandomBot
from app.clock import SystemClock
from app.session.service import Sessions
from experiments.errors import NotPossible, Refused
from experiments.session.desk import MOST_CHARS, Kind
from experiments.session.engine import fold
from experiments.views.transcript import transcript_of
from storage.db.engine import Database, open_database
from storage.log.event_log import load
from storage.log.projections import differences
from storage.reports.sessions import SessionQuery, sessions
from tests.fakes import studies
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio


@dataclass
class Console:
    """Another process: a database and a log of its own."""

    database: Database
    sessions: Sessions

    async def say(self, stream: str, kind: Kind, text: str) -> None:
        await self.sessions.remark(stream, kind, text, "Ada")


class Both(Sitting):
    """A session, and a console."""

    console: Console

    @property
    def stream(self) -> str:
        return self.live.stream


@pytest.fixture
async def both(tmp_path: Path, database_url: str) -> AsyncIterator[Both]:
    both = Both(tmp_path, studies.read_yaml(studies.short(tmp_path)), database_url=database_url)
    beside = open_database(database_url)
    both.console = Console(beside, Sessions(beside, SystemClock()))
    yield await both.begin()
    await both.close()
    await both.console.sessions.close()
    beside.dispose()


def excluded(database: Database, study: str = "short") -> list[str | None]:
    """Why each session of a study is excluded, as it is listed."""
    return [entry.excluded for entry in sessions(database, study, SessionQuery(), SystemClock().now_us()).entries]


async def test_every_click_of_a_session_works_although_a_note_came_between(both: Both) -> None:
    bot, clicks = RandomBot("notes"), 0
    while (live := await both.service.get(both.stream)) and not live.screen.ended:
        kind, values = bot.act(live.screen)
        await both.console.say(both.stream, "noted", f"before click {clicks}")
        seen = live.screen
        await both.service.participant(both.stream, kind, seen.path, values, seen=seen.seen, key=f"click-{clicks}")
        await both.service.settled(both.stream)
        clicks += 1
    events = both.console.sessions.log.load(both.stream)
    assert fold(events).outcome == "complete"
    told = transcript_of(both.console.sessions.studies.get(fold(events).enrolled["hash"]), events)
    remarks = [(one.who, one.text) for visit in told.visits for one in visit.remarks]
    assert remarks == [("Ada", f"before click {number}") for number in range(clicks)]
    assert list(differences(both.console.database)) == []


async def test_notes_from_everywhere_at_once_are_all_written(both: Both) -> None:
    says = [both.console.say(both.stream, "noted", f"note {number}") for number in range(8)]
    own = [both.service.note(both.stream, {"what": f"own {number}"}) for number in range(8)]
    await asyncio.gather(*says, *own)
    events = load(both.console.database, both.stream)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(event.kind == "noted" for event in events) == 16


async def test_a_session_is_excluded_for_a_reason_and_included_again(both: Both) -> None:
    await both.console.say(both.stream, "excluded", "  a friend of mine ")
    assert excluded(both.console.database) == ["a friend of mine"]
    with pytest.raises(NotPossible):
        await both.console.say(both.stream, "excluded", "twice")
    await both.console.say(both.stream, "included", "it was another")
    assert excluded(both.console.database) == [None]
    with pytest.raises(NotPossible):
        await both.console.say(both.stream, "included", "twice")
    assert (await both.service.get(both.stream)).screen == (await both.service.reload(both.stream)).screen  # type: ignore[union-attr]


async def test_what_says_nothing_or_too_much_is_refused_and_nothing_is_written_about_who_withdrew(both: Both) -> None:
    kinds: tuple[Kind, ...] = ("noted", "excluded")
    for kind in kinds:
        for words in ("", " \n\x00", "x" * (MOST_CHARS + 1)):
            with pytest.raises(NotPossible):
                await both.console.say(both.stream, kind, words)
    assert not any(event.kind in kinds for event in load(both.console.database, both.stream))
    await both.service.participant(both.stream, "withdraw", "", {})
    with pytest.raises(Refused):
        await both.console.say(both.stream, "noted", "He rang up: Mr Miller")
    assert [event.kind for event in load(both.console.database, both.stream)] == ["withdrew"]
