"""One connection never makes a server grow: whatever somebody sends that has no end, or does not read.

With --soak: 100 MB of each, for as long as the server lets it wait, and 2,000 who do not read.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import gradio
import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.served import Process

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not report a process's memory"),
]
MEGABYTE = 1024 * 1024
MORE_MB = 20
PART = 65_536
HEAD = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /login HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "many headers": (HEAD, b"x-a: b\r\n"),
    "one long header": (HEAD + b"x-a: ", b"b" * 64),
    "a long address": (b"GET /", b"a" * 64),
    "a long method": (b"", b"A" * 64),
    "many requests at once": (b"", HEAD + b"\r\n"),
    "headers behind a body": (POST + b"0\r\n", b"x-a: b\r\n"),
    "a long chunk's length": (POST + b"1;", b"a" * 64),
}
"""How a request begins, and what follows it again and again."""


@asynccontextmanager
async def started(folder: Path, command: str = "serve") -> AsyncIterator[Process]:
    process = Process(folder, (studies.chat(folder),) if command == "serve" else (), command=command)
    await asyncio.to_thread(process.start)
    try:
        yield process
    finally:
        await asyncio.to_thread(process.kill)


def peak_mb(process: Process) -> float:
    """The most memory that it has had."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def parts(begin: bytes, more: bytes, megabytes: int) -> Iterator[bytes]:
    yield begin
    part = more * (PART // len(more))
    for _ in range(megabytes * MEGABYTE // len(part)):
        yield part


async def flood(process: Process, begin: bytes, more: bytes, *, soak: bool) -> None:
    """Send it on one connection, until nothing more is taken: whose answers nobody reads is read no further."""
    _, writer = await asyncio.open_connection("127.0.0.1", process.port)
    with suppress(ConnectionError, TimeoutError):
        for part in parts(begin, more, 100 if soak else 10):
            writer.write(part)
            async with asyncio.timeout(90 if soak else 3):
                await writer.drain()
    writer.transport.abort()


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    async with started(tmp_path_factory.mktemp("server")) as process:
        yield process


@pytest.fixture(params=["serve", pytest.param("console", marks=pytest.mark.soak)])  # one program listens for both
async def process(request: pytest.FixtureRequest, tmp_path: Path, server: Process) -> AsyncIterator[Process]:
    if request.param == "serve":
        yield server
    else:
        async with started(tmp_path, request.param) as process:
            yield process


async def test_a_request_without_end_takes_no_memory(process: Process, soak: bool) -> None:
    grown = {}
    async with httpx2.AsyncClient(base_url=process.url, timeout=60) as client:
        assert (await client.get("/healthz")).status_code == 200
        for name, (begin, more) in FLOODS.items():
            before = peak_mb(process)
            await flood(process, begin, more, soak=soak)
            assert (await client.get("/healthz")).status_code == 200
            grown[name] = peak_mb(process) - before
    print(grown)
    assert {name: megabytes for name, megabytes in grown.items() if megabytes > MORE_MB} == {}


def largest_asset() -> str:
    """The largest file that everybody may ask for."""
    folder = Path(gradio.__file__).parent / "templates" / "frontend"
    found = max((folder / "assets").iterdir(), key=lambda file: file.stat().st_size)
    return f"/{found.relative_to(folder)}"


EACH_KB = 200
"""Of one address at most 1,000 are held, so together no more than 200 MB; 270 each and no bound before."""


async def test_who_does_not_read_takes_little_memory(server: Process, soak: bool) -> None:
    people = 2_000 if soak else 200
    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:
        paths = [largest_asset(), "/"]
        for path in paths:
            assert (await client.get(path)).status_code in (200, 303)
        for path in paths:
            before = peak_mb(server)
            with ExitStack() as held:
                for _ in range(people):
                    held.enter_context(await deaf(server, path))
                await asyncio.sleep(2)
                grown_kb = (peak_mb(server) - before) * 1024 / people
                print(path, grown_kb)
                assert (await client.get("/healthz")).status_code == 200
            assert grown_kb < EACH_KB


async def deaf(process: Process, path: str) -> socket.socket:
    """Whoever asks for something and reads nothing of it."""
    loop = asyncio.get_running_loop()
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    one.setblocking(False)
    await loop.sock_connect(one, ("127.0.0.1", process.port))
    await loop.sock_sendall(one, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    return one
