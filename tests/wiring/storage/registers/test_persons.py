"""One person over several waves: one session a wave, the same factors, and an erasure of all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, select

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.extensions.analysis.reads.study_data import flow
from app.session.transitions import LoadedSession
from app.use_cases.sessions import add_remark, withdraw
from experiments.errors import NotPossible, Refused
from experiments.events import HELPED, Action
from storage import tables
from storage.errors import Conflict
from storage.log.event_log import load
from storage.log.seats import counts
from storage.payments.retention import retention_plan
from storage.registers.participants import Participants
from storage.registers.persons import Person, people, person_of
from storage.registers.study_status import set_status
from storage.reports.person import sessions_to_erase
from storage.reports.reproducibility import recompute_draws
from tests.fakes.clicks import finish
from tests.fakes.one_database import one_database
from tests.fakes.served import SECRET
from tests.fakes.sitting import Sitting
from tests.fakes.waves import study, us

pytestmark = pytest.mark.anyio
FIRST, OPEN = us("2027-03-21 20:00"), us("2027-03-28 09:00")


class Weeks(Sitting):
    clock: VirtualClock

    def __init__(self, url: str, **keys: Any) -> None:
        super().__init__(Path(), study(help="We answer soon.", **keys), VirtualClock(FIRST), database_url=url)

    async def first(self) -> Person:
        return self.person(await self.end(await self.service.enrol(self.study, origin="person", zone="Europe/Berlin")))

    async def end(self, session: LoadedSession) -> LoadedSession:
        return await finish(self.service, session, RandomBot("1"))

    def person(self, session: LoadedSession) -> Person:
        found = person_of(self.database, session.stream)
        assert found is not None
        return found

    def rows(self, table: Table) -> list[Any]:
        with self.database.connect() as connection:
            return [dict(row) for row in connection.execute(select(table)).mappings()]


@pytest.fixture
async def weeks(database_url: str) -> AsyncIterator[Weeks]:
    found = Weeks(database_url, quotas=[{"max": 1}])
    yield found
    await found.close()


@one_database
async def test_a_wave_opens_at_its_time_and_starts_once(weeks: Weeks) -> None:
    person = await weeks.first()
    weeks.clock.set(OPEN - 1)
    with pytest.raises(Refused, match="not open"):
        await weeks.service.begin_wave(person)
    weeks.clock.set(OPEN)
    started = await asyncio.gather(*(weeks.service.begin_wave(person) for _ in range(3)), return_exceptions=True)
    (second,) = [one for one in started if isinstance(one, LoadedSession)]
    assert [type(one) for one in started].count(Conflict) == 2
    first = await weeks.service.get(person.streams["week-1"])
    assert first is not None
    assert {**second.state.factors, "mood": None} == {**first.state.factors, "mood": None}
    assert second.screen.path == "week-2/info"
    enrolled = second.state.enrolled
    assert (enrolled["person"], enrolled["zone"]) == (person.id, "Europe/Berlin")
    assert enrolled["until_us"] == us("2027-03-30 21:00")
    assert [(found.id, [*found.streams]) for found in people(weeks.database, "weeks", "person")] == [
        (person.id, ["week-1", "week-2"])
    ]
    await weeks.end(second)
    assert [(seat["outcome"], seat["placed"]) for seat in weeks.rows(tables.seats)] == [
        ("complete", True),
        ("complete", False),
    ]
    with weeks.database.connect() as connection:
        assert [number for _, number in counts(connection, "weeks", "person", OPEN, 7200)] == [1]
    assert not recompute_draws(weeks.database, "weeks").differences


@one_database
@pytest.mark.parametrize("asked", [True, False])
async def test_an_answer_reaches_who_has_gone_on_if_they_asked(weeks: Weeks, asked: bool) -> None:
    begun = await weeks.service.enrol(weeks.study, origin="person", zone="Europe/Berlin")
    if asked:
        action = Action("ask_for_help", begun.screen.path, {"help": "Where?"}, FIRST, seen=0, key=None)
        begun = await weeks.service.act(begun.stream, action)
    person = weeks.person(await weeks.end(begun))
    weeks.clock.set(OPEN)
    second = await weeks.service.begin_wave(person)
    answering = add_remark(weeks.service, weeks.database, person.first, "helped", "It is open.", "ada")
    if not asked:
        with pytest.raises(NotPossible):
            await answering
        return
    done = await answering
    assert done == (person.first, second.stream)
    for stream in done:
        assert [event.data["text"] for event in load(weeks.database, stream) if event.kind == "helped"] == [
            "It is open."
        ]
    found = [row["flags"] for row in weeks.rows(tables.seats)]
    assert [HELPED in one for one in found] == [True, False], "who asked nothing in a session has no flag there"


@one_database
async def test_a_wave_that_nobody_finishes_ends_with_its_grace(weeks: Weeks) -> None:
    person = await weeks.first()
    weeks.clock.set(OPEN)
    second = await weeks.service.begin_wave(person)
    weeks.clock.set(us("2027-03-30 20:59"))
    assert not (await weeks.service.get(second.stream) or second).state.outcome
    weeks.clock.set(us("2027-04-09 00:00"))  # the server was down meanwhile
    await weeks.service.sweep()
    assert (await weeks.service.get(second.stream) or second).state.outcome == "timed_out"


@one_database
async def test_whoever_was_admitted_is_not_refused_though_the_study_is_full_or_paused(weeks: Weeks) -> None:
    person = await weeks.first()
    with pytest.raises(Refused):
        await weeks.service.enrol(weeks.study, origin="person")
    weeks.clock.set(OPEN)
    set_status(weeks.database, "weeks", "paused", {"why": "enough"}, by="researcher", at_us=OPEN)
    second = await weeks.end(await weeks.service.begin_wave(person))
    weeks.clock.set(OPEN + 11 * 3_600_000_000)
    set_status(weeks.database, "weeks", "closed", {"why": "over"}, by="researcher", at_us=weeks.clock.now_us())
    with pytest.raises(Refused):
        await weeks.service.begin_wave(weeks.person(second))


async def test_the_period_of_a_session_counts_from_the_last_activity_of_its_person(tmp_path: Path) -> None:
    weeks = Weeks(f"sqlite:///{tmp_path}/parley.db", keep_for="18 days")
    person = await weeks.first()
    weeks.clock.set(OPEN)
    await weeks.end(await weeks.service.begin_wave(person))

    def due(at_us: int) -> list[int]:
        plan = retention_plan(weeks.database, Participants(weeks.database, SECRET), weeks.study, at_us)
        return [one.number for one in plan.data]

    assert due(FIRST + 19 * 24 * 3_600_000_000) == []
    assert due(OPEN + 19 * 24 * 3_600_000_000) == [1, 2]
    await weeks.close()


@one_database
async def test_a_withdrawal_in_any_wave_erases_all_and_what_joins_them(weeks: Weeks) -> None:
    person = await weeks.first()
    weeks.clock.set(OPEN)
    second = await weeks.service.begin_wave(person)
    named = sessions_to_erase(weeks.database, Participants(weeks.database, SECRET), second.stream)
    assert named == [second.stream, person.first]
    assert await withdraw(weeks.service, weeks.database, named, "researcher") == named
    assert await withdraw(weeks.service, weeks.database, named, "researcher") == []
    streams = {*person.streams.values(), second.stream}
    for stream in streams:
        (event,) = load(weeks.database, stream)
        assert (event.kind, {*event.data}) == ("withdrew", {"study", "hash", "origin", "was"})
    assert {row["stream"] for row in weeks.rows(tables.erasures)} == streams
    found = flow(weeks.database, "weeks", "person")
    assert (found.arrived, found.outcomes) == (1, {"withdrawn": 1}), "one person"
    for table in tables.metadata.sorted_tables:
        assert person.id not in json.dumps(weeks.rows(table), default=repr), table.name
    assert {seat["outcome"] for seat in weeks.rows(tables.seats)} == {"withdrawn"}
    with pytest.raises(Conflict):
        await weeks.service.begin_wave(person)
    assert people(weeks.database, "weeks", "person") == []
