"""The console without its gate, for the tests of its rooms: whoever comes is who the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from app.clock import WorldClock
from app.web.console.desk import Desk
from app.web.console.server import build_app
from app.web.console.visitor import VISITOR, Visitor
from storage.accounts.names import Role
from storage.engine import Database
from tests.fakes.accounts import Witnessed
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET, settings_for

URL = "http://console.test"


@dataclass
class Room:
    """A console over a database, what was written into its audit log, and who is at it."""

    desk: Desk
    app: ASGIApp
    did: list[tuple[str, str, str]] = field(default_factory=list)
    visitor: Visitor = field(default_factory=lambda: Visitor("Ada", "owner"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of whoever is at it."""
        await self.app({**scope, VISITOR: self.visitor}, receive, send)

    def as_(self, role: Role, name: str = "Ada") -> None:
        """Let somebody else sit down."""
        self.visitor = Visitor(name, role)


@asynccontextmanager
async def console(folder: Path, database: Database) -> AsyncIterator[tuple[Room, Researcher]]:
    """A console, and a researcher's browser at it."""
    clock = WorldClock()
    accounts = Witnessed(database, clock.now_us)
    desk = Desk(settings_for(folder), database, SECRET, clock, accounts)
    room = Room(desk, build_app(desk), accounts.told)
    researcher = Researcher(URL)
    await researcher.client.aclose()
    researcher.client = httpx2.AsyncClient(transport=httpx2.ASGITransport(room), base_url=URL, timeout=60)
    async with researcher:
        yield room, researcher
    desk.log.close()
