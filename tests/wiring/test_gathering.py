"""The pause in which words of a reply gather: over when its time is, or when the reply has come whole."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp.base_protocol import BaseProtocol

from app.backends.wire.pieces import Pause

pytestmark = pytest.mark.anyio
SOON, NEVER = 0.01, 3600.0


def body() -> aiohttp.StreamReader:
    loop = asyncio.get_running_loop()
    return aiohttp.StreamReader(BaseProtocol(loop), 2**16, loop=loop)


async def test_a_pause_lasts_while_words_come_and_no_longer_than_it_was_to() -> None:
    comes = body()
    pause = Pause(comes)
    for word in (b"a", b"b"):
        comes.feed_data(word)
        await pause.last(SOON)
    asyncio.get_running_loop().call_later(SOON, comes.feed_data, b"c")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pause.last(NEVER), 5 * SOON)


async def test_the_end_of_a_reply_is_not_waited_for() -> None:
    comes = body()
    pause = Pause(comes)
    asyncio.get_running_loop().call_later(SOON, comes.feed_eof)
    await pause.last(NEVER)
    await pause.last(NEVER)


async def test_what_came_whole_before_the_pause_makes_none() -> None:
    comes = body()
    pause = Pause(comes)
    comes.feed_eof()
    await pause.last(NEVER)
