"""A connection that is cut in the middle of a reply: the whole of it is read once it is mended, and the model was asked
once.

With --soak at ten moments, and also for 5 and for 30 seconds.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.reverse_proxy import pump
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import check_facts, facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
MOMENTS = 4
# A fourth of what the reply takes, as a busy machine may sleep for longer.
LASTS_S = 1.0


class Line:
    """Leads to a server. While it is cut nobody can connect, and what was on its way is lost."""

    def __init__(self, server: str) -> None:
        self._port, self._open, self._is_cut = int(server.rpartition(":")[2]), set[asyncio.StreamWriter](), False
        self.cuts = 0
        """How many connections were cut."""

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        back, there = await asyncio.open_connection("127.0.0.1", self._port)
        self._open |= {writer, there}
        pumps = [asyncio.create_task(pump(*one)) for one in ((reader, there), (back, writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for one in (writer, there):
            one.close()
        self._open -= {writer, there}
        await asyncio.wait(pumps)

    def cut(self) -> None:
        self._is_cut = True
        self.cuts += len(self._open) // 2
        for one in self._open:
            one.transport.abort()

    def mend(self) -> None:
        self._is_cut = False


@asynccontextmanager
async def line_to(server: str) -> AsyncIterator[tuple[Line, str]]:
    line = Line(server)
    async with await asyncio.start_server(line.lead, "127.0.0.1", 0) as listening:
        yield line, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        line.cut()


async def cut_at(served: Served, line: Line, bot: HttpBot, at_s: float, for_s: float) -> None:
    """Say something, lose the connection at a moment of the reply, and hear the rest of it."""
    await bot.arrive("talk")
    await bot.until(path="with_ai")
    await bot.do("say", {"text": "Please explain the Pythagorean theorem."})
    hearing = asyncio.create_task(bot.listen(view="screen"))
    await asyncio.sleep(at_s)
    assert not hearing.done(), "the reply was over before"
    line.cut()
    await asyncio.sleep(for_s)
    line.mend()
    heard = await hearing
    (replied,) = (event for event in facts(served.database, bot.stream) if event.kind == "replied")
    assert replied.data["text"].startswith(heard.text.strip())
    told = heard.after["screen"]["panel"]["chat"]["messages"][-1]["text"]  # also of a reply that was over by then
    assert told == replied.data["text"]
    await bot.look()
    assert query(served.database, "SELECT count(*) FROM attempt WHERE stream = :s", s=bot.stream) == [(1,)]
    assert line.cuts > 0
    await bot.finish()
    check_facts(served.database, bot)


@pytest.mark.parametrize("for_s", [1, *(pytest.param(s, marks=pytest.mark.soak) for s in (5, 30))])
async def test_a_reply_is_whole_after_a_cut_and_the_model_was_asked_once(
    tmp_path: Path, seed: int, for_s: float, soak: bool
) -> None:
    chance = random.Random(seed)
    study = studies.chat(tmp_path, options={"first_ms": 100, "pace_ms": 80})
    async with serving(settings_for(tmp_path), study) as served, AsyncExitStack() as stack:
        cuts = []
        for number in range(10 if soak else MOMENTS):
            line, url = await stack.enter_async_context(line_to(served.url))
            bot = await stack.enter_async_context(HttpBot(url, f"{seed}:{number}", patience_s=for_s + 60))
            cuts.append(cut_at(served, line, bot, chance.uniform(0, LASTS_S), for_s))
        await asyncio.gather(*cuts)
