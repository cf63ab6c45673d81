"""Those who receive alerts: a server to which they are posted, and a mail server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


@dataclass
class Posted:
    """A server that keeps what was posted to it, and answers with this status."""

    url: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    requests: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """What a chat server would show."""
        return [orjson.loads(content)["text"] for _, content in self.requests]

    async def take(self, request: Request) -> Response:
        """Keep a request."""
        self.requests.append((dict(request.headers), await request.body()))
        return PlainTextResponse("ok" if self.status == 200 else "no_service", self.status, dict(self.headers))


@asynccontextmanager
async def webhook(certificate: Path | None = None) -> AsyncIterator[Posted]:
    """A webhook on a free port, over TLS with a certificate."""
    posted = Posted()
    app = Starlette(routes=[Route("/{path:path}", posted.take, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", ssl_certfile=certificate))
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        posted.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/hooks/secret-path"
        yield posted
    finally:
        server.should_exit = True
        await task


@dataclass
class Mailbox:
    """A mail server (RFC 5321) that keeps what it is sent; it refuses the addresses in `unknown`."""

    port: int = 0
    unknown: set[str] = field(default_factory=set)
    messages: list[EmailMessage] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        writer.write(b"220 mail.test\r\n")
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            match line.upper().split()[0]:
                case "EHLO":
                    answer = "250-mail.test\r\n250 SIZE 1000000"
                case "RCPT" if any(name in line for name in self.unknown):
                    answer = "550 5.1.1 No such mailbox"
                case "DATA":
                    writer.write(b"354 Go on\r\n")
                    content = await reader.readuntil(b"\r\n.\r\n")
                    self.messages.append(message_from_bytes(content[:-3], policy=default))
                    answer = f"250 2.0.0 Ok: queued as {len(self.messages)}"
                case "QUIT":
                    writer.write(b"221 Bye\r\n")
                    break
                case _:
                    answer = "250 Ok"
            writer.write(f"{answer}\r\n".encode())
            await writer.drain()
        writer.close()


@asynccontextmanager
async def mailbox(certificate: Path | None = None) -> AsyncIterator[Mailbox]:
    """A mail server on a free port, over TLS with a certificate."""
    tls = None
    if certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate)
    box = Mailbox()
    server = await asyncio.start_server(box.serve, "127.0.0.1", 0, ssl=tls)
    box.port = server.sockets[0].getsockname()[1]
    async with server:
        yield box
