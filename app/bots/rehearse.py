"""A rehearsal: simulated participants come to the running server over HTTP, at people's times divided by a speed.

Nothing here reads the database: where somebody works out a right answer, `answers` of the caller has it. A rehearsal
that is stopped leaves everybody where they stand; what the server has accepted is on disk.

Who comes when, leaves or comes back is drawn from a seed: the same study and seed give the same visits, and more people
only add to them. Times are those of people, in seconds. The shares are chosen so that 60 people meet every case.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx2

from app.bots.http_participant import HttpParticipant, Measured
from app.bots.random_bot import RandomBot
from app.errors import VisitFailed
from experiments.session.seeded_random import uniform
from experiments.study.screen import Screen

# The share of people who leave before the end, within their first LEAVES_WITHIN clicks.
LEAVES = 0.15
# The share of those who leave that come back by their link, after AWAY_S, and stay.
COMES_BACK = 0.5
RELOADS = 0.04
LEAVES_WITHIN = 10
AWAY_S = (300.0, 1_800.0)
TIMEOUT_S = 60.0
MOST_CLICKS = 5_000
# After so many refusals in a row somebody gives up.
MOST_REFUSALS = 20
REFUSED_S = 1.0


@dataclass(frozen=True, slots=True)
class Visit:
    """Comes at `arrives_s`, leaves after so many clicks (None: stays), comes back after `away_s` (None: never)."""

    name: str
    arrives_s: float
    leaves_after: int | None = None
    away_s: float | None = None

    @property
    def drops_out(self) -> bool:
        return self.leaves_after is not None and self.away_s is None

    def reloads(self, click: int) -> bool:
        return uniform(self.name, f"reload {click}") < RELOADS


def planned_visits(study: str, people: int, seed: str, over_s: float) -> tuple[Visit, ...]:
    """The visits in the order of arrival, which is equally likely at every moment of `over_s` seconds."""
    return tuple(sorted((_visit(f"{study}:{seed}:{number}", over_s) for number in range(people)), key=_arrival))


def remaining_visits(visits: Collection[Visit], begun: Collection[str], ended: Collection[str]) -> tuple[Visit, ...]:
    """The visits that are left of a rehearsal that was stopped, by the names of those who had begun and ended: nobody
    comes who had ended or was to drop out; those who had begun come at once, and stay."""
    left = [visit for visit in visits if visit.name not in ended and not (visit.name in begun and visit.drops_out)]
    return tuple(sorted((Visit(visit.name, 0.0) if visit.name in begun else visit for visit in left), key=_arrival))


def _visit(name: str, over_s: float) -> Visit:
    arrives_s = over_s * uniform(name, "arrival")
    if uniform(name, "leaves") >= LEAVES:
        return Visit(name, arrives_s)
    after = 1 + int(LEAVES_WITHIN * uniform(name, "clicks"))
    least_s, most_s = AWAY_S
    away_s = least_s + (most_s - least_s) * uniform(name, "away")
    return Visit(name, arrives_s, after, away_s if uniform(name, "returns") < COMES_BACK else None)


def _arrival(visit: Visit) -> float:
    return visit.arrives_s


# The right answers of the screen that somebody sees, if this person finds them; otherwise nothing.
Answers = Callable[[Visit, Screen], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal: the server's address, the visits, the speed as a multiple of people's, the paths of the start pages,
    the headers of requests, and the answers that participants find."""

    url: str
    visits: Sequence[Visit]
    speed: float
    link: Callable[[Visit], str]
    headers: Callable[[Visit], Mapping[str, str]]
    answers: Answers


@dataclass(slots=True)
class RehearsalProgress:
    """`here` take part now; `outcomes` count ended sessions, `gave_up` by reason those that could not go on."""

    measured: Measured = field(default_factory=Measured)
    arrived: int = 0
    here: int = 0
    dropped_out: int = 0
    came_back: int = 0
    reloads: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    gave_up: Counter[str] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        return self.outcomes.total() + self.gave_up.total() + self.dropped_out


async def rehearse(rehearsal: Rehearsal, progress: RehearsalProgress) -> None:
    """Run all visits to their end; raises RehearsalImpossible if the server admits nobody."""
    began_s = time.monotonic()

    async def one(visit: Visit) -> None:
        await asyncio.sleep(max(0.0, began_s + visit.arrives_s / rehearsal.speed - time.monotonic()))
        try:
            await _RehearsedParticipant(rehearsal, progress, visit).take_part()
        except VisitFailed as error:
            progress.gave_up[str(error)] += 1

    try:
        async with asyncio.TaskGroup() as people:
            for visit in rehearsal.visits:
                people.create_task(one(visit))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


@dataclass(slots=True)
class _RehearsedParticipant:
    rehearsal: Rehearsal
    progress: RehearsalProgress
    visit: Visit

    async def take_part(self) -> None:
        if await self._come(self.visit.leaves_after):
            return
        if self.visit.away_s is None:
            self.progress.dropped_out += 1
            return
        await self._pass(self.visit.away_s)
        self.progress.came_back += 1
        await self._come(None)

    async def _come(self, leaves_after: int | None) -> bool:
        """Take part until the end, or until so many clicks; whether the session has ended."""
        async with httpx2.AsyncClient(base_url=self.rehearsal.url, timeout=TIMEOUT_S) as client:
            browser = HttpParticipant(client, partial(self.rehearsal.headers, self.visit), self.progress.measured)
            screen = await browser.arrive(self.rehearsal.link(self.visit))
            self.progress.arrived += 1
            self.progress.here += 1
            try:
                return await self._go_on(browser, screen, leaves_after)
            finally:
                self.progress.here -= 1

    async def _go_on(self, participant: HttpParticipant, screen: Screen, leaves_after: int | None) -> bool:
        bot = RandomBot(f"{self.visit.name}:{screen.seen}", self.visit.name)
        clicks = refusals = 0
        while not screen.ended and clicks != leaves_after:
            chat = screen.panel.chat
            if not screen.actions or (chat is not None and chat.waiting and not chat.approvals):
                screen = await participant.listen()
                continue
            if self.visit.reloads(clicks):
                self.progress.reloads += 1
                screen = await participant.reload()
            refused = await self._click(bot, participant, screen)
            clicks, refusals = clicks + 1, refusals + 1 if refused else 0
            if refusals > MOST_REFUSALS or clicks > MOST_CLICKS:
                raise VisitFailed(f"{screen.path} is not left: {refused or 'it is shown again and again'}")
            if refused:
                await asyncio.sleep(REFUSED_S)  # in real time, as the server's clock is not any faster
            screen = participant.screen or screen
        if screen.ended:
            self.progress.outcomes[screen.outcome] += 1
        return screen.ended

    async def _click(self, bot: RandomBot, participant: HttpParticipant, screen: Screen) -> str:
        kind, values = bot.act(screen)
        if kind == "submit":
            values |= await self.rehearsal.answers(self.visit, screen)
        await self._pass(bot.seconds(screen, values))
        opens_us = screen.timing.opens_us if screen.timing else None
        if opens_us is not None:
            await asyncio.sleep(max(0.0, opens_us / 1e6 - time.time()))
        return await participant.act(kind, values)

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.rehearsal.speed)
