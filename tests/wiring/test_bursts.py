"""Fifty people who come at the same moment, again and again, to four arms with a quota: each arm gets as many as the
others, and none more than its own; with a third of them leaving, every place is filled again. Two servers give
them out.

With --soak: 100 bursts on each kind of database.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from experiments.errors import Refused
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from storage.log.quota import item_counts
from storage.registers.studies import Studies
from storage.reports.reproducibility import recompute_draws
from tests.fakes import studies
from tests.fakes.clicks import finish
from tests.fakes.let_go import let_go
from tests.wiring.reading import tally_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
ARMS, PEOPLE, QUOTA, PROCESSES = 4, 50, 10, 2
LEASE_S = 600
LEAVES = 0.3


class Place:
    """A study of four arms, ten places each, that several processes give out."""

    def __init__(self, database: Database, study: Study, settings: Settings) -> None:
        self.database, self.study = database, study
        self.clock = VirtualClock(START_US)
        url = settings.database_url
        self.others = [open_database(url) for _ in range(PROCESSES)]
        self.runtimes = [SessionService(other, settings, self.clock) for other in self.others]

    async def burst(self, people: int = PEOPLE) -> list[LoadedSession]:
        """All come and consent at once; those who got a place."""
        told = await asyncio.gather(*map(self._come, range(people)), return_exceptions=True)
        for refused in told:
            assert isinstance(refused, (LoadedSession, Refused)), refused
        return [live for live in told if isinstance(live, LoadedSession)]

    async def _come(self, number: int) -> LoadedSession:
        runtime = self.runtimes[number % PROCESSES]
        live = await runtime.enrol(self.study, origin="person")
        seen = live.screen
        return await runtime.participant(live.stream, "submit", seen.path, {"agreed": "on"}, seen=seen.seen)

    async def stay_or_leave(self, lives: list[LoadedSession], chance: random.Random) -> None:
        for number, live in enumerate(lives):
            runtime = self.runtimes[number % PROCESSES]
            if chance.random() >= LEAVES:
                await finish(runtime, live, RandomBot(live.stream))
            elif chance.random() < 0.5:
                await runtime.participant(live.stream, "withdraw", "", {}, seen=0)

    def taken(self) -> list[int]:
        found = tally_of(self.database, self.study.name, "person", self.clock.now_us(), LEASE_S).cells
        return [done + live for values, done, live in found if values]

    async def close(self) -> None:
        for runtime in self.runtimes:
            await runtime.close()
        for other in self.others:
            let_go(other)


async def place(folder: Path, database: Database, number: int, **keys: Any) -> Place:
    raw: dict[str, Any] = {
        "study": f"arms{number}",
        "title": "Arms",
        "factors": {"arm": ["a", "b", "c", "d"]},
        "quotas": [{"max": ARMS * QUOTA}],
        "session_limits": {"hold_place_s": LEASE_S},
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            {"step": "info", "text": "Thank you."},
            {"step": "finish"},
        ],
        **keys,
    }
    study = load_study(str(studies.write(folder, raw)))
    Studies(database).register(study)
    url = database.url.render_as_string(hide_password=False)
    return Place(database, study, Settings(_env_file=None, database_url=url))


async def test_fifty_at_once_are_spread_evenly_and_no_quota_is_overrun(
    tmp_path: Path, each_database: Database, soak: bool
) -> None:
    for number in range(100 if soak else 1):
        arms = await place(tmp_path, each_database, number)
        few = await arms.burst(19 + number % 7)
        counted = Counter(live.state.factors["arm"] for live in few).values()
        assert max(counted) - min(counted) <= 1, "a burst that does not fill the study is spread to one"
        came = [*few, *await arms.burst()]
        assert len(came) == ARMS * QUOTA
        assert Counter(live.state.factors["arm"] for live in came) == dict.fromkeys("abcd", QUOTA)
        assert await arms.burst(4) == [], "who comes later finds no place"
        await arms.close()


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_places_of_those_who_left_are_all_filled_again(
    tmp_path: Path, each_database: Database, seed: int, soak: bool
) -> None:
    chance = random.Random(seed)
    for number in range(30 if soak else 1):
        arms = await place(tmp_path, each_database, number)
        await arms.stay_or_leave(await arms.burst(), chance)
        assert max(arms.taken()) <= QUOTA
        arms.clock.advance(LEASE_S + 1)
        assert sum(arms.taken()) < ARMS * QUOTA, "some have left"
        await arms.burst()
        assert arms.taken() == [QUOTA] * ARMS
        await arms.close()


async def test_problems_with_a_target_are_given_out_evenly_to_all_who_come_at_once(
    tmp_path: Path, each_database: Database
) -> None:
    items = [{"id": f"q{number}", "text": "?"} for number in range(4)]
    rate = {"each": "item", "of": "items", "take": 3, "target": 5, "flow": [{"step": "info", "text": "Read."}]}
    flow = [{"step": "consent", "text": "Do you agree?"}, rate, {"step": "finish"}]
    arms = await place(tmp_path, each_database, 0, problems={"items": {"items": items}}, flow=flow)
    assert len(await arms.burst(10)) == 10
    with each_database.connect() as connection:
        given = item_counts(connection, "arms0", "person", "item", arms.clock.now_us(), LEASE_S)
    assert sum(given.values()) == 3 * 10
    assert max(given.values()) - min(given.values()) <= 1
    assert recompute_draws(each_database, "arms0").differences == ()
    await arms.close()
