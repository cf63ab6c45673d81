"""The gate: what the internet can reach, and what every answer carries; a route that Gradio adds shows here."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from itsdangerous import URLSafeSerializer
from starlette.datastructures import Headers

from app.web.security import MOST_BODY, is_own_origin
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served, serving, settings_for, ticket
from tests.wiring.routes import routes

pytestmark = pytest.mark.anyio
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# What the gate lets through; behind it many of these are 404 all the same, such as a study that does not exist.
OPEN = {
    *((method, path) for method in ("GET", "HEAD") for path in (
        "/", "/s/x", "/walk/x", "/out", "/healthz", "/healthz/live", "/healthz/ready", "/robots.txt", "/theme.css",
        "/favicon.ico", "/parley/page.js", "/parley/page.css", "/static/x", "/assets/x", "/api/reply",
        "/s/x/calendar.ics", "/s/x/reminders", "/next",
    )),
    ("POST", "/s/x"), ("POST", "/api/picture"),
    *(("POST", f"/api/{name}") for name in ("look", "act", "draft", "preview", "telemetry")),
    ("POST", "/hook/prolific"), ("POST", "/s/x/reminders"),
}  # fmt: skip
CLOSED = (
    "/gradio_api/app_id", "/gradio_api/startup-events", "/gradio_api/run/predict", "/svelte/x", "/deep_link",
    "/config", "/config/", "/openapi.json", "/docs", "/redoc", "/gradio_api/info", "/gradio_api/openapi.json",
    "/gradio_api/queue/join", "/gradio_api/queue/data", "/gradio_api/upload", "/gradio_api/runs",
    "/gradio_api/file=/etc/passwd", "/gradio_api/heartbeat/x", "/monitoring", "/manifest.json", "/api", "/api/act/",
    "/parley/", "/s/", "/s/a/b", "/healthz/", "/login", "/console/console.js", "/report/talk", "/download/x",
)  # fmt: skip
NOT_FOUND = b"not found"


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("gate")
    async with serving(settings_for(folder), studies.chat(folder)) as served:
        yield served


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        yield client


@pytest.fixture(scope="module")
async def resident(served: Served) -> AsyncIterator[HttpBot]:
    async with HttpBot(served.url, "1") as bot:
        await bot.arrive("talk")
        yield bot


async def raw(served: Served, request: bytes) -> bytes:
    host, port = served.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(-1), 60)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_only_listed_routes_answer(served: Served, client: httpx2.AsyncClient) -> None:
    paths = {*routes(served.app), "/parley/page.js", *CLOSED}
    assert len(paths) > 60, "the walk through the routes finds Gradio's"
    let_through = set()
    for path in sorted(paths):
        for method in METHODS:
            response = await client.request(method, path)
            if response.status_code != 404 or (method != "HEAD" and response.content != NOT_FOUND):
                let_through.add((method, path))
    expected = {pair for pair in OPEN if pair[0] != "HEAD" or (("HEAD", pair[1]) in let_through)}
    assert let_through <= OPEN
    assert expected <= let_through


AROUND = (
    "/static/../../etc/passwd", "/static/%2e%2e/%2e%2e/pyproject.toml", "/static/..%2f..%2fetc%2fpasswd",
    "/static//etc/passwd", "/assets/../index.html", "/parley/../server.py", "/parley/%2e%2e/server.py",
    "/parley/..%5cserver.py", "/svelte/../../../etc/passwd", "/s/../config", "//config", "/./config",
    "/static/fonts/../../index.html", "/%63onfig", "/parley/page.js%00",
)  # fmt: skip


async def test_no_way_around(served: Served) -> None:
    for path in AROUND:
        answer = await raw(served, f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        assert re.match(rb"HTTP/1.1 (404|400) ", answer), answer[:200]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 401),
        ("own", 401),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("own by https", 403),
    ],
)
async def test_another_site_may_not_act(served: Served, client: httpx2.AsyncClient, origin: str, status: int) -> None:
    own = {"own": served.url, "own by https": served.url.replace("http:", "https:")}
    headers = {} if origin is None else {"origin": own.get(origin, origin)}
    act = {"kind": "submit", "path": "consent", "seen": 1, "key": "12345678"}
    bodies = {"look": act, "act": act, "draft": act, "telemetry": {"key": "0" * 32, "records": []}}
    for name, body in bodies.items():
        response = await client.post(f"/api/{name}", json=body, headers=headers)
        assert response.status_code == status
        assert "access-control-allow-origin" not in response.headers
    if status == 403:
        assert (await client.post("/s/talk", headers=headers)).status_code == 403


@pytest.mark.parametrize(
    ("origin", "sent", "scheme", "address", "own"),
    [
        ("https://h", {}, "http", "https://h/studies", True),  # a proxy ends TLS and reports nothing
        ("http://h", {}, "http", "https://h", False),
        ("http://h", {}, "https", "https://h", False),
        ("https://h", {"x-forwarded-proto": "https"}, "http", "http://127.0.0.1:7860", True),
        ("https://h", {"x-forwarded-proto": "https, http"}, "http", "http://127.0.0.1:7860", True),
        ("http://h", {"x-forwarded-proto": "https"}, "http", "http://127.0.0.1:7860", False),
        ("https://h", {"sec-fetch-site": "same-origin"}, "http", "http://127.0.0.1:7860", True),
        ("https://h", {"sec-fetch-site": "cross-site"}, "http", "http://127.0.0.1:7860", False),
        ("https://evil", {"sec-fetch-site": "same-origin"}, "https", "https://h", False),
        ("https://h", {}, "https", "http://127.0.0.1:7860", True),
        ("h", {}, "http", "http://h", False),
    ],
)
def test_an_origin_is_compared_by_scheme_and_host(
    origin: str, sent: dict[str, str], scheme: str, address: str, own: bool
) -> None:
    headers = Headers({"origin": origin, "host": "h", **sent})
    assert is_own_origin({"type": "http", "scheme": scheme}, headers, address) == own


async def test_a_request_without_a_host_is_of_no_page_of_ours(served: Served) -> None:
    for origin in ("null", served.url):
        asked = f"POST /api/look HTTP/1.0\r\norigin: {origin}\r\ncontent-length: 2\r\n\r\n{{}}"
        assert (await raw(served, asked.encode())).split()[1] == b"403"


async def test_no_answer_is_for_another_sites_eyes(served: Served, resident: HttpBot, soak: bool) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    hosts = ("127.0.0.1", "study.example.org")[not soak :]
    methods = METHODS if soak else ("GET", "POST", "OPTIONS")
    for host, method, path in itertools.product(hosts, methods, {path for _, path in OPEN} | {"/config"}):
        told = await resident.client.request(method, path, headers={**asked, "host": host})
        assert not [name for name in told.headers if name.startswith("access-control-")], (method, path)
        assert method != "POST" or told.status_code in (403, 404), path


async def test_large_bodies_are_refused_unread(served: Served, client: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MOST_BODY // 1024 + 1):
            yield b" " * 1024

    for path in ("/api/act", "/api/draft", "/api/look", "/api/picture", "/s/talk"):
        assert (await client.post(path, content=b" " * (MOST_BODY + 1))).status_code == 413
        assert (await client.post(path, content=pieces())).status_code == 413
    assert (await client.post("/api/look", content=b" " * MOST_BODY)).status_code == 422
    head = "POST /api/look HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n"
    for length, status in {"99999999": b"413", "-1": b"400", "1e3": b"400"}.items():
        assert (await raw(served, head.format(length).encode())).split()[1] == status, length


PROTECTED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


async def test_every_answer_is_protected(client: httpx2.AsyncClient, resident: HttpBot) -> None:
    for path in ("/", "/s/talk", "/s/other", "/config", "/api/reply", "/healthz", "/robots.txt"):
        for headers in ((await client.get(path)).headers, (await resident.send("GET", path)).headers):
            expected = PROTECTED | ({"referrer-policy": "same-origin"} if path.startswith("/s/") else {})
            assert {name: headers.get(name) for name in expected} == expected
            assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/s/talk", "/s/other"])
async def test_pages_run_only_our_scripts(resident: HttpBot, path: str) -> None:
    nonces = set()
    for _ in range(2):
        response = await resident.send("GET", path)
        policy = dict(
            part.strip().partition(" ")[::2] for part in response.headers["content-security-policy"].split(";")
        )
        (nonce,) = re.findall(r"'nonce-([\w-]{20,})'", policy["script-src"])
        compiles = " 'unsafe-eval'" if path == "/" else ""
        assert policy["script-src"] == f"'self' 'nonce-{nonce}'{compiles}"
        assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'none'")
        scripts = re.findall(r"<script\b[^>]*>", response.text, re.I)
        assert all(f'nonce="{nonce}"' in script for script in scripts)
        assert not re.search(r"<[^>]+\son\w+\s*=", response.text), "no handler in an attribute"
        assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//(?!localhost)[^"' >]+""", response.text)
        nonces.add(nonce)
    assert len(nonces) == 2


def signed(payload: object, secret: str = SECRET, salt: str = "parley participant") -> str:
    return str(URLSafeSerializer(secret, salt=salt).dumps(payload))


FORGED = (
    "", "x", "a.b.c", "é", signed("no-such-session"), signed(["x"]), signed(None), signed(7),
    signed("stream", salt="other"), "%00", "\"", ".." * 500,
)  # fmt: skip


async def test_a_forged_cookie_is_nobody(served: Served, resident: HttpBot) -> None:
    body = {"kind": "submit", "path": "consent", "seen": 1, "key": "12345678", "view": "screen"}
    for cookie in (*FORGED, signed(resident.stream, secret="x" * 32)):
        async with httpx2.AsyncClient(
            timeout=60, base_url=served.url, headers={"cookie": f"parley={cookie}".encode()}
        ) as client:
            for path in ("look", "act", "draft"):
                response = await client.post(f"/api/{path}", json=body)
                assert (response.status_code, list(response.json())) == (401, ["note", "words", "lang", "dir"])
            assert (await client.get("/api/reply")).status_code == 401
            assert (await client.get("/")).status_code in (200, 303)


@pytest.mark.parametrize("public_url", [None, "https://study.example.org"])
async def test_the_cookie_is_the_browsers_own(tmp_path: Path, public_url: str | None) -> None:
    settings = settings_for(tmp_path, public_url=public_url)
    async with (
        serving(settings, studies.chat(tmp_path)) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        response = await client.post("/s/talk?PROLIFIC_PID=5f3a", data=ticket("talk"))
    name, *flags = [part.strip() for part in response.headers["set-cookie"].split(";")]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(flags)
    assert ("Secure" in flags, name.startswith("__Host-parley=")) == ((True, True) if public_url else (False, False))
    assert not any(flag.lower().startswith("domain") for flag in flags)
    assert response.headers["location"] == "/"
