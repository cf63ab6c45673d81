"""The connections by which a batch asks: kept, but not for long; closed by who leaves; and nothing is asked twice."""

import asyncio
import datetime
import ipaddress
import ssl
from contextlib import ExitStack

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from yarl import URL

from app.backends.whole import whole
from app.backends.wire import lines
from app.backends.wire.lines import Lines, head
from app.backends.wire.rests import Rests
from app.errors import BackendUnavailable
from app.servers import Server
from tests.fakes.asking import HASTY, PATIENT, WAYS, asking, create, settings_at, whole_reply
from tests.fakes.model_server import serve

BATCHED = ("openai", "openai-responses", "anthropic")
CHAT = WAYS["openai"]


@pytest.fixture
def server():
    with serve() as running:
        yield running


def asked(settings, work):
    """What `work` makes of a backend."""

    async def once():
        backend = create(settings, CHAT)
        try:
            return await work(backend)
        finally:
            await backend.close()

    return asyncio.run(once())


async def ask(backend, limits=PATIENT, **changes):
    return (await whole(backend, asking(CHAT, **changes), limits)).text


@pytest.mark.parametrize("name", BATCHED)
def test_a_connection_is_used_again(name, server):
    async def thrice():
        backend = create(settings_at(server.base_url), WAYS[name])
        for _ in range(3):
            await whole(backend, asking(WAYS[name]), PATIENT)
        await backend.close()

    asyncio.run(thrice())
    assert (server.connections, len(server.requests)) == (1, 3)


def test_calls_at_once_have_a_connection_each_and_replies_of_their_own(server):
    async def both(backend):
        requests = [asking(CHAT, model=f"m-{number}") for number in range(20)]
        replies = await asyncio.gather(*(whole(backend, request, PATIENT) for request in requests))
        assert [reply.end.model for reply in replies] == [f"m-{number}-2026" for number in range(20)]

    asked(settings_at(server.base_url), both)
    assert server.connections == 20


def test_whoever_leaves_closes_the_connection_and_the_next_has_another(server):
    async def leave(backend):
        task = asyncio.ensure_future(ask(backend, model="fault:hang-midway"))
        while not server.requests:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.wait_until_dropped)
        return await ask(backend)

    assert asked(settings_at(server.base_url), leave) == whole_reply(CHAT)
    assert server.connections == 2


def test_an_answer_that_is_too_late_closes_the_connection(server):
    async def wait(backend):
        with pytest.raises(BackendUnavailable) as raised:
            await ask(backend, HASTY, model="fault:hang")
        return raised.value.reason

    assert asked(settings_at(server.base_url), wait) == "timeout_reply"
    assert server.wait_until_dropped()


@pytest.mark.parametrize(
    "fault", ["drop", "drop-at-once", "short", "no-answer", "reset", "gzip-broken", "endless-lines"]
)
def test_after_a_fault_the_next_call_has_a_connection_of_its_own(fault, server):
    async def twice(backend):
        with pytest.raises(Exception, match=r"broke|8 MB|BadBody"):
            await ask(backend, model=f"fault:{fault}")
        return await ask(backend)

    assert asked(settings_at(server.base_url), twice) == whole_reply(CHAT)
    assert (server.connections, len(server.requests)) == (2, 2)


class Nowhere(asyncio.Transport):
    """A way on which what is sent is gone."""

    def write(self, data):
        pass


@pytest.mark.parametrize("ends", ["whole", "broken"])
def test_the_pause_between_two_pieces_is_over_with_the_answer_and_nothing_of_it_is_lost(ends):
    async def read():
        line = lines.Line(Rests())
        line.connection_made(Nowhere())
        loop = asyncio.get_running_loop()
        loop.call_soon(line.data_received, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none")
        assert await line.begin(b"") is None
        assert await line.more() == b"one"
        loop.call_later(0.01, line.data_received, b"two" if ends == "whole" else b"tw")
        if ends == "broken":
            loop.call_later(0.02, line.connection_lost, None)
        await asyncio.wait_for(line.pause.last(3600), 5)
        if ends == "whole":
            assert [await line.more(), await line.more(), line.free] == [b"two", b"", True]
            return
        assert await line.more() == b"tw"
        with pytest.raises(ConnectionResetError):
            await line.more()

    asyncio.run(read())


def test_a_connection_that_the_server_closed_meanwhile_is_not_used():
    async def later(backend, server, stack):
        await ask(backend)
        stack.close()
        await asyncio.sleep(0.05)
        with serve(URL(server.base_url).port) as again:
            return await ask(backend), again.connections

    with ExitStack() as stack:
        server = stack.enter_context(serve())
        replied = asked(settings_at(server.base_url), lambda backend: later(backend, server, stack))
    assert replied == (whole_reply(CHAT), 1)


def test_a_connection_that_nobody_used_for_long_is_not_used(server, monkeypatch):
    monkeypatch.setattr(lines, "KEPT_S", -1.0)

    async def twice(backend):
        return [await ask(backend), await ask(backend)]

    assert asked(settings_at(server.base_url), twice) == [whole_reply(CHAT)] * 2
    assert server.connections == 2


def test_nothing_is_asked_twice_where_the_server_closes_in_the_moment_of_asking(server):
    async def after_a_sound_one(backend):
        await ask(backend)
        with pytest.raises(BackendUnavailable) as raised:
            await ask(backend, model="fault:drop-at-once")
        return raised.value

    error = asked(settings_at(server.base_url), after_a_sound_one)
    assert error.reason == "connection"
    assert "What is 7+" in error.sent
    assert (server.connections, len(server.requests)) == (1, 2)


def test_nobody_listening_is_unavailable():
    with serve() as server:
        address = server.base_url
    with pytest.raises(BackendUnavailable, match=address) as raised:
        asked(settings_at(address), ask)
    assert raised.value.reason == "connection"


def test_a_proxy_of_the_machine_is_asked_in_place_of_the_server(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "")
    assert asked(settings_at("http://models.example/v1"), ask) == whole_reply(CHAT)
    assert server.requests[-1].path == "http://models.example/v1/chat/completions"


def test_a_request_has_one_length_and_one_host_whatever_the_deployment_says():
    given = {"Content-Length": "3", "Transfer-Encoding": "chunked", "connection": "close", "X-Key": "k"}
    told = head(URL("http://models.example:81/v1/chat completions?a=b c"), given).decode().split("\r\n")
    assert told == [
        "POST /v1/chat%20completions?a=b+c HTTP/1.1", "host: models.example:81", "x-key: k", "content-length: ",
    ]  # fmt: skip
    assert "host: inside" in head(URL("http://models.example"), {"Host": "inside"}).decode()


@pytest.mark.parametrize("name", ["X\r\nX-More", "X: y\r\n\r\n"])
def test_a_header_cannot_hold_another(name):
    with pytest.raises(ValueError, match="cannot be sent"):
        head(URL("http://models.example"), {name: "1"})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of a server at 127.0.0.1, signed by itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "models")])
    there = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    day = datetime.timedelta(days=1)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    signed = built.add_extension(there, critical=False).sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    parts = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(parts + signed.public_bytes(serialization.Encoding.PEM))
    return file


async def _behind_tls(certificate, tls, host="127.0.0.1"):
    """Ask a server with a certificate twice; how it answers, and how many connections it saw."""
    seen = []

    async def answer(reader, writer):
        seen.append(1)
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate)
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=own) as listener:
        server = Server(url=f"https://{host}:{listener.sockets[0].getsockname()[1]}")
        known = Lines(server, tls, 2.0)
        request = head(URL(server.url), {}) + b"0\r\n\r\n"
        try:
            answers = [await known.ask(request), await known.ask(request)]
        finally:
            known.close()
            await asyncio.sleep(0.01)
    return [one.body for one in answers], len(seen)


def test_a_server_whose_certificate_is_trusted_is_asked(certificate):
    tls = ssl.create_default_context(cafile=str(certificate))
    assert asyncio.run(_behind_tls(certificate, tls)) == ([b"{}", b"{}"], 1)


def test_a_server_that_nobody_vouches_for_is_not_asked(certificate):
    with pytest.raises(BackendUnavailable, match=r"CERTIFICATE_VERIFY_FAILED") as raised:
        asyncio.run(_behind_tls(certificate, ssl.create_default_context()))
    assert raised.value.reason == "connection"


def test_a_certificate_for_another_name_does_not_count(certificate):
    tls = ssl.create_default_context(cafile=str(certificate))
    with pytest.raises(BackendUnavailable, match=r"CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(_behind_tls(certificate, tls, "localhost"))
