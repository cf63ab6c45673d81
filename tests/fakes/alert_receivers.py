"""Those who receive alerts: a server to which they are posted, and a mail server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from threading import Event as ThreadEvent
from threading import Thread

import orjson
import uvicorn
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
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
        return [orjson.loads(content)["text"] for _, content in self.requests]

    async def take(self, request: Request) -> Response:
        self.requests.append((dict(request.headers), await request.body()))
        return PlainTextResponse("ok" if self.status == 200 else "no_service", self.status, dict(self.headers))


@asynccontextmanager
async def webhook(certificate: Path | None = None) -> AsyncIterator[Posted]:
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
    """A mail server that keeps what it is sent; it refuses the addresses in `unknown`."""

    port: int = 0
    unknown: set[str] = field(default_factory=set)
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    """The connections that greeted the server, with their encryption and login."""

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.sessions.append(session)
        return responses

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if any(name in address for name in self.unknown):
            return "550 5.1.1 No such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        self.messages.append(message_from_bytes(content, policy=default))
        self.recipients.append(envelope.rcpt_tos)
        return f"250 2.0.0 Ok: queued as {len(self.messages)}"


@contextmanager
def mailbox(
    tls: str = "none", certificate: Path | None = None, login: tuple[str, str] | None = None
) -> Iterator[Mailbox]:
    """A mail server on a free port, in a thread. `tls` is none, starttls or tls, with a file that has a key and its
    certificate; mails are then taken only encrypted. A `login` is a name and a password."""
    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)

    def known(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword) -> AuthResult:
        return AuthResult(success=login == (data.login.decode(), data.password.decode()), handled=False)

    box, loop = Mailbox(), asyncio.new_event_loop()
    up, stop = ThreadEvent(), asyncio.Event()

    def connection() -> SMTP:
        return SMTP(
            box,
            loop=loop,
            tls_context=context if tls == "starttls" else None,
            require_starttls=tls == "starttls",
            auth_require_tls=tls == "starttls",
            authenticator=known,
        )

    async def run() -> None:
        server = await loop.create_server(connection, "127.0.0.1", 0, ssl=context if tls == "tls" else None)
        box.port = server.sockets[0].getsockname()[1]
        up.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def main() -> None:
        loop.run_until_complete(run())
        loop.close()

    thread = Thread(target=main, daemon=True)
    thread.start()
    up.wait(30)
    try:
        yield box
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
