"""The console without its gate, for the tests of its rooms: whoever comes is who the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from app.bots.simulate import START_US
from app.clock import Clock, VirtualClock, WorldClock
from app.runtime import Runtime
from app.settings import Settings
from app.web.console.desk import Desk
from app.web.console.server import build_app
from app.web.console.visitor import VISITOR, Visitor
from storage.accounts.names import Role
from storage.engine import Database
from storage.participants import Participants, Person
from tests.fakes.accounts import Witnessed
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET, settings_for
from tests.fakes.sessions import study

ADA = Visitor("Ada", "owner")
CANARY = "5f3a0c6e9d1b2a7c-canary"
"""What a recruiter calls somebody."""


@dataclass
class Room:
    """A console over a database, what was written into its audit log, and who is at it."""

    desk: Desk
    app: ASGIApp
    did: list[tuple[str, str, str]]
    visitor: Visitor = ADA

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of whoever is at it."""
        await self.app({**scope, VISITOR: self.visitor}, receive, send)

    def as_(self, role: Role, name: str = "Ada") -> None:
        """Let somebody else sit down."""
        self.visitor = Visitor(name, role)


@contextmanager
def room(folder: Path, database: Database, clock: Clock | None = None) -> Iterator[Room]:
    """A console, at which Ada sits, an owner."""
    clock = clock or WorldClock()
    accounts = Witnessed(database, clock.now_us)
    desk = Desk(settings_for(folder), database, SECRET, clock, accounts)
    yield Room(desk, build_app(desk), accounts.told)
    desk.downloads.close()
    desk.log.close()


@asynccontextmanager
async def console(folder: Path, database: Database) -> AsyncIterator[tuple[Room, Researcher]]:
    """A console, and a researcher's browser at it."""
    with room(folder, database) as made:
        async with Researcher(app=made) as researcher:
            yield made, researcher


async def begin_as_canary(database: Database, name: str) -> None:
    """Somebody whom a recruiter calls by a telling id begins a study."""
    runtime = Runtime(database, Settings(), VirtualClock(START_US))
    identity = Participants(database, SECRET).entry(name, Person("prolific", CANARY))
    await runtime.enrol(study(name), origin="person", seed="ann", identity=identity)
    await runtime.close()
