"""Money: what models cost is told by whom and for what, a budget lets nobody new in, and whoever has begun finishes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import httpx2
import pytest

from app.clock import VirtualClock
from app.errors import BackendRejected
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from storage.db.engine import Database
from storage.log.event_log import Log
from storage.log.writer import Append, AppendWithCounts
from storage.registers.study_status import set_status
from storage.reports.costs import Cost, attempts, costs, spending
from tests.fakes import studies
from tests.fakes.backends import PLAYS, Played, registered
from tests.fakes.clicks import click
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
PRICE = {"prompt": 2.0, "completion": 10.0}
# What one of the played model's replies costs: 1,000 tokens read, 10 written.
REPLY = 0.0021
LIMIT = 3 * REPLY - 1e-9
START_US = 10**15


@pytest.fixture(scope="module", autouse=True)
def _played() -> Iterator[None]:
    with registered("played", Played):
        yield
    PLAYS.clear()


class Running(Sitting):
    """A study whose model costs money, in time that only passes when it is told to."""

    clock: VirtualClock

    def __init__(self, folder: Path) -> None:
        raw = studies.read_yaml(studies.chat(folder, backend="played", options={}, price=PRICE))
        raw |= {"factors": {"tone": ["warm", "cold"]}, "cost_limit": LIMIT}
        super().__init__(folder, raw, VirtualClock(START_US))

    def budget(self, amount: float | None) -> None:
        """Set it, and let the time pass in which it is noticed, also where the disk is slow."""
        set_status(self.database, "talk", "budgeted", {"amount": amount}, by="researcher", at_us=self.clock.now_us())
        self.clock.advance(600)

    async def come(self) -> LoadedSession:
        return await self.agree(await self.service.enrol(self.study, origin="person"))

    async def agree(self, session: LoadedSession) -> LoadedSession:
        return await click(self.service, session, agreed="on")

    async def to_the_end(self, session: LoadedSession) -> LoadedSession:
        while not session.screen.panel.chat:
            session = await click(self.service, session, confidence="very-confident")
        while again := next((kind for kind in ("retry", "say") if kind in session.screen.actions), None):
            session = await click(self.service, session, again, text="And then?")
        while not session.screen.ended:
            session = await click(self.service, session, answer="A", agreed="on", confidence="very-confident")
        return session


async def test_the_budget_holds_though_all_come_at_once_and_all_who_begin_finish(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.budget(0.05)  # bears seven at their limit
    came = await asyncio.gather(*(running.come() for _ in range(40)), return_exceptions=True)
    began = [live for live in came if isinstance(live, LoadedSession)]
    assert len(began) == 8, "the eighth begins while 0.0441 of 0.05 are promised"
    assert {str(other) for other in came if not isinstance(other, LoadedSession)} == {
        "All places in this study are taken at the moment."
    }
    for live in began:
        live = await running.to_the_end(live)
        assert sum(event.kind == "said" for event in live.state.events) == 3
        assert live.screen.ended
    assert spending(running.database, running.study, (), running.clock.now_us()).bound == pytest.approx(24 * REPLY)
    with pytest.raises(Refused, match="budget"):
        await running.come()
    running.budget(1)
    await running.come()
    await running.close()


class Held(Log):
    """A log that is slow to write who begins: not before it is let."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.held: list[tuple[AppendWithCounts, Future[Append]]] = []
        self.holds = False

    def append_counted(self, append: AppendWithCounts) -> Future[Append]:
        if not self.holds:
            return super().append_counted(append)
        self.held.append((append, Future()))
        return self.held[-1][1]

    def go_on(self) -> None:
        for work, waiting in self.held:
            waiting.set_result(super().append_counted(work).result(60))


async def test_who_begins_counts_however_long_it_takes_to_write_it(tmp_path: Path) -> None:
    running = Running(tmp_path)
    log = Held(running.database)
    await asyncio.to_thread(running.service.log.close)
    running.service.log = log
    running.budget(LIMIT)  # bears one
    one, other = [await running.service.enrol(running.study, origin="person") for _ in range(2)]
    log.holds = True
    first = asyncio.create_task(running.agree(one))
    while not log.held:
        await asyncio.sleep(0.01)
    running.clock.advance(600)  # it is looked at anew
    with pytest.raises(Refused, match="taken"):
        await asyncio.wait_for(running.agree(other), 60)
    log.holds = False
    log.go_on()
    assert isinstance(await first, LoadedSession)
    running.clock.advance(600)
    with pytest.raises(Refused, match="budget"):
        await running.come()
    await running.close()


async def test_costs_are_told_by_model_condition_and_participant(tmp_path: Path) -> None:
    running = Running(tmp_path)
    PLAYS["only"] = [BackendRejected("no such model", reason="status_404")]
    streams = {}
    for _ in range(6):
        live = await running.to_the_end(await running.come())
        streams[live.stream] = live.state.factors["tone"]
    whole = costs(running.database, "talk", "model")
    assert whole == {"only": Cost(19, 1, 18_000, 180, pytest.approx(18 * REPLY))}  # type: ignore[arg-type]
    by_participant = {name: cost.attempts for name, cost in costs(running.database, "talk", "participant").items()}
    assert by_participant == {str(number): 4 if number == 1 else 3 for number in range(1, 7)}
    by_tone = {name: cost.attempts - cost.failed for name, cost in costs(running.database, "talk", "condition").items()}
    tones = list(streams.values())
    assert by_tone == {f"tone: {tone}": 3 * tones.count(tone) for tone in set(tones)}
    facts = [event for event in live.state.events if event.kind == "replied"]
    assert [event.data["cost"] for event in facts] == [pytest.approx(REPLY)] * 3
    told = list(attempts(running.database, "talk"))
    assert [attempt["session"] for attempt in told] == [1, *sorted(n for n in range(1, 7) for _ in range(3))]
    (failed,) = attempts(running.database, "talk", failed=True)
    assert (failed["session"], failed["cause"], failed["cost"]) == (1, "no such model", None)
    await running.close()


async def noticed(client: httpx2.AsyncClient, words: str) -> None:
    """Wait until a decision is known at the server's door, which looks at it anew every two seconds."""
    for _ in range(200):
        if words in (await client.get("/s/short")).text:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"the start page does not say {words!r} after 20 seconds")


async def test_who_comes_too_late_is_told_and_who_has_begun_goes_on(tmp_path: Path) -> None:
    study = studies.short(tmp_path)
    async with (
        serving(settings_for(tmp_path), study) as served,
        HttpBot(served.url, "early") as bot,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as late,
    ):
        await bot.arrive("short")
        ticket = re.findall(r'name="ticket" value="([\w.-]{32,})"', (await late.get("/s/short")).text)[0]
        set_status(served.database, "short", "paused", {"why": "secret"}, by="researcher", at_us=0)
        await noticed(late, 'data-page="closed"')
        for answer in (await late.get("/s/short"), await late.post("/s/short", data={"ticket": ticket})):
            assert 'data-page="closed"' in answer.text
            assert "secret" not in answer.text
            assert "set-cookie" not in answer.headers
        assert (await bot.client.get("/s/short")).text.count('data-session="started"') == 1
        await bot.finish()
        set_status(served.database, "short", "opened", {}, by="researcher", at_us=0)
        await noticed(late, 'name="ticket"')
        answers = await asyncio.gather(*(late.post("/s/short", data={"ticket": ticket}) for _ in range(3)))
        assert {answer.status_code for answer in answers} == {303}
