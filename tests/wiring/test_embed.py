"""An embedded study over HTTP: who may frame which page, and what identifies a session in a frame."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.studies.loader import read_yaml
from app.web.participant.session_cookie import TOKEN_HEADER
from tests.fakes import studies
from tests.fakes.http_bot import TICKET
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
HOST = "https://survey.example"
OTHER = "https://lab.example:8443"
FRAME = {"sec-fetch-dest": "iframe"}
SESSION = re.compile(r"^/\?embed=talk#session=(\S+)$")
LOOK = {"view": "page"}


def embedded(folder: Path, name: str = "talk", **embed: Any) -> Path:
    raw = read_yaml(studies.chat(folder, name))
    raw["embed"] = {"origins": [HOST, OTHER], **embed}
    return studies.write(folder, raw)


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """Three studies: one to embed, one to embed elsewhere, one that is not to be embedded."""
    folder = tmp_path_factory.mktemp("embed")
    elsewhere = embedded(folder, "elsewhere", origins=["https://elsewhere.example"])
    async with serving(settings_for(folder), embedded(folder), elsewhere, studies.short(folder)) as served:
        yield served


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        yield client


async def begin(client: httpx2.AsyncClient, path: str = "/s/talk", token: str = "", **headers: str) -> httpx2.Response:
    """Press the start page's button, in a frame that keeps no cookies."""
    told = await client.get(path, headers=FRAME)
    ticket = TICKET.search(told.text)
    assert ticket
    client.cookies.clear()
    return await client.post(path, data={"ticket": ticket[1], "session": token}, headers={**FRAME, **headers})


def token_of(response: httpx2.Response) -> str:
    found = SESSION.match(response.headers["location"])
    assert found, response.headers["location"]
    return found[1]


def framers(response: httpx2.Response) -> str:
    """Who may frame a page, by both headers; they must not contradict each other."""
    (found,) = re.findall(r"frame-ancestors ([^;]+)$", response.headers["content-security-policy"])
    assert (response.headers.get("x-frame-options") == "DENY") == (found == "'none'")
    return found


async def test_only_pages_of_an_embedded_study_can_be_framed_and_only_by_its_own_hosts(
    client: httpx2.AsyncClient,
) -> None:
    both = f"{HOST} {OTHER}"
    allowed = {
        "/s/talk": both, "/s/talk?lang=de": both, "/?embed=talk": both,
        "/s/elsewhere": "https://elsewhere.example", "/?embed=elsewhere": "https://elsewhere.example",
        "/s/short": "'none'", "/s/nowhere": "'none'", "/?embed=short": "'none'", "/?embed=nowhere": "'none'",
        "/": "'none'", "/?embed=": "'none'", "/walk/x": "'none'",
    }  # fmt: skip
    for headers in (FRAME, {"sec-fetch-dest": "document"}, {}):
        for path, origins in allowed.items():
            response = await client.get(path, headers=headers, follow_redirects=False)
            if "content-security-policy" in response.headers:
                assert framers(response) == origins, (path, headers)
            else:
                assert response.headers["x-frame-options"] == "DENY", (path, headers)
    for path in ("/out", "/healthz", "/parley/page.js", "/api/reply", f"/picture/{'0' * 64}"):
        assert (await client.get(path, headers=FRAME)).headers["x-frame-options"] == "DENY", path


async def test_a_session_in_a_frame_needs_no_cookie_and_its_token_opens_nothing_else(
    client: httpx2.AsyncClient,
) -> None:
    begun = await begin(client)
    token = token_of(begun)
    client.cookies.clear()
    assert (await client.post("/api/look", json=LOOK)).status_code == 401
    told = await client.post("/api/look", json=LOOK, headers={TOKEN_HEADER: token})
    assert told.status_code == 200
    host = told.json()["host"]
    assert host["origins"] == [HOST, OTHER]
    assert host["messages"] == [{"source": "parley", "version": 1, "type": "ready", "study": "talk"}]
    assert host["height"] == {"source": "parley", "version": 1, "type": "height"}
    for forged in (token[:-1], token + "x", "x", ""):
        assert (await client.post("/api/look", json=LOOK, headers={TOKEN_HEADER: forged})).status_code == 401
    assert (await client.post("/api/look", json=LOOK, headers={"cookie": f"parley={token}"})).status_code == 401


async def test_the_cookie_of_a_frame_is_partitioned_and_performs_no_action(client: httpx2.AsyncClient) -> None:
    begun = await begin(client)
    cookies = begun.headers.get_list("set-cookie")
    assert [one.partition("=")[0] for one in cookies] == ["parley.framed", "parley.framed-talk"]
    for one in cookies:
        assert {"HttpOnly", "Secure", "SameSite=none", "Partitioned", "Path=/"} <= set(one.split("; "))
    own = {"cookie": "; ".join(one.partition(";")[0] for one in cookies)}
    assert (await client.post("/api/look", json=LOOK, headers=own)).status_code == 401
    assert (await client.get("/api/reply", headers=own)).status_code == 401
    assert (await client.get("/out", headers=own, follow_redirects=False)).headers["location"] == "/"
    assert 'data-session="started"' in (await client.get("/s/talk", headers={**FRAME, **own})).text
    assert 'data-session="new"' in (await client.get("/s/talk", headers=own)).text, "not outside of a frame"
    assert 'data-session="new"' in (await client.get("/s/elsewhere", headers={**FRAME, **own})).text


async def test_where_no_cookie_is_kept_the_tabs_token_leads_back(client: httpx2.AsyncClient, served: Served) -> None:
    token = token_of(await begin(client))
    before = query(served.database, "SELECT count(*) FROM session")[0][0]
    assert token_of(await begin(client, token=token)) == token
    assert token_of(await begin(client, "/s/talk?pid=r-4711", token=token)) != token, "the link is another person's"
    for path in ("/s/elsewhere", "/s/talk"):
        other = await begin(client, path, token=token if path == "/s/elsewhere" else f"{token}x")
        assert token not in other.headers["location"], path
    assert query(served.database, "SELECT count(*) FROM session")[0][0] == before + 3
