"""A browser that keeps no cookies: it is told so, and begins no session however often it tries."""

from __future__ import annotations

import re

import httpx2
import pytest

from tests.fakes.http_bot import TICKET
from tests.fakes.proofs import signed
from tests.fakes.served import Served
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
PAGE = re.compile(r'data-page="(\w+)"')


def sessions(served: Served) -> int:
    return int(query(served.database, "SELECT count(*) FROM session")[0][0])


async def press_start(client: httpx2.AsyncClient, path: str, *, keeps: bool, language: str = "en") -> httpx2.Response:
    """Open the start page and press its button, with the cookies that it set or without any."""
    page = await client.get(path)
    found = TICKET.search(page.text)
    assert found
    if not keeps:
        client.cookies.clear()
    return await client.post(path, data={"ticket": found[1], "language": language})


@pytest.mark.parametrize("link", ["", "proven"])
async def test_without_cookies_no_session_begins_and_the_page_says_why(served: Served, link: str) -> None:
    path, before = "/s/short" + (signed("short", "sona", "10437") if link else ""), sessions(served)
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        for _ in range(3):
            told = await press_start(client, path, keeps=False)
            assert (told.status_code, PAGE.findall(told.text)) == (403, ["cookies_needed"])
            assert "cookie" in told.text.lower()
            client.cookies.clear()
        assert sessions(served) == before
        assert (await press_start(client, path, keeps=True)).headers["location"] == "/"
        assert sessions(served) == before + 1
        if link:  # elsewhere, on a device that keeps none: the session is known, and could not be shown
            client.cookies.clear()
            assert PAGE.findall((await press_start(client, path, keeps=False)).text) == ["cookies_needed"]
