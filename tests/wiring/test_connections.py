"""What holds a connection without asking anything is let go, and no single machine holds them all."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from app.cli.http_server import ConnectionLimits
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Process, Served, serving, settings_for

pytestmark = pytest.mark.anyio
WHOLE_S, OF_ONE = 1.0, 20
# Far less than what drips would take.
CLOSED_S = 60
HEAD = b"POST /api/look HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
PARTS = {
    "nothing at all": [],
    "a header that never ends": [HEAD],
    "a header that drips": [b"GET / HTTP/1.1\r\n", *(b"x-%d: 1\r\n" % number for number in range(1_000))],
    "a body that never comes": [HEAD + b"content-length: 9\r\n\r\n"],
    "a body that drips": [HEAD + b"content-length: 900\r\n\r\n", *([b" "] * 800)],
    "a chunk that never comes": [HEAD + b"transfer-encoding: chunked\r\n\r\n", b"5\r\nab"],
    "a second request that never ends": [HEAD + b"content-length: 2\r\n\r\n{}", HEAD],
    "a body that was refused, and still drips": [HEAD + b"content-length: 900000\r\n\r\n", *([b" "] * 800)],
}


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("connections")
    slow = studies.chat(folder, options={"first_ms": 2500, "pace_ms": 1})
    async with serving(
        settings_for(folder), slow, limits=ConnectionLimits(most=60, address=OF_ONE, whole_s=WHOLE_S)
    ) as served:
        yield served


async def connect(served: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = served.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def look(served: Served) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        return await client.get("/healthz")


async def drip(writer: asyncio.StreamWriter, parts: list[bytes]) -> None:
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.1)


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while True:
        try:
            part = await asyncio.wait_for(reader.read(65_536), CLOSED_S)
        except ConnectionError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


async def is_let_go(served: Served, parts: list[bytes]) -> None:
    """However these parts of a request come, the connection is closed."""
    reader, writer = await connect(served)
    dripping = asyncio.create_task(drip(writer, parts))
    answer = await until_closed(reader)
    dripping.cancel()
    await asyncio.gather(dripping, return_exceptions=True)
    writer.close()
    assert b" 500 " not in answer


async def test_a_request_that_does_not_come_whole_is_not_waited_for(served: Served) -> None:
    await asyncio.gather(*(is_let_go(served, parts) for parts in PARTS.values()))
    assert (await look(served)).status_code == 200


async def test_who_waits_for_a_reply_is_waited_for(served: Served) -> None:
    async with HttpBot(served.url, "1") as bot:
        await bot.arrive("talk")
        await bot.until(path="with_ai")
        await bot.do("say", {"text": "Hello"})
        assert (await bot.listen()).text
        await asyncio.sleep(2 * WHOLE_S)
        await bot.finish()


async def test_one_machine_holds_so_many_connections_and_no_more(served: Served) -> None:
    async with AsyncExitStack() as stack:
        held = [await connect(served) for _ in range(OF_ONE)]
        for _, writer in held:
            stack.callback(writer.close)
        more, writer = await connect(served)
        stack.callback(writer.close)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(more.read(), CLOSED_S) == b""
    give_up = time.monotonic() + CLOSED_S
    while True:
        try:
            assert (await look(served)).status_code == 200
            break
        except httpx2.TransportError:
            assert time.monotonic() < give_up, "what was let go is counted still"
            await asyncio.sleep(0.05)


MEGABYTE = 1024 * 1024
WHOLE_MB, MORE_MB = 50, 20


async def pour(process: Process, head: bytes, *, chunked: bool) -> bytes:
    """Send a large body, as far as it is taken; what came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(head)
    part = b" " * MEGABYTE
    with suppress(ConnectionError):
        for _ in range(WHOLE_MB):
            writer.write(b"%x\r\n%b\r\n" % (MEGABYTE, part) if chunked else part)
            await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(-1), CLOSED_S)
    return b""


def peak_mb(process: Process) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell of memory there")
@pytest.mark.parametrize("command", ["serve", pytest.param("console", marks=pytest.mark.soak)])
async def test_a_large_body_is_not_kept(tmp_path: Path, command: str) -> None:
    process = Process(tmp_path, (studies.chat(tmp_path),) if command == "serve" else (), command=command)
    await asyncio.to_thread(process.start)
    try:
        path = "/api/act" if command == "serve" else "/login"
        origin = f"origin: {process.url}\r\nhost: {process.url.partition('://')[2]}\r\n"
        head = f"POST {path} HTTP/1.1\r\n{origin}content-type: application/json\r\n"
        async with httpx2.AsyncClient(timeout=60, base_url=process.url, headers={"origin": process.url}) as client:
            for _ in range(3):
                assert (await client.post(path, content=b" " * 10_000)).status_code in (401, 403, 422)
            before = peak_mb(process)
            told = [
                await pour(process, f"{head}content-length: {WHOLE_MB * MEGABYTE}\r\n\r\n".encode(), chunked=False),
                await pour(process, f"{head}transfer-encoding: chunked\r\n\r\n".encode(), chunked=True),
            ]
            assert peak_mb(process) - before <= MORE_MB
            assert (await client.get("/healthz")).status_code == 200
        assert all(answer == b"" or b" 413 " in answer.split(b"\r\n")[0] for answer in told)
    finally:
        await asyncio.to_thread(process.stop)


async def test_a_server_that_is_full_says_so(tmp_path: Path) -> None:
    within = ConnectionLimits(most=10, address=None)
    async with serving(settings_for(tmp_path), studies.chat(tmp_path), limits=within) as served:
        held = [await connect(served) for _ in range(10)]
        response = await look(served)
        assert (response.status_code, response.text) == (503, "Service Unavailable")
        for _, writer in held:
            writer.close()
        while (await look(served)).status_code != 200:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("proxies", ["", "127.0.0.1"])
async def test_an_address_that_somebody_claims_is_not_believed(tmp_path: Path, proxies: str) -> None:
    few = settings_for(
        tmp_path, requests_per_second=0.01, request_burst=2, address_rate_multiplier=1, trusted_proxies=proxies
    )
    async with (
        serving(few, studies.chat(tmp_path)) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        answers = [
            await client.post("/api/look", json={}, headers={"x-forwarded-for": f"198.51.100.{number}"})
            for number in range(5)
        ]
    assert {answer.status_code for answer in answers} == ({401} if proxies else {401, 429})
