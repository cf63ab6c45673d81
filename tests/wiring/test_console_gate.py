"""The console's gate: a stranger gets nothing but the login, and no other site changes anything."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Message

from app.web.console.security import MOST_BODY
from problems.pictures import MOST_BYTES
from tests.fakes.accounts import BETTER, GOOD, HOME, Place
from tests.fakes.console_door import METHODS, Browser, browser, mark

pytestmark = pytest.mark.anyio
TOKEN = "x" * 43
PUBLIC = {("GET", "/login"), ("GET", f"/welcome/{TOKEN}"), ("GET", "/healthz"),
          ("POST", "/login"), ("POST", f"/welcome/{TOKEN}")}  # fmt: skip
FOR_VISITORS = {
    *(("GET", path) for path in (
        "/", "/console/console.js", "/console/picture", "/console/release", "/download/a.b-c_d=~", "/report/demo",
        "/assets/index.js", "/static/x.css",
        "/theme.css", "/favicon.ico", "/gradio_api/app_id",
    )),
    *(("POST", path) for path in ("/logout", "/console/picture", "/console/release", "/gradio_api/run/predict")),
}  # fmt: skip
SHUT = (
    "/gradio_api/startup-events", "/svelte/x",
    "/config", "/config/", "/openapi.json", "/docs", "/redoc", "/gradio_api/info", "/gradio_api/openapi.json",
    "/gradio_api/queue/join", "/gradio_api/queue/data", "/gradio_api/upload", "/gradio_api/runs",
    "/gradio_api/file=/etc/passwd", "/gradio_api/heartbeat/x", "/gradio_api/run/other", "/monitoring",
    "/manifest.json", "/console/", "/console/a/b.css", "/welcome/", "/welcome/a/b", "/login/", "/logout/", "/healthz/",
    "/api/look", "/s/demo", "/download/", "/download/../x", "/static/../x", "/console/.env", "/assets//x",
)  # fmt: skip


@pytest.fixture
async def ada(door: ASGIApp) -> AsyncIterator[Browser]:
    found = browser(door)
    assert (await found.log_in("ada", GOOD)).status_code == 303
    yield found
    await found.client.aclose()


async def raw(door: ASGIApp, method: str, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """What the gate answers to exactly this path, which no client has tidied."""
    said: list[Message] = []

    asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return asked.pop() if asked else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        said.append(message)

    given = {"host": "console.example", "origin": "http://console.example", **headers}
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()], "scheme": "http",
        "client": ("198.51.100.9", 1), "server": ("console.example", 80), "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    await door(scope, receive, send)
    start = said[0]
    body = b"".join(message.get("body", b"") for message in said[1:])
    return start["status"], body, {name.decode(): value.decode() for name, value in start["headers"]}


def every() -> set[tuple[str, str]]:
    paths = {*SHUT, *(path for _, path in PUBLIC | FOR_VISITORS)}
    return {(method, path) for method in METHODS for path in paths}


async def test_a_stranger_gets_nothing_but_the_login(door: ASGIApp) -> None:
    for method, path in every():
        status, body, headers = await raw(door, method, path)
        if (method.replace("HEAD", "GET"), path) in PUBLIC:
            assert status in (200, 403, 404), (method, path)
        elif path in ("/", "/logout"):
            assert (status, headers["location"], body) == (303, "/login", b""), (method, path)
        else:
            assert (status, body) == (401, b'{"note":"Please log in.","login":"/login"}'), (method, path)
        assert b"reached" not in body, (method, path)


async def test_a_visitor_reaches_what_is_listed_and_nothing_else(door: ASGIApp, ada: Browser) -> None:
    cookie = f"parley-console={ada.client.cookies['parley-console']}"
    let_through = set()
    for method, path in every():
        if (method, path) == ("POST", "/logout"):
            continue
        status, body, _ = await raw(door, method, path, cookie=cookie)
        if method != "HEAD" and (status, body) != (404, b"not found"):
            let_through.add((method, path))
    assert let_through == (PUBLIC | FOR_VISITORS) - {("POST", "/logout")}


async def test_the_login_leads_nowhere_else(stranger: Browser) -> None:
    for query in ("//evil.example", "next=https://evil.example", "\\evil.example", "%0d%0aset-cookie:a=b"):
        stranger.client.cookies.clear()
        response = await stranger.log_in("ada", GOOD, f"/login?{query}")
        assert response.headers["location"].startswith("/?")
        assert "\n" not in response.headers["location"]


SAME = {"origin": "http://console.example:7861"}
OTHERS: tuple[dict[str, str], ...] = (
    {},
    {"origin": "null"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"origin": "http://console.example"},
    {"origin": "http://evil.example"},
    {"origin": "https://console.example:7861"},
    {"origin": "http://console.example:7861.evil.example"},
    {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
)


async def test_only_a_page_of_this_host_changes_anything(ada: Browser) -> None:
    for headers in OTHERS:
        for path in ("/gradio_api/run/predict", "/login", f"/welcome/{TOKEN}", "/logout"):
            response = await ada.client.post(path, headers=headers)
            assert (response.status_code, "<form" in response.text) == (403, False), (path, headers)
            assert "access-control-allow-origin" not in response.headers
    for headers in (SAME, {"sec-fetch-site": "same-origin"}, {"origin": "null", "sec-fetch-site": "same-origin"}):
        assert (await ada.get("/")).status_code == 200, "nothing has logged them out"
        assert (await ada.client.post("/logout", headers=headers)).status_code == 303
        assert (await ada.get("/")).status_code == 303
        await ada.log_in("ada", GOOD)


async def test_large_bodies_are_refused(ada: Browser) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MOST_BODY // 65_536 + 1):
            yield b" " * 65_536

    async def post(content: Any, path: str = "/gradio_api/run/predict") -> httpx2.Response:
        return await ada.client.post(path, content=content, headers=SAME)

    assert (await post(b" " * MOST_BODY)).json() == {
        "reached": "/gradio_api/run/predict", "by": "ada", "bytes": MOST_BODY,
    }  # fmt: skip
    assert (await post(b" " * (MOST_BODY + 1))).status_code == 413
    assert (await post(pieces())).status_code == 413
    assert (await post(b" " * MOST_BYTES, "/console/picture")).json()["bytes"] == MOST_BYTES
    assert (await post(b" " * (MOST_BYTES + 1), "/console/picture")).status_code == 413


async def test_every_answer_is_protected(door: ASGIApp, ada: Browser) -> None:
    cookie = f"parley-console={ada.client.cookies['parley-console']}"
    for path in ("/", "/login", f"/welcome/{TOKEN}", "/healthz", "/config", "/report/x", "/gradio_api/app_id"):
        for known in ("", cookie):
            _, _, headers = await raw(door, "GET", path, cookie=known)
            found = [headers.get(name) for name in ("x-content-type-options", "x-frame-options", "cache-control")]
            assert found == ["nosniff", "DENY", "no-store"], path
            assert headers["referrer-policy"] in ("no-referrer", "same-origin"), path
    page = (await raw(door, "GET", "/login"))[2]["content-security-policy"]
    assert re.search(r"default-src 'none'; script-src 'self' 'nonce-[\w-]{20,}'", page)
    assert "frame-ancestors 'none'" in page
    assert (await raw(door, "GET", "/assets/x.js", cookie=cookie))[2]["cache-control"].startswith("private")


async def test_who_is_behind_a_request_is_told_by_the_cookie_alone(door: ASGIApp, ada: Browser, place: Place) -> None:
    assert (await ada.get("/")).json() == {"reached": "/", "by": "ada", "bytes": 0}
    bob = browser(door)
    await bob.log_in("bob", BETTER)
    claims = {"parley.visitor": "ada", "x-forwarded-user": "ada", "x-parley-visitor": "ada", "authorization": "ada"}
    assert (await bob.get("/?visitor=ada", **claims)).json()["by"] == "bob"
    await bob.client.aclose()


FORGED = ["", "x", TOKEN, "a.b.c", "../..", "ada", "é".encode().decode("latin-1"), "x" * 5_000]


async def test_a_forged_token_is_a_strangers(door: ASGIApp, ada: Browser) -> None:
    for token in FORGED:
        assert (await raw(door, "GET", "/theme.css", cookie=f"parley-console={token}"))[0] == 401


@pytest.mark.parametrize("how", ["logged out", "removed", "idle", "old", "password changed"])
async def test_a_login_that_has_ended_is_a_strangers(door: ASGIApp, place: Place, how: str) -> None:
    bob = browser(door)
    await bob.log_in("bob", BETTER)
    token = bob.client.cookies["parley-console"]
    assert (await raw(door, "GET", "/theme.css", cookie=f"parley-console={token}"))[0] == 200
    match how:
        case "logged out":
            response = await bob.send("/logout")
            assert (response.status_code, response.headers["location"]) == (303, "/login")
            assert "parley-console" not in bob.client.cookies
        case "removed":
            place.accounts.remove("bob", "ada")
        case "idle":
            place.clock.advance(30 * 60)
        case "old":
            for _ in range(12 * 4):
                place.clock.advance(15 * 60)
                await bob.get("/")
        case _:
            place.accounts.set_password("bob", GOOD, "ada")
    assert (await raw(door, "GET", "/theme.css", cookie=f"parley-console={token}"))[0] == 401
    await bob.client.aclose()


async def test_a_new_login_has_a_new_token_and_ends_the_one_before(door: ASGIApp, place: Place) -> None:
    logins = place.accounts.logins
    planted = logins.log_in("bob", BETTER, HOME)
    victim = browser(door)
    form = {"name": "ada", "password": GOOD, "mark": mark(await victim.get("/login"))}
    victim.client.cookies.set("parley-console", planted, domain="console.example")
    await victim.send("/login", form)
    assert victim.client.cookies.get("parley-console", domain="console.example") != planted
    assert logins.visitor(planted) is None
    await victim.client.aclose()
