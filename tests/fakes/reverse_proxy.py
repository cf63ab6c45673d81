"""A reverse proxy that serves several servers below paths of one host, in a thread of its own.

It leaves the path on, and passes on what comes as it comes. Requests for a path that belongs to no server are kept in
`strays`: a link that left its path.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field

from tests.fakes.aside import aside

PIECE = 65_536


@dataclass
class ReverseProxy:
    """Servers by the path below which each is found."""

    port: int = 0
    servers: dict[str, int] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            first, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
            target = first.decode("latin-1").split(" ")[1]
            path = target.partition("?")[0]
            self.paths.append(path)
            prefix = next((one for one in self.servers if path == one or path.startswith(f"{one}/")), None)
            if prefix is None:
                self.strays.append(target)
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            else:
                await self._pass_on(first, prefix, rest, reader, writer)
            await writer.drain()
        await self.close(writer)

    async def close(self, *writers: asyncio.StreamWriter) -> None:
        for writer in writers or [*self._open]:
            self._open.discard(writer)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _pass_on(
        self, first: bytes, prefix: str, rest: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        kept = [line for line in rest.split(b"\r\n") if line and not line.lower().startswith(b"connection:")]
        added = [b"connection: close", f"x-forwarded-prefix: {prefix}".encode(), b"x-forwarded-proto: http"]
        back, there = await asyncio.open_connection("127.0.0.1", self.servers[prefix])
        self._open.add(there)
        there.write(b"\r\n".join([first, *kept, *added, b"", b""]))
        sends = asyncio.create_task(pump(reader, there))
        try:
            await pump(back, writer)
        finally:
            sends.cancel()
            await self.close(there)


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass on each piece as it comes, as a proxy must for which a stream is no file."""
    with contextlib.suppress(ConnectionError):
        while piece := await source.read(PIECE):
            sink.write(piece)
            await sink.drain()


def reverse_proxy() -> AbstractContextManager[ReverseProxy]:
    """A proxy that runs until the block ends; its servers can be named once it runs."""
    return aside(_listening(ReverseProxy()))


@asynccontextmanager
async def _listening(proxy: ReverseProxy) -> AsyncIterator[ReverseProxy]:
    async with await asyncio.start_server(proxy.answer, "127.0.0.1", 0) as server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy
        server.close()
        await proxy.close()
