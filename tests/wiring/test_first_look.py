"""Who has just begun is shown the first screen without a look at the database, where no other process serves people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.counting import Live
from app.kept import NEW_US
from app.library import load_study
from app.runtime import Runtime
from experiments.core.resolve import Study
from storage.engine import Database
from storage.log import Log
from tests.fakes import studies
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio


class Watched(Log):
    """A log that counts who looks."""

    looks = 0

    def glance(self, stream: str, path: str) -> tuple[int, dict[str, Any]]:
        self.looks += 1
        return super().glance(stream, path)


class Place:
    """A server over a database of which others may have a server too."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.log = Watched(database)
        self.clock = VirtualClock(START_US)
        self.runtime = Runtime(database, settings_for(folder), self.clock, self.log)

    async def begins(self, study: Study) -> Live:
        self.runtime.prepare(study)
        return await self.runtime.enrol(study, origin="person")

    async def sees(self, live: Live) -> tuple[int, str, Mapping[str, Any] | None]:
        """How often the database was looked at for it, where the session is, and what is typed there."""
        before = self.log.looks
        found, typed = await self.runtime.glance(live.stream)
        assert found is not None
        return self.log.looks - before, found.screen.path, typed


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(str(studies.chat(tmp_path)))


@pytest.fixture
async def place(tmp_path: Path, database: Database) -> AsyncIterator[Place]:
    here = Place(tmp_path, database)
    yield here
    await here.runtime.close()


async def test_the_first_look_asks_nothing_and_the_next_hears_what_is_typed(place: Place, study: Study) -> None:
    live = await place.begins(study)
    assert await place.sees(live) == (0, "consent", {})
    await place.runtime.save_draft(live.stream, "consent", {"agreed": "on"})
    assert await place.sees(live) == (1, "consent", {"agreed": "on"})


async def test_a_first_look_that_comes_late_asks(place: Place, study: Study) -> None:
    live = await place.begins(study)
    place.clock.advance(NEW_US / 1e6)
    assert await place.sees(live) == (1, "consent", {})


async def test_where_others_serve_people_too_the_first_look_asks(
    study: Study, tmp_path: Path, each_database: Database
) -> None:
    here, other = Place(tmp_path, each_database), Place(tmp_path, each_database)
    alone = each_database.dialect.name == "sqlite"
    live = await here.begins(study)
    if not alone:
        known = await other.runtime.live(live.stream)
        assert known is not None
        await other.runtime.participant(live.stream, "submit", "consent", {"agreed": "on"}, seen=known.screen.seen)
    looks, path, _ = await here.sees(live)
    assert (looks == 0, path == "consent") == (alone, alone)
    await here.runtime.close()
    await other.runtime.close()
