"""A study whose models use tools of the fake server, a session in it, and the processes that serve them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.clock import SystemClock
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from experiments.events import Event
from experiments.study.screen import ReplyView
from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.let_go import let_go
from tests.fakes.served import settings_for
from tests.fakes.tool_server import NAME
from tests.wiring.reading import facts

FIND, PAY = {"tool": "find", "arguments": {"order": "7"}}, {"tool": "pay", "arguments": {"order": "7"}}
PRICE = {"prompt": 1.0, "completion": 1.0}
CHAT = {"step": "chat", "model": "one"}


async def until(true: Callable[[], bool]) -> None:
    """Wait for what the watch of a server does by itself."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


class Desk:
    """A session in a conversation whose scripted models ask for these calls, and the processes that serve it."""

    def __init__(
        self,
        folder: Path,
        *calls: dict[str, Any],
        step: Mapping[str, Any] = CHAT,
        model: Mapping[str, Any] | None = None,
        **tools: Any,
    ) -> None:
        options = {"calls": [list(calls)], "first_ms": 0, "pace_ms": 0}
        scripted = {"backend": "scripted", "options": options, "price": PRICE}
        raw = {
            "study": "desk",
            "title": "Desk",
            "problems": {"items": {"items": [{"question": "Well?"}]}},
            "models": dict.fromkeys(step.get("models", ("one",)), model or scripted),
            "tools": {"desk": {"package": NAME, "writes": ["pay"], **tools}},
            "flow": [
                {"each": "item", "of": "items", "flow": [{"tools": "desk", **step}]},
                {"step": "finish"},
            ],
        }
        self.study = load_study(str(studies.write(folder, raw)))
        self.settings = settings_for(folder)
        self.database = open_database(self.settings.database_url)
        self.services: list[SessionService] = []
        self.number = 0
        self.start()
        self.live: LoadedSession

    def start(self) -> None:
        self.services.append(SessionService(self.database, self.settings, SystemClock()))
        self.services[-1].prepare(self.study)

    @property
    def service(self) -> SessionService:
        return self.services[-1]

    async def say(self, text: str = "Where is it?") -> Desk:
        """Begin a session with a message."""
        self.number += 1
        self.live = await self.service.enrol(self.study, origin="person", seed=str(self.number))
        await self.act("say", text=text)
        return await self.settle()

    async def act(self, kind: str, **values: Any) -> None:
        seen = self.live.screen
        self.live = await self.service.participant(self.live.stream, kind, seen.path, values, seen=seen.seen)

    async def settle(self) -> Desk:
        await asyncio.wait_for(self.service.settled(self.live.stream), 60)
        self.live = await self.service.get(self.live.stream) or self.live
        return self

    async def decide(self, kind: str, **values: Any) -> Desk:
        *_, called = (event for event in self.events if event.kind == "called")
        ends = {event.data["call"] for event in self.events if event.kind in ("returned", "denied")}
        call = next(call["id"] for call in called.data["calls"] if call["id"] not in ends)
        await self.act(kind, call=call, **values)
        return await self.settle()

    @property
    def events(self) -> list[Event]:
        return facts(self.database, self.live.stream)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.kind not in ("enrolled", "drawn", "flagged")]

    @property
    def replies(self) -> dict[str, ReplyView]:
        """The replies to the last message, by column."""
        chat = self.live.screen.panel.chat
        return {reply.slot: reply for reply in chat.rounds[-1].replies} if chat else {}

    async def close(self) -> None:
        for service in self.services:
            await service.close()
        let_go(self.database)
