"""The real nginx with the file that is shipped: two replicas over one PostgreSQL behind it, and people who go through
the demo study, also where a replica is killed; with what keeps a session to a replica, and without.

With --soak: 30 people, and kills among 300, as long as they are there.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.nginx import before
from tests.fakes.postgres import fresh
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import query
from tests.wiring.replicas import check_all, check_asked_once, kill_among, people, two_replicas

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
kept = pytest.mark.parametrize("kept", [True, False], ids=["kept to a replica", "to any replica"])


@pytest.fixture
def url(postgres_server: str) -> str:
    return fresh(postgres_server, f"parley_{uuid4().hex}")


@pytest.fixture
def replicas(url: str, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    with two_replicas(url, tmp_path) as found:
        yield found


@kept
async def test_people_go_through_a_study(
    url: str, replicas: tuple[Process, Process], nginx: str, tmp_path: Path, seed: int, soak: bool, kept: bool
) -> None:
    ports = [one.port for one in replicas]
    with before(nginx, tmp_path / "nginx", *ports, kept=kept) as proxy:
        async with people(proxy.url, 30 if soak else 6, seed) as bots:
            await asyncio.gather(*(bot.arrive("demo") for bot in bots))
            await asyncio.gather(*(bot.finish() for bot in bots))
            replies = [reply for bot in bots for reply in bot.replies]
            await check_all(url, bots)
            await check_asked_once(url)
        went = defaultdict(set)
        for whose, tried in proxy.given:
            went[whose].update(tried)
        mine = [went[bot.client.cookies["parley"]] for bot in bots]
        assert set.union(*went.values()) == set(ports), "both had something to do"
        if kept:
            assert all(len(ports) == 1 for ports in mine)
            assert sum(map(bool, replies)) > len(replies) / 2, "people saw the words come, unless they looked late"
        else:
            assert any(len(ports) == 2 for ports in mine)
    assert all("Traceback" not in one.log for one in replicas)
    assert proxy.complaints == ""


@kept
async def test_a_replica_is_killed_and_people_go_on(
    url: str, replicas: tuple[Process, Process], nginx: str, tmp_path: Path, seed: int, soak: bool, kept: bool
) -> None:
    print(f"seed {seed}")
    with before(nginx, tmp_path / "nginx", *(one.port for one in replicas), kept=kept) as proxy:
        async with people(proxy.url, 300 if soak else 6, seed) as bots:
            await kill_among(bots, replicas, random.Random(seed), again=soak)
            await check_all(url, bots)
    assert all("Traceback" not in one.log for one in replicas)


async def test_words_are_passed_on_as_they_come_and_who_is_away_is_not_waited_for(nginx: str, tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 20, "pace_ms": 50})
    async with serving(settings_for(tmp_path, trusted_proxies="127.0.0.1"), study) as served:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            ports = int(served.url.rpartition(":")[2]), nobody.getsockname()[1]
            with before(nginx, tmp_path / "nginx", *ports) as proxy:
                async with HttpBot(proxy.url, "words") as bot:
                    await bot.arrive("talk")
                    await bot.until(waiting=True)
                    async with bot.client.stream("GET", "/api/reply") as response:
                        heard = Heard()
                        async for line in response.aiter_lines():
                            take(line, heard)
                            if heard.text:
                                break
                        assert query(served.database, "SELECT count(*) FROM event WHERE kind = 'replied'") == [(0,)]


@asynccontextmanager
async def echoing() -> AsyncIterator[int]:
    """A server that answers everything with nothing; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline() not in (b"\r\n", b""):
            pass
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_a_session_is_kept_to_a_server_by_its_cookie(nginx: str, tmp_path: Path) -> None:
    async with echoing() as one, echoing() as two:
        with before(nginx, tmp_path / "nginx", one, two) as proxy:
            async with httpx2.AsyncClient(base_url=proxy.url) as client:
                for number in range(40):
                    signed = f"signed.{number}"
                    named = f"parley={signed}", f"a=1; parley-short=old; __Host-parley={signed}; parley-demo=b"
                    for cookie in (*named, f"parley-short={signed}", ""):
                        assert (await client.get("/", headers={"cookie": cookie})).status_code == 204
    went = defaultdict(list)
    for whose, tried in proxy.given:
        went[whose].extend(tried)
    kept_to = [went.pop(f"signed.{number}") for number in range(40)]
    assert all(len(ports) == 2 and len(set(ports)) == 1 for ports in kept_to)
    assert {ports[0] for ports in kept_to} == {one, two}
    assert [len(ports) for ports in went.values()] == [1] * 80, "each of the others was nobody's"
    assert {ports[0] for ports in went.values()} == {one, two}
