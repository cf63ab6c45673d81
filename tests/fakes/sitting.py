"""A session of a study without HTTP, and the processes that serve it over one database, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from app.annotation.judge import judge_question
from app.bots.random_bot import RandomBot
from app.clock import Clock, SystemClock
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from experiments.events import Event
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from storage.log.event_log import load
from tests.fakes import studies
from tests.fakes.clicks import click, finish
from tests.fakes.let_go import let_go
from tests.fakes.served import settings_for


class Sitting:
    """`study` may be what its file says; `settings` are those of the processes."""

    def __init__(
        self, folder: Path, study: Study | Mapping[str, Any], clock: Clock | None = None, **settings: Any
    ) -> None:
        self.study = study if isinstance(study, Study) else load_study(str(studies.write(folder, study)))
        self.settings = settings_for(folder, **settings)
        self.database: Database = open_database(self.settings.database_url)
        self.clock = clock or SystemClock()
        self.services: list[SessionService] = []
        self.live: LoadedSession
        self.start()

    def start(self) -> SessionService:
        """Another process."""
        self.services.append(SessionService(self.database, self.settings, self.clock, judge_question))
        self.service.prepare(self.study)
        return self.service

    async def kill(self, service: SessionService | None = None) -> None:
        """End the newest process, or another one, which leaves what it does undone."""
        self.services.remove(service := service or self.service)
        await service.close()

    @property
    def service(self) -> SessionService:
        """The newest process."""
        return self.services[-1]

    async def begin(self, seed: str = "1", origin: str = "person", **known: Any) -> Self:
        self.live = await self.service.enrol(self.study, origin=origin, seed=seed, **known)
        return self

    async def act(self, kind: str, /, **values: Any) -> Self:
        """A click on the screen as it was seen last."""
        seen = self.live.screen
        self.live = await self.service.participant(self.live.stream, kind, seen.path, values, seen=seen.seen)
        return self

    async def click(self, kind: str = "submit", /, **values: Any) -> Self:
        """A click, and whatever follows from it."""
        self.live = await click(self.service, self.live, kind, **values)
        return self

    async def finish(self, seed: str = "1") -> Self:
        """Go on to the end as a bot does."""
        self.live = await finish(self.service, self.live, RandomBot(seed))
        return self

    async def settle(self) -> Self:
        """Wait until nothing is under way, and look at the screen."""
        await asyncio.wait_for(self.service.settled(self.live.stream), 60)
        self.live = await self.service.get(self.live.stream) or self.live
        return self

    @property
    def events(self) -> tuple[Event, ...]:
        return load(self.database, self.live.stream)

    @property
    def said(self) -> list[tuple[str, str]]:
        """The messages on the screen, each with who said it."""
        chat = self.live.screen.panel.chat
        return [(one.role, one.text) for one in chat.messages] if chat else []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for service in self.services:
            await service.close()
        let_go(self.database)
