"""Two runtimes over one database, as two workers or replicas are: a reply that both see to be owed is asked for by one;
the other asks where that one is gone. The model is played by a backend that says when it is asked, and goes on when it
is let."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.session.service import SessionService
from tests.fakes import studies
from tests.fakes.sitting import Sitting
from tests.fakes.stepping_model import ASKED
from tests.wiring.reading import query

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("stepped"),
    pytest.mark.parametrize("database_url", ["postgresql"], indirect=True),
]


class Pair(Sitting):
    """At its chat, at two processes."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(
            folder, studies.read_yaml(studies.chat(folder, backend="stepping", options={})), database_url=url
        )
        self.one, self.two = self.service, self.start()

    async def begin(self) -> None:
        await super().begin()
        await self.do(self.one, "submit", agreed="on")
        while not (await self.screen(self.one)).panel.chat:
            await self.do(self.one, "submit", confidence="very-confident")

    async def screen(self, service: SessionService) -> Any:
        return (await service.reload(self.live.stream)).screen

    async def do(self, service: SessionService, kind: str, /, **values: Any) -> None:
        seen = await self.screen(service)
        await service.participant(self.live.stream, kind, seen.path, values, seen=seen.seen)

    async def say(self) -> None:
        """Say something at one; the other is looked at while the first one asks."""
        await self.do(self.one, "say", text="Hello")
        await asked(1)
        assert (await self.screen(self.two)).panel.chat.waiting

    def attempts(self) -> list[tuple[Any, ...]]:
        return query(self.database, "SELECT text, finish_reason FROM attempt ORDER BY turn, number")


@pytest.fixture
async def pair(database_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    made = Pair(database_url, tmp_path)
    await made.begin()
    yield made
    await made.close()


async def asked(times: int) -> None:
    while len(ASKED) < times:
        await asyncio.sleep(0.01)
    ASKED[times - 1].release("One ")


async def heard(service: SessionService, stream: str) -> str:
    text, live = "", await service.get(stream)
    assert live is not None
    async for piece, end in service.follow(live, 0):
        text = text + piece if end else ""
    return text


async def test_one_asks_and_who_listens_at_the_other_is_let_go_when_it_is_recorded(pair: Pair) -> None:
    await pair.say()
    listening = [asyncio.create_task(heard(runtime, pair.live.stream)) for runtime in (pair.one, pair.two)]
    ASKED[0].finish("two.")
    assert await asyncio.gather(*listening) == ["One two.", ""]
    for runtime in (pair.one, pair.two):
        *_, reply = (await pair.screen(runtime)).panel.chat.messages
        assert reply.text == "One two."
        await runtime.settled(pair.live.stream)
    assert len(ASKED) == 1
    assert pair.attempts() == [("One two.", "stop")]


async def test_the_other_asks_where_the_one_that_asked_is_gone(pair: Pair) -> None:
    await pair.say()
    await pair.kill(pair.one)
    await asked(2)
    ASKED[1].finish("two.")
    await pair.two.settled(pair.live.stream)
    assert pair.attempts() == [("One two.", "stop")], "what was not heard to its end is owed, and no attempt"
    assert sum(event.kind == "replied" for event in pair.events) == 1


async def test_who_asks_sees_that_the_reply_is_stopped_at_the_other(pair: Pair) -> None:
    await pair.say()
    await pair.do(pair.two, "stop")
    await pair.one.settled(pair.live.stream)
    assert pair.attempts() == [("One", "stopped")]
    *_, reply = (await pair.screen(pair.two)).panel.chat.messages
    assert reply.text == "One"
