"""Floods of requests and of beginnings: who sends them is refused, and nobody else notices."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from app.session.signed_links import DAY_S, Tickets
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served, serving, settings_for, ticket
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio


async def test_a_flood_is_stopped_and_harms_nobody_else(tmp_path: Path) -> None:
    """Each request has another forged cookie."""
    settings = settings_for(tmp_path, requests_per_second=0.02, request_burst=30, address_rate_multiplier=2)
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings, studies.chat(tmp_path)))
        other = await stack.enter_async_context(HttpBot(served.url, "1", patience_s=20))
        client = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, base_url=served.url))
        await other.arrive("talk")
        most = settings.address_rate_multiplier * settings.request_burst

        async def knock(number: int) -> httpx2.Response:
            return await client.post("/api/look", json={}, headers={"cookie": f"parley=forged{number}"})

        answers, begun = [], time.monotonic()
        walking = asyncio.create_task(other.finish())
        while len(answers) < most + 60 or not walking.done():
            answers += await asyncio.gather(*(knock(len(answers) + number) for number in range(20)))
        statuses = [answer.status_code for answer in answers]
        assert set(statuses[: most - 20]) == {401}
        assert 429 in statuses[most:]
        again = settings.address_rate_multiplier * settings.requests_per_second * (time.monotonic() - begun)
        assert statuses.count(401) <= most + again + 1
        refused = answers[statuses.index(429)]
        assert refused.headers["retry-after"]
        assert "note" in refused.json()
        await walking
        assert refused.json()["note"].encode() not in b"".join(other.heard), "the one who is known is not slowed down"


async def test_who_is_known_begins_no_more_sessions_than_strangers_do(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, requests_per_second=0.02, request_burst=5, address_rate_multiplier=4)
    async with (
        serving(settings, studies.chat(tmp_path)) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        begun, jar = time.monotonic(), [""]
        statuses = []
        for number in range(60):
            headers = {"cookie": jar[number % len(jar)]}
            response = await client.post(f"/s/talk?PROLIFIC_PID=p{number}", data=ticket("talk"), headers=headers)
            client.cookies.clear()
            statuses.append(response.status_code)
            jar += [f"parley={response.cookies['parley']}"] if response.status_code == 303 else []
        most = 4 * 5 + 4 * 0.02 * (time.monotonic() - begun) + 1
        assert set(statuses) == {303, 429}
        assert 4 * 5 <= query(served.database, "SELECT count(*) FROM session")[0][0] <= most


BEHIND = {"trusted_proxies": "127.0.0.1"}
# As shipped, and each test says where its requests come from.
LIMITED = {**BEHIND, "requests_per_second": 5.0, "request_burst": 30, "sessions_per_address_per_hour": 30}
# Nothing that was taken comes back while the test runs, however busy the machine is.
SLOWLY = {"requests_per_second": 0.001}


def comes_from(address: str) -> dict[str, str]:
    return {"x-forwarded-for": address}


def sessions(served: Served) -> int:
    return int(query(served.database, "SELECT count(*) FROM session")[0][0])


async def begun(client: httpx2.AsyncClient, address: str) -> httpx2.Response:
    response = await client.post("/s/talk", data=ticket("talk"), headers=comes_from(address))
    client.cookies.clear()
    return response


async def test_a_request_without_a_ticket_of_this_page_begins_nothing_and_leads_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(settings_for(tmp_path), studies.chat(tmp_path)) as served:
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            wrong = ["", "short", "x" * 40, Tickets(SECRET).new("other")]
            for told in wrong:
                answer = await client.post("/s/talk?lang=en", data={"ticket": told} if told else {})
                assert (answer.status_code, sessions(served)) == (303, 0)
            old, later = Tickets(SECRET).new("talk"), time.time() + DAY_S + 5
            with monkeypatch.context() as patch:
                patch.setattr("itsdangerous.timed.time.time", lambda: later)
                assert Tickets(SECRET).session(old, "talk") == ""
            page = await client.get(answer.headers["location"])
            fresh = re.findall(r'name="ticket" value="([\w.-]+)"', page.text)[0]
            assert (await client.post("/s/talk", data={"ticket": fresh})).headers["location"] == "/"
        assert sessions(served) == 1


async def test_one_address_cannot_fill_a_study_and_another_still_begins(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **LIMITED)
    async with (
        serving(settings, studies.chat(tmp_path)) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        answers = [await begun(client, "192.0.2.1") for _ in range(60)]
        assert Counter(answer.status_code for answer in answers)[303] == sessions(served) == 30
        refused = answers[-1]
        assert (refused.status_code, bool(refused.headers["retry-after"])) == (429, True)
        assert (await begun(client, "192.0.2.2")).status_code == 303


async def test_many_sessions_of_one_address_ask_no_more_than_the_address_may(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **LIMITED | SLOWLY | {"sessions_per_address_per_hour": 1_000, "request_burst": 3})
    async with serving(settings, studies.chat(tmp_path)) as served, AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, base_url=served.url))
        jar = [(await begun(client, f"198.51.100.{number}")).cookies["parley"] for number in range(20)]

        async def looks(cookie: str, address: str) -> int:
            headers = {**comes_from(address), "cookie": f"parley={cookie}"}
            return (await client.post("/api/look", json={}, headers=headers)).status_code

        told = [await looks(cookie, "192.0.2.9") for _ in range(2) for cookie in jar]
        assert told.count(200) == 30, "each session has enough, and all of them together have not"
        victim = (await begun(client, "203.0.113.8")).cookies["parley"]
        assert await looks(victim, "203.0.113.8") == 200


async def test_a_draft_is_what_the_screen_asks_for(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), studies.chat(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("talk")
        for values in (
            {f"invented{n}": "x" * 600 for n in range(100)},
            {"agreed": "x" * 60_000},
            {"agreed": ["x"] * 9_000},
        ):
            told = await bot.send("POST", "/api/draft", {"path": bot.screen.path, "values": values})
            assert told.json() == {"saved": False}
        assert query(served.database, "SELECT data FROM draft") == [("{}",)]
        kept = {"path": bot.screen.path, "values": {"agreed": "on", "invented": "x"}}
        assert (await bot.send("POST", "/api/draft", kept)).json() == {"saved": False}, "not all of it"
        assert query(served.database, "SELECT data FROM draft") == [('{"agreed":"on"}',)]
