"""The way to model servers: connections that are kept, proxies, authorities, bodies without end, and what is secret."""

import asyncio
import gzip
import json
import logging
import ssl
import traceback
import tracemalloc
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from app.backends.completion import complete
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendError, BackendUnavailable
from tests.fakes.asking import HASTY, KEY, PATIENT, WAYS, Way, ask, asking, collect, create, said, settings_at
from tests.fakes.asking import whole_reply as expected
from tests.fakes.certificate import self_signed
from tests.fakes.model_server import serve

CHAT = WAYS["openai"]
# Far more bytes than may be in memory.
MUCH = 40_000_000
# The most memory that an answer of any size may take: its longest body in some copies.
PLENTY = 20_000_000


@pytest.fixture
def server():
    with serve() as running:
        yield running


def asked(settings, work, way=CHAT):
    async def once():
        backend = create(settings, way)
        try:
            return await work(backend)
        finally:
            await backend.close()

    return asyncio.run(once())


async def ask_whole(backend, limits=PATIENT, way=CHAT, **changes):
    return (await complete(backend, asking(way, **changes), limits)).text


# Connections


class Raw:
    """A server that speaks HTTP as it likes: each connection has one answer, and is closed."""

    def __init__(self, answer):
        self.answer, self.requests, self.connections = answer, 0, 0

    async def __call__(self, reader, writer):
        self.connections += 1
        try:
            await self.take(reader)
            async for piece in pieces_of(self.answer):
                writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def take(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].split(b":")[1]))
        self.requests += 1


async def pieces_of(answer):
    if isinstance(answer, bytes):
        yield answer
        return
    for piece in answer():
        await asyncio.sleep(0)
        yield piece


def http(body, status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


COMPLETION = json.dumps(
    {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
).encode()
EVENTS = (
    b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
)
STREAM = EVENTS[1] + b"%x\r\n%b\r\n0\r\n\r\n" % (len(EVENTS[0]), EVENTS[0])


@asynccontextmanager
async def listening(raw, tls=None):
    async with await asyncio.start_server(raw, "127.0.0.1", 0, ssl=tls) as listener:
        scheme = "https" if tls else "http"
        yield f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"


def with_raw(raw, work, way=CHAT, **more):
    async def once():
        async with listening(raw) as url:
            backend = create(settings_at(url, **more), way)
            try:
                return await work(backend)
            finally:
                await backend.close()

    return asyncio.run(once())


def test_a_kept_connection_that_closes_before_the_first_byte_is_one_silent_new_try():
    raw = Raw(STREAM)

    async def at_once(backend):
        texts = []
        for _ in range(8):
            texts += [
                said(deltas) for deltas in await asyncio.gather(*(collect(backend, asking(CHAT)) for _ in range(4)))
            ]
        return texts

    assert with_raw(raw, at_once) == ["Hi"] * 32
    assert raw.requests == 32


class Lines(Raw):
    """A server that gives one sound answer on its first connection, then what it has, and closes."""

    async def __call__(self, reader, writer):
        self.connections += 1
        for answer in [http(COMPLETION)] * (self.connections == 1) + [self.answer]:
            await self.take(reader)
            writer.write(answer)
        writer.close()


@pytest.mark.parametrize(("answer", "connections", "requests"), [(b"", 2, 3), (http(COMPLETION)[:-5], 1, 2)])
def test_a_request_is_made_twice_at_most_and_only_where_no_byte_came(answer, connections, requests):
    async def twice(backend):
        await ask_whole(backend)
        with pytest.raises(BackendUnavailable) as raised:
            await ask_whole(backend)
        return raised.value

    server = Lines(answer)
    error = with_raw(server, twice)
    assert error.reason == "connection"
    assert "What is 7+" in error.sent
    assert (server.connections, server.requests) == (connections, requests)


# Bodies without end


def zeros(size, head):
    packed = gzip.compress(b" " * size)
    return head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed


def endless(head, piece):
    def pieces():
        yield head
        for _ in range(MUCH // len(piece)):
            yield piece

    return pieces


OK, SORRY = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 Sorry\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SPACE = b"10000\r\n" + b" " * 65_536 + b"\r\n"
LINES = b"10000\r\n" + b": alive\n" * 8_192 + b"\r\n"
WITHOUT_END = {
    "a bomb": zeros(MUCH, OK),
    "a bomb of a refusal": zeros(MUCH, SORRY),
    "space": endless(OK + CHUNKED, SPACE),
    "signs of life": endless(OK + CHUNKED, LINES),
    "headers": endless(OK, b"X-More: " + b"x" * 8_000 + b"\r\n"),
    "a length of a chunk": endless(OK + CHUNKED, b"0" * 65_536),
    "early hints": endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1_000),
}


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", ["openai", "anthropic", "http-sse", "http-none"])
@pytest.mark.parametrize("body", WITHOUT_END)
def test_no_body_takes_more_memory_than_it_may(body, name, form):
    if form == "whole" and name.startswith("http"):
        pytest.skip("these stream for it as well")

    async def once():
        async with listening(Raw(WITHOUT_END[body])) as url:
            backend, way = create(settings_at(url), WAYS[name]), WAYS[name]
            asking_it = ask_whole(backend, HASTY, way) if form == "whole" else collect(backend, asking(way), HASTY)
            tracemalloc.start()
            try:
                with pytest.raises(BackendError):
                    await asking_it
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
                await backend.close()

    assert asyncio.run(once()) < PLENTY


# Proxies and authorities


@pytest.mark.parametrize("form", ["http://{}", "{}", "http://ada:secret-of-ada@{}"])
@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY"])
def test_the_machines_proxy_is_asked_with_or_without_a_scheme(variable, form, server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, form.format(server.base_url.removeprefix("http://").removesuffix("/v1")))
    assert said(ask(settings_at("http://models.example/v1"))) == expected(CHAT)
    assert server.requests[-1].path == "http://models.example/v1/chat/completions"
    assert ("proxy-authorization" in server.requests[-1].headers) == ("ada" in form)


@pytest.mark.parametrize("names", ["127.0.0.1", "*", "other.example, 127.0.0.1:{port}"])
def test_a_server_that_is_excepted_is_asked_without_the_proxy(names, server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", names.format(port=server.base_url.split(":")[2][:-3]))
    assert said(ask(settings_at(server.base_url))) == expected(CHAT)


@pytest.mark.parametrize("status", [407, 502])
def test_a_proxy_that_refuses_is_no_connection_and_its_password_is_not_told(status, monkeypatch):
    async def once():
        async def answer(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(http(b"no", f"{status} No"))
            writer.close()

        async with listening(answer) as url:
            monkeypatch.setenv(
                "https_proxy", f"http://ada:secret-of-ada@{url.removeprefix('http://').removesuffix('/v1')}"
            )
            monkeypatch.setenv("no_proxy", "")
            backend = create(settings_at("https://models.example/v1"), CHAT)
            with pytest.raises(BackendUnavailable) as raised:
                await collect(backend, asking(CHAT))
            await backend.close()
            return raised.value

    error = asyncio.run(once())
    assert error.reason == "connection"
    assert "secret-of-ada" not in str(error)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return self_signed(tmp_path_factory.mktemp("tls") / "server.pem")


def behind_tls(certificate, name, host="127.0.0.1"):
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate)
    way = WAYS[name]

    async def once():
        async with listening(Raw(STREAM if name == "openai" else http(b"{}")), own) as url:
            backend = create(settings_at(url.replace("127.0.0.1", host)), way)
            try:
                return said(await collect(backend, asking(way)))
            finally:
                await backend.close()

    return asyncio.run(once())


def test_an_authority_of_ones_own_is_trusted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert behind_tls(certificate, "openai") == "Hi"


@pytest.mark.parametrize("name", ["openai", "anthropic", "http-none"])
def test_a_server_that_nobody_vouches_for_is_not_asked(name, certificate):
    with pytest.raises(BackendUnavailable, match="CERTIFICATE_VERIFY_FAILED") as raised:
        behind_tls(certificate, name)
    assert raised.value.reason == "connection"


def test_a_certificate_for_another_name_does_not_count(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(BackendUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        behind_tls(certificate, "openai", "localhost")


# Secrets

QUERY, HEADER = "zq-secret-in-the-query", "zq-secret-in-a-header"


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("fault", ["", "401-quote", "500", "drop-at-once", "malformed", "quote-in-stream", "nobody"])
def test_no_secret_is_in_an_error_or_a_log_however_talkative(fault, name, server, caplog):
    way, secrets = WAYS[name], (KEY, QUERY, HEADER)
    url = "http://127.0.0.1:9/v1" if fault == "nobody" else server.base_url
    lab = Server(url=url, key=SecretStr(KEY), query={"code": SecretStr(QUERY)}, headers={"x-more": SecretStr(HEADER)})
    settings = Settings(model_servers={"fake": lab}, _env_file=None)
    told = ""
    with caplog.at_level(logging.DEBUG):
        try:
            ask(settings, Way(way.backend, way.options, "fake"), model=f"fault:{fault}" if fault else "m")
        except BackendError as error:
            told = "".join([*traceback.format_exception(error), error.sent, error.raw])
    assert [secret for secret in secrets if secret in told + caplog.text] == []
    if fault != "nobody":
        assert QUERY in server.requests[-1].path, "it was used"


def test_the_variables_of_the_sdk_decide_nothing(server, monkeypatch):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "stray")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-stray: stray\nauthorization: Bearer stray")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/stray")
    for way in (CHAT, WAYS["openai-responses"]):
        asked(settings_at(server.base_url), lambda backend, way=way: ask_whole(backend, way=way), way)
        ask(settings_at(server.base_url), way)
    assert len(server.requests) == 4
    for request in server.requests:
        assert "stray" not in request.raw_headers + request.path
        assert {"openai-organization", "openai-project", "x-stainless-os"} & {*request.headers} == set()
