"""Who has withdrawn: nothing more is written about them, whatever a second tab, process or researcher does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from storage.db.engine import open_database
from storage.log.event_log import load
from tests.fakes import life
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio


class Two:
    """Two processes over one database, and somebody whom both know as they were after the consent."""

    def __init__(self, folder: Path, url: str) -> None:
        self.database, self.clock = open_database(url), VirtualClock(10**15)
        self.study = life.study(folder, "resume")
        self.first, self.second = (SessionService(self.database, settings_for(folder), self.clock) for _ in range(2))
        self.first.prepare(self.study)
        self.live: LoadedSession

    async def begin(self) -> None:
        """They come, and agree."""
        self.live = await self.first.enrol(self.study, origin="person")
        self.live = await self.act(self.first, "submit", agreed="on")
        assert await self.second.get(self.live.stream) == self.live

    async def act(self, runtime: SessionService, kind: str, key: str | None = None, **values: str) -> LoadedSession:
        """A click on the screen that was seen last, served by one of the two."""
        seen = self.live.screen
        return await runtime.participant(self.live.stream, kind, seen.path, values, seen=seen.seen, key=key)

    def kinds(self) -> list[str]:
        """What the log holds."""
        return [event.kind for event in load(self.database, self.live.stream)]


@pytest.fixture
async def two(tmp_path: Path, database_url: str) -> AsyncIterator[Two]:
    two = Two(tmp_path, database_url)
    await two.begin()
    yield two
    await two.first.close()
    await two.second.close()
    two.database.dispose()


async def test_an_old_process_writes_nothing_where_the_numbers_are_free_again(two: Two) -> None:
    await two.first.note(two.live.stream, {"text": "one more fact"})
    await two.act(two.first, "withdraw")
    with pytest.raises(Refused):
        await two.act(two.second, "submit", adult="yes")
    assert two.kinds() == ["withdrew"]


async def test_an_old_process_withdraws_what_is_there_and_not_what_it_knew(two: Two) -> None:
    await two.act(two.first, "submit", adult="no")
    await two.act(two.second, "withdraw")
    (fact,) = load(two.database, two.live.stream)
    assert (fact.kind, fact.data["was"]) == ("withdrew", "screened_out")


async def test_withdrawing_with_one_click_that_comes_twice_is_no_fault(two: Two) -> None:
    for runtime in (two.first, two.first, two.second):
        after = await two.act(runtime, "withdraw", key="click-0001")
        assert after.state.outcome == "withdrawn"
    with pytest.raises(Refused):
        await two.act(two.first, "withdraw", key="click-0002")
    assert two.kinds() == ["withdrew"]
