"""Whoever goes away and comes back, in whichever way, at whichever screen, is where they were, in their condition,
and reads all that was said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import cycle

import httpx2
import pytest

from app.clock import VirtualClock
from experiments.events import Event
from experiments.session.engine import fold
from experiments.study.screen import Screen
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import facts

pytestmark = pytest.mark.anyio
STUDIES = ("chatbench", "mathconverse", "dices-350", "arena", "demo")
PID = "5f3a0c6e9d1b2a7c4e8f0d12"
# How long everybody stays at a screen.
SECONDS = 20.0


class Away:
    """A participant whom a recruiter sent, and the ways back to where they were."""

    def __init__(self, stack: AsyncExitStack, served: Served, study: str) -> None:
        self.stack, self.served, self.study = stack, served, study
        self.link = signed(study, "prolific", f"{PID}{study}", SESSION_ID="s1")
        self.others = 0

    async def begin(self) -> HttpBot:
        bot = await self._tab()
        await bot.arrive(self.study, self.link)
        return bot

    async def reload(self, bot: HttpBot) -> HttpBot:
        assert (await bot.client.get("/")).status_code == 200
        await bot.look()
        return bot

    async def back(self, bot: HttpBot) -> HttpBot:
        """To the start page, which is what lies before the page in the browser's history, and its button again."""
        await bot.arrive(self.study, self.link)
        return bot

    async def reopen(self, bot: HttpBot) -> HttpBot:
        """The tab is closed; another browser window with the same cookies opens the address."""
        cookies = httpx2.Cookies(bot.client.cookies)
        await bot.client.aclose()
        return await self.reload(await self._tab(cookies))

    async def second_tab(self, bot: HttpBot) -> HttpBot:
        """Beside the first, which looks as well, and stays open."""
        other = await self.reload(await self._tab(bot.client.cookies))
        assert await bot.look() == other.screen
        return other

    async def second_device(self, bot: HttpBot) -> HttpBot:
        """The recruiter's link again, which is signed, where there is no cookie."""
        return await self.begin()

    async def _tab(self, cookies: httpx2.Cookies | None = None) -> HttpBot:
        self.others += 1
        bot = await self.stack.enter_async_context(HttpBot(self.served.url, f"{self.study}{self.others}"))
        if cookies is not None:
            bot.client.cookies = cookies
        return bot


WAYS: dict[str, Callable[[Away, HttpBot], Awaitable[HttpBot]]] = {
    way.__name__: way for way in (Away.reload, Away.back, Away.reopen, Away.second_tab, Away.second_device)
}


@pytest.fixture(scope="module")
async def clock() -> VirtualClock:
    return VirtualClock(10**15)


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, clock: VirtualClock) -> AsyncIterator[Served]:
    async with serving(settings_for(tmp_path_factory.mktemp("returning")), *STUDIES, clock=clock) as served:
        yield served


def told(screen: Screen) -> list[str]:
    """The words of everybody on a screen with a conversation; what stands in columns is told once more as rounds."""
    chat = screen.panel.chat
    if chat is None:
        return []
    whole = [message.text for message in chat.messages]
    rounds = [text for one in chat.rounds for text in (one.message, *(reply.text for reply in one.replies))]
    assert not rounds or sorted(rounds) == sorted(whole)
    return whole


def said_at(log: list[Event], path: str) -> list[str]:
    return [event.data["text"] for event in log if event.path == path and event.kind in ("said", "replied")]


@pytest.mark.parametrize("study", STUDIES)
async def test_whoever_comes_back_is_where_they_were(
    served: Served, clock: VirtualClock, study: str, soak: bool
) -> None:
    screens, ways = 0, cycle(WAYS)
    async with AsyncExitStack() as stack:
        away = Away(stack, served, study)
        bot = await away.begin()
        stream = bot.stream
        while not bot.screen.ended:
            chat = bot.screen.panel.chat
            if chat is None or not chat.waiting:
                screens += 1
                for name in WAYS if soak else [next(ways)]:
                    bot = await comes_back(served, away, bot, name)
                    assert bot.stream == stream
            clock.advance(SECONDS)
            await bot.step()
        for name in WAYS:
            bot = await comes_back(served, away, bot, name)
    log = facts(served.database, stream)
    assert screens >= sum(event.by == "participant" and event.kind == "submitted" for event in log) > 3
    assert [event.kind for event in log].count("enrolled") == 1


async def comes_back(served: Served, away: Away, bot: HttpBot, name: str) -> HttpBot:
    """Go away and come back; nothing is another, and the transcript is whole."""
    before, log = bot.screen, facts(served.database, bot.stream)
    found = await WAYS[name](away, bot)
    assert found.screen == before, name
    after = facts(served.database, found.stream)
    assert after == log, f"{name}: nothing is written of it"
    assert sorted(told(found.screen)) == sorted(said_at(after, before.path))
    assert fold(after).factors == fold(log).factors
    page = (await found.send("POST", "/api/look", {})).json()
    assert page["updates"], "a page that shows nothing yet is told all of it"
    return found
