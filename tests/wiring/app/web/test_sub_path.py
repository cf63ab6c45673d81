"""Parley below a path of a host name, behind a proxy that leaves the path on, and nginx as the guide has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import Receive, Scope, Send

from app.bots.http_participant import HttpParticipant, Measured
from app.web import security
from app.web.console import security as console_security
from app.web.participant.session_cookie import SessionCookie
from app.web.sub_path import SubPath
from tests.fakes import studies
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.http_bot import TICKET, HttpBot
from tests.fakes.nginx import ROOT, below
from tests.fakes.researcher import Researcher
from tests.fakes.reverse_proxy import ReverseProxy, reverse_proxy
from tests.fakes.served import SECRET, Process, serving, settings_for

pytestmark = pytest.mark.anyio


@pytest.fixture
def proxy() -> Iterator[ReverseProxy]:
    with reverse_proxy() as found:
        yield found


async def test_a_participant_takes_part_to_the_end_below_a_path(tmp_path: Path, proxy: ReverseProxy) -> None:
    settings = settings_for(tmp_path, public_url=proxy.url("/study"))
    async with serving(settings, studies.demo(tmp_path)) as served:
        proxy.servers = {"/other": 1, "/study": int(served.url.rpartition(":")[2])}
        async with HttpBot(proxy.url("/study"), "someone") as bot:
            await bot.arrive("demo")
            assert {one.path for one in bot.client.cookies.jar} == {"/study"}
            page = await bot.client.get("/")
            assert f'"root":"{proxy.url("/study")}"' in page.text
            await bot.finish()
            assert bot.screen.outcome == "complete"
            out = await bot.client.get("/out")
            assert (out.status_code, out.headers["location"]) == (303, "/study/")
        async with httpx2.AsyncClient(follow_redirects=True, timeout=60) as browser:
            begun = await browser.get(proxy.url("/study?lang=de"))
            assert (begun.url.path, begun.status_code) == ("/study/s/demo", 200)
            assert begun.url.params["lang"] == "de"
    assert proxy.strays == []
    assert any(path.endswith("/api/reply") for path in proxy.paths), "a reply was streamed"


@pytest.mark.nightly
async def test_the_console_is_below_a_path_of_its_own(tmp_path: Path, proxy: ReverseProxy) -> None:
    console = Process(tmp_path, (), env={"PARLEY_CONSOLE_URL": proxy.url("/console")}, command="console")
    with ada_and_bob(console.database_url):
        console.start()
        proxy.servers = {"/console": console.port}
        async with Researcher(url=proxy.url("/console")) as ada:
            ada.client.headers["origin"] = proxy.url("")
            begun = await ada.send("GET", "/", headers={"accept": "text/html"})
            assert (begun.status_code, begun.headers["location"]) == (303, "/console/login")
            inside = await ada.log_in("ada", GOOD)
            assert (inside.status_code, inside.headers["location"]) == (303, "/console/")
            assert {one.path for one in ada.client.cookies.jar} == {"/console"}
            await ada.open()
            page = (await ada.send("GET", "/")).text
            assert f'"root":"{proxy.url("/console")}"' in page
            for name in re.findall(r'(?:src|href)="(console/[\w.]+|parley/[\w.]+)"', page):
                assert (await ada.send("GET", f"/{name}")).status_code == 200, name
            assert "room-monitoring" in {name for event in ada.events for name, _ in event.of}
            await ada.enter("monitoring")
            left = await ada.send("POST", "/logout")
            assert (left.status_code, left.headers["location"]) == (303, "/console/login")
        console.stop()
    assert proxy.strays == []


async def test_nginx_as_the_guide_shows_it_serves_below_a_path(nginx: str, tmp_path: Path) -> None:
    guide = (ROOT / "docs/operator.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^    (location /study/ .*?\n)\n", guide, re.DOTALL | re.MULTILINE)
    settings = settings_for(tmp_path, public_url="http://lab.example.org/study")
    async with serving(settings, studies.chat(tmp_path)) as served:
        port = served.url.rpartition(":")[2]
        with below(nginx, tmp_path / "nginx", shown.replace(":7860", f":{port}")) as lab:
            async with HttpBot(f"{lab.url}/study", "someone") as bot:
                await bot.arrive("talk")
                await bot.finish()
                assert bot.screen.outcome == "complete"
                assert (await bot.client.get("/healthz")).status_code == 404
            async with httpx2.AsyncClient(base_url=f"{lab.url}/study", timeout=60) as client:
                rehearsing = HttpParticipant(client, dict, Measured())
                assert not (await rehearsing.arrive("/s/talk")).ended
            async with httpx2.AsyncClient(timeout=60) as browser:
                assert (await browser.get(f"{lab.url}/study")).headers["location"].endswith("/study/")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """A server that says which path it got, and redirects where its query says."""
    query = scope["query_string"].decode()
    answer = RedirectResponse(query, 303) if query else PlainTextResponse(scope["path"])
    await answer(scope, receive, send)


@pytest.mark.parametrize(
    ("prefix", "asked", "got"),
    [
        ("/study", "/s/demo", "/s/demo"),
        ("/study", "/study/s/demo", "/s/demo"),
        ("/study", "/study/", "/"),
        ("/study", "/studyhall/", "/studyhall/"),
        ("/study", "/study/secret", "/study/secret"),
        ("/a/b", "/a/b/api/act", "/api/act"),
        ("/parley", "/parley/page.js", "/parley/page.js"),
        ("/parley", "/parley/parley/page.js", "/parley/page.js"),
        ("/parley", "/parley/s/demo", "/s/demo"),
        ("/study", "/healthz", "/healthz"),
    ],
)
async def test_the_prefix_is_taken_off_where_a_path_of_ours_remains(prefix: str, asked: str, got: str) -> None:
    assert (await _ask(SubPath(echo, prefix, security.is_route), asked)).text == got


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("/console/console.js", "/console/console.js"),
        ("/console/console/console.js", "/console/console.js"),
        ("/console/login", "/login"),
        ("/console/", "/"),
        ("/login", "/login"),
    ],
)
async def test_the_console_may_be_below_a_path_that_begins_its_own(asked: str, got: str) -> None:
    assert (await _ask(SubPath(echo, "/console", console_security.is_route), asked)).text == got


@pytest.mark.parametrize(
    ("to", "location"),
    [("/", "/study/"), ("/s/x?lang=de", "/study/s/x?lang=de"), ("https://x.example/cc", "https://x.example/cc"),
     ("//x.example/", "//x.example/")],
)  # fmt: skip
async def test_redirects_to_a_path_of_ours_stay_below_the_prefix(to: str, location: str) -> None:
    assert (await _ask(SubPath(echo, "/study", security.is_route), f"/?{to}")).headers["location"] == location


async def _ask(app: SubPath, path: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://lab.example.org", timeout=60) as client:
        return await client.get(path)


@pytest.mark.parametrize(
    ("secure", "path", "name"),
    [
        (False, "/", "parley"),
        (True, "/", "__Host-parley"),
        (False, "/study", "parley"),
        (True, "/study", "__Secure-parley"),
    ],
)
def test_the_cookies_name_promises_what_its_path_allows(secure: bool, path: str, name: str) -> None:
    assert SessionCookie(SECRET, secure=secure, path=path).name == name


CLAIMS = {
    "x-forwarded-prefix": "//evil.example.org/study",
    "x-forwarded-host": "evil.example.org",
    "x-forwarded-server": "evil.example.org",
    "x-forwarded-port": "4444",
    "x-forwarded-path": "/evil",
    "x-original-url": "/evil",
    "x-rewrite-url": "/evil",
    "x-script-name": "/evil",
    "forwarded": "for=127.0.0.1;host=evil.example.org;proto=https",
}


@pytest.mark.parametrize(("path", "trusted"), [("/study", ""), ("", "127.0.0.1")])
async def test_who_claims_another_prefix_host_or_path_gains_nothing(path: str, trusted: str, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, public_url=f"http://lab.example.org{path}", trusted_proxies=trusted)
    async with serving(settings, studies.chat(tmp_path)) as served:
        # the claims first, as a page that is kept would have them later
        claims = CLAIMS if trusted else {**CLAIMS, "x-forwarded-proto": "https"}  # of which a proxy writes its own
        told = [await _visit(served.url, path, claimed) for claimed in (claims, {})]
    assert told[0] == told[1]
    assert told[0] == (f"{path}/", {"HttpOnly", f"Path={path or '/'}"}, f"http://lab.example.org{path}")


async def _visit(url: str, path: str, claims: dict[str, str]) -> tuple[str, set[str], str]:
    """Begin a session: where that leads, how far its cookies go, and what Gradio's page takes for its address."""
    async with httpx2.AsyncClient(base_url=url, headers={"host": "lab.example.org", **claims}, timeout=60) as client:
        start = await client.get(f"{path}/s/talk")
        begun = await client.post(f"{path}/s/talk", data={"ticket": TICKET.findall(start.text)[0]})
        cookies = begun.headers["set-cookie"]
        page = await client.get(f"{path}/", headers={"cookie": cookies.partition(";")[0]})
    assert "evil" not in "".join(f"{one.text}{dict(one.headers)}" for one in (start, begun, page))
    reach = {*re.findall(r"(?:Path|Domain)=[^;,]*|Secure|HttpOnly", cookies)}
    (root,) = re.findall(r'"root":"([^"]*)"', page.text)
    return begun.headers["location"], reach, root
