"""The console for tests: as it is served, or without its gate, so that whoever comes is who the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.bots.simulate import START_US
from app.clock import Clock, SystemClock, VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.web.console import server
from app.web.console.context import ConsoleContext
from app.web.console.current_user import VISITOR, CurrentUser
from storage.accounts.accounts import Accounts
from storage.accounts.roles import Role
from storage.db.engine import Database
from storage.registers.participants import ParticipantId, Participants
from tests.fakes.accounts import CHEAP, cheap_accounts
from tests.fakes.kept_pages import on_kept_page
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET, settings_for
from tests.fakes.sessions import study

ADA = CurrentUser("Ada", "owner")
# What a recruiter calls somebody.
CANARY = "5f3a0c6e9d1b2a7c-canary"


@dataclass
class Room:
    """A console over a database, and who is at it."""

    desk: ConsoleContext
    app: ASGIApp
    visitor: CurrentUser = ADA

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app({**scope, VISITOR: self.visitor}, receive, send)

    @property
    def did(self) -> list[tuple[str, str, str]]:
        """User, act and object of each entry in the audit log, the latest last."""
        entries = self.desk.accounts.audit_log.read(most=1000)
        return [(entry.who, entry.what, entry.about) for entry in reversed(entries)]

    def as_(self, role: Role, name: str = "Ada") -> None:
        self.visitor = CurrentUser(name, role)


@contextmanager
def room(folder: Path, database: Database, clock: Clock | None = None) -> Iterator[Room]:
    clock = clock or SystemClock()
    accounts = cheap_accounts(database, clock.now_us)
    desk = ConsoleContext(settings_for(folder), database, SECRET, clock, accounts)
    with on_kept_page(lambda: server.build_app(desk)) as app:
        yield Room(desk, app)
    _close(desk)


def _close(context: ConsoleContext) -> None:
    context.stop()
    context.sessions.log.close()


@contextmanager
def whole(settings: Settings, database: Database, clock: Clock | None = None) -> Iterator[ASGIApp]:
    """The console with its login and its gate, as it is served; it keeps passwords cheaply."""
    desks: list[ConsoleContext] = []

    def context(*known: Any) -> ConsoleContext:
        desks.append(ConsoleContext(*known))
        return desks[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "Accounts", partial(Accounts, hasher=CHEAP))
        patch.setattr(server, "ConsoleContext", context)
        with on_kept_page(lambda: server.build_console(settings, database, clock)) as made:
            yield made
    for desk in desks:
        _close(desk)


@asynccontextmanager
async def console(folder: Path, database: Database) -> AsyncIterator[tuple[Room, Researcher]]:
    with room(folder, database) as made:
        async with Researcher(app=made) as researcher:
            yield made, researcher


async def begin_as_canary(database: Database, name: str) -> None:
    runtime = SessionService(database, Settings(), VirtualClock(START_US))
    identity = Participants(database, SECRET).entry(name, ParticipantId("prolific", CANARY))
    await runtime.enrol(study(name), origin="person", seed="ann", identity=identity)
    await runtime.close()
