"""The pause in which words of a reply gather: over when its time is, or when the reply has come whole."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp.base_protocol import BaseProtocol

from app.pause import Pause

pytestmark = pytest.mark.anyio
SOON, NEVER = 0.01, 3600.0


def body() -> tuple[aiohttp.StreamReader, Pause]:
    """What comes from a server, and the pause between the pieces of it."""
    loop, pause = asyncio.get_running_loop(), Pause()
    comes = aiohttp.StreamReader(BaseProtocol(loop), 2**16, loop=loop)
    comes.on_eof(pause.end)
    return comes, pause


async def test_a_pause_lasts_while_words_come_and_no_longer_than_it_was_to() -> None:
    comes, pause = body()
    for word in (b"a", b"b"):
        comes.feed_data(word)
        await pause.last(SOON)
    asyncio.get_running_loop().call_later(SOON, comes.feed_data, b"c")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pause.last(NEVER), 5 * SOON)


async def test_the_end_of_a_reply_is_not_waited_for() -> None:
    comes, pause = body()
    asyncio.get_running_loop().call_later(SOON, comes.feed_eof)
    await pause.last(NEVER)
    await pause.last(NEVER)


async def test_what_came_whole_before_the_pause_makes_none() -> None:
    comes, pause = body()
    comes.feed_eof()
    await pause.last(NEVER)


async def test_all_who_wait_are_let_go_and_who_gives_up_is_forgotten() -> None:
    pause = Pause()
    waiting = [asyncio.create_task(pause.last(NEVER)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting.pop().cancel()
    await asyncio.sleep(0)
    pause.end()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
