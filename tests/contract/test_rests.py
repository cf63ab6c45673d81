"""Connections that are not read for a moment: fewer reads, the same answer, and the connection serves again."""

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from app.backends.base import End, Text
from app.backends.wire import rests
from app.backends.wire.chat_completions import ChatCompletions
from app.backends.wire.lines import Line, Lines, head
from app.backends.wire.rests import FEW, LONGEST_REST_S, MOST_READS, rest_s
from app.backends.wire.transport import Transport, bearer
from app.servers import Server
from tests.fakes.asking import settings_at
from tests.fakes.model_server import serve

WORDS, EACH_S = 40, 0.004
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@given(st.integers(0, 100_000))
def test_few_are_read_as_they_come_and_many_so_often_in_all(replies):
    assert rest_s(replies) <= rest_s(replies + 1) <= LONGEST_REST_S
    assert (rest_s(replies) == 0) == (replies <= FEW)
    assert rest_s(replies) in (0, LONGEST_REST_S) or replies == pytest.approx(MOST_READS * rest_s(replies))


class Counting(Line):
    """A connection that knows how often it was read."""

    reads = 0

    def data_received(self, data):
        Counting.reads += 1
        super().data_received(data)


@asynccontextmanager
async def talkative():
    """A server whose answers are words, one after another; gives the lines to it, and how to ask."""

    here = set()

    async def answer(reader, writer):
        here.add(asyncio.current_task())
        with suppress(ConnectionError):
            while await reader.readline():
                await reader.readuntil(b"\r\n\r\n")
                writer.write(HEAD)
                for number in range(WORDS):
                    writer.write(b"4\r\n%04d\r\n" % number)
                    await asyncio.sleep(EACH_S)
                writer.write(b"0\r\n\r\n")
        writer.close()
        here.discard(asyncio.current_task())

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        server = Server(url=f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        known = Lines(server, None, 2.0)
        try:
            yield known, head(URL(server.url), {}) + b"0\r\n\r\n"
        finally:
            known.close()
            while here:  # whose end is the server's
                await asyncio.sleep(EACH_S)


async def read(known, request, seconds):
    """A whole answer, read so often."""
    said = b""
    async with known.open(request) as answer:
        while more := await answer.more():
            answer.rest(seconds)
            said += more
    return said


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_what_rests_is_read_seldom_and_nothing_of_it_is_lost(run, monkeypatch):
    monkeypatch.setattr("app.backends.wire.lines.Line", Counting)

    async def both():
        reads = []
        async with talkative() as (known, request):
            for seconds in (0, 5 * EACH_S, 5 * EACH_S):
                before = Counting.reads
                assert await read(known, request, seconds) == b"".join(b"%04d" % n for n in range(WORDS))
                reads.append(Counting.reads - before)
            assert len(known._free) == 1  # one connection bore all three
        return reads

    at_once, *resting = run(both())
    assert all(2 * reads < at_once for reads in resting)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_many_at_once_rest_and_each_has_its_own_answer(run):
    async def all_of_them():
        async with talkative() as (known, request):
            return await asyncio.gather(*(read(known, request, 0.02) for _ in range(30)))

    assert set(run(all_of_them())) == {b"".join(b"%04d" % n for n in range(WORDS))}


def test_who_leaves_while_it_rests_leaves_no_open_connection():
    async def leave():
        async with talkative() as (known, request):
            async with known.open(request) as answer:
                await answer.more()
                answer.rest(0.02)
                await answer.more()
            await asyncio.sleep(0.05)
            return len(known._free)

    assert asyncio.run(leave()) == 0


def test_replies_that_are_read_seldom_are_whole_and_their_connection_is_used_again(monkeypatch):
    monkeypatch.setattr(rests, "FEW", 0)

    async def twice(url):
        settings = settings_at(url)
        server = Server(url=url, key=settings.openai_api_key)
        transport = Transport(settings, server, bearer(server))
        found = []
        for _ in range(2):
            body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True}
            async with aclosing(transport.stream("/chat/completions", body, ChatCompletions())) as deltas:
                found.append([delta async for delta in deltas])
        await transport.close()
        return found

    with serve() as server:
        replies = asyncio.run(twice(server.base_url))
        assert server.connections == 1
    for deltas in replies:
        assert isinstance(deltas[-1], End)
        assert "".join(delta.text for delta in deltas if isinstance(delta, Text))
