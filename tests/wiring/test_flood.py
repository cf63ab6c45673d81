"""A flood of requests: who sends it is refused, and nobody else notices."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for, ticket
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "forge", [pytest.param("no cookie", marks=pytest.mark.soak), "another forged cookie each time"]
)
async def test_a_flood_is_stopped_and_harms_nobody_else(tmp_path: Path, forge: str) -> None:
    settings = settings_for(tmp_path, requests_per_second=0.02, request_burst=30, address_rate_multiplier=2)
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings, studies.chat(tmp_path)))
        other = await stack.enter_async_context(HttpBot(served.url, "1", patience_s=20))
        client = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, base_url=served.url))
        await other.arrive("talk")
        most = settings.address_rate_multiplier * settings.request_burst

        async def knock(number: int) -> httpx2.Response:
            cookie = "" if forge == "no cookie" else f"parley=forged{number}"
            return await client.post("/api/look", json={}, headers={"cookie": cookie})

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
