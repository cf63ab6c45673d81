"""One reply of the fake model server: plain HTTP here; the files *_reply.py say what each protocol makes of it."""

import asyncio
import re
import socket
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

# What every reply says that it has cost, the request and the reply.
TOKENS = (12, 7)


class Left(Exception):
    """The client has closed the connection."""


@dataclass
class Reply:
    """The response that faults write: on one connection, in the words of one protocol."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    bytewise: bool = False
    """True if every byte of the stream is sent in a chunk of its own."""
    newline: str = "\n"
    """The end of the stream's lines."""
    mark: bytes = b""
    """The beginning of the stream: nothing, or a byte order mark."""
    kind: str = ""
    """The content type of the stream, where it is not the right one."""
    usage: bool = True
    """True if the end tells the cost of the reply."""
    _packer: Any = None

    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    request_id: ClassVar[str] = "x-request-id"
    # The protocol's own finish reasons, where they are not OpenAI's.
    words: ClassVar[dict[str, str]] = {}

    # what a protocol says

    @property
    def asked(self) -> str:
        raise NotImplementedError

    def objection(self) -> str | None:
        return None

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        raise NotImplementedError

    async def say(self, text: str) -> None:
        raise NotImplementedError

    async def think(self, text: str) -> None:
        """Send what is no part of the reply; nothing, in protocols without it."""

    async def refuse(self, text: str) -> None:
        raise NotImplementedError

    async def finish(self, reason: str = "stop") -> None:
        raise NotImplementedError

    async def end_only(self) -> None:
        raise NotImplementedError

    async def fail(self, message: str, code: str | None = None) -> None:
        raise NotImplementedError

    async def idle(self) -> None:
        await self.raw(": keep-alive\n\n")

    async def garble(self, text: str = "") -> None:
        await self.raw(f'data: {{"id": "c{text}", broken\n\n')

    async def nothing(self) -> None:
        """Send an event in which there is nothing of the reply; nothing, in most protocols."""

    async def begin(self) -> None:
        """Send what stands before the first piece; nothing, in most protocols."""

    # what HTTP says

    async def answer(self, status: int, content: str, kind: str = "application/json", **headers: str) -> None:
        data = content.encode()
        await self._head(status, {"content-type": kind, "content_length": str(len(data)), **headers})
        await self._write(data)

    async def open(self) -> None:
        packed = {"content-encoding": "gzip"} if self._packer else {}
        kind = {"content-type": self.kind or self.content_type}
        await self._head(200, {**kind, "transfer-encoding": "chunked", **packed})
        await self.send(self.mark)
        await self.begin()

    async def squeeze(self) -> None:
        self._packer = zlib.compressobj(wbits=31)

    async def raw(self, text: str) -> None:
        text = re.sub(
            "[\ud800-\udbff\ude00-\udfff]", lambda half: f"\\u{ord(half[0]):x}", text.replace("\n", self.newline)
        )
        await self.send(text.encode(errors="surrogateescape"))

    async def send(self, data: bytes) -> None:
        if self._packer:
            data = self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        for piece in [data[n : n + 1] for n in range(len(data))] if self.bytewise else [data] * bool(data):
            await self.plain_chunk(piece)

    async def plain_chunk(self, data: bytes) -> None:
        await self.plain(b"%x\r\n%b\r\n" % (len(data), data))

    async def plain(self, data: bytes) -> None:
        await self._write(data)

    async def close(self) -> None:
        if self._packer:
            self._packer, rest = None, self._packer.flush()
            await self.plain_chunk(rest)
        await self._write(b"0\r\n\r\n")

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def hang_up(self) -> None:
        self.writer.close()

    async def abort(self) -> None:
        self.writer.transport.abort()

    async def reset(self) -> None:
        connection: socket.socket = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.abort()

    async def wait(self, seconds: float) -> None:
        try:
            if await asyncio.wait_for(self.reader.read(1), seconds) == b"":
                raise Left
        except TimeoutError:
            return

    async def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Fake", f"{self.request_id}: req_fake", "set-cookie: who=you; Path=/"]
        lines.append("X-RateLimit-Remaining-Requests: 59")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self._write("\r\n".join([*lines, "", ""]).encode())

    async def _write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
