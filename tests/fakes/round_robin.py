"""A reverse proxy that gives each request to the next server in turn, whoever asks: nobody stays with one.

As nginx does, it passes a body on as it comes, tries another server where one cannot be reached, and sends nothing
twice.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle

HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
CONNECTION = re.compile(rb"\r\n(connection|keep-alive):[^\r]*", re.I)
CHUNK = 65_536


@dataclass
class Proxy:
    """Where it listens, and what became of the requests, by the port of who got them."""

    ports: Sequence[int]
    url: str = ""
    given: Counter[int] = field(default_factory=Counter)
    """How many requests each server got."""
    away: Counter[int] = field(default_factory=Counter)
    """How often one could not be reached."""

    def __post_init__(self) -> None:
        """Begin with the first."""
        self._turns = cycle(range(len(self.ports)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of a connection; then it is closed, so that the next one may go elsewhere."""
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(HEAD_END)
            length = LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            await self._pass(CONNECTION.sub(b"", head)[: -len(HEAD_END)], body, writer)
        await _close(writer)

    async def _pass(self, head: bytes, body: bytes, client: asyncio.StreamWriter) -> None:
        turn = next(self._turns)
        for port in (*self.ports[turn:], *self.ports[:turn]):
            try:
                reader, server = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                self.away[port] += 1
                continue
            self.given[port] += 1
            try:
                server.write(head + b"\r\nconnection: close" + HEAD_END + body)
                while piece := await reader.read(CHUNK):
                    client.write(piece)
                    await client.drain()
            finally:
                await _close(server)
            return
        client.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await client.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def in_turns(*ports: int) -> AsyncIterator[Proxy]:
    """A proxy before servers on this machine, until the block ends."""
    proxy, serving = Proxy(ports), set[asyncio.Task[None]]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(proxy.serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await asyncio.gather(*serving)
