"""A session of a study whose models use tools of the fake server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.study.screen import ReplyView
from tests.fakes.sitting import Sitting
from tests.fakes.tool_server import NAME

FIND, PAY = {"tool": "find", "arguments": {"order": "7"}}, {"tool": "pay", "arguments": {"order": "7"}}
PRICE = {"prompt": 1.0, "completion": 1.0}
CHAT = {"step": "chat", "model": "one"}


async def until(true: Callable[[], bool]) -> None:
    """Wait for what the watch of a server does by itself."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


class Desk(Sitting):
    """In a conversation whose scripted models ask for these calls."""

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
        super().__init__(folder, raw)
        self.number = 0

    async def say(self, text: str = "Where is it?") -> Desk:
        """Begin a session with a message."""
        self.number += 1
        await self.begin(str(self.number))
        await self.act("say", text=text)
        return await self.settle()

    async def decide(self, kind: str, **values: Any) -> Desk:
        *_, called = (event for event in self.events if event.kind == "called")
        ends = {event.data["call"] for event in self.events if event.kind in ("returned", "denied")}
        call = next(call["id"] for call in called.data["calls"] if call["id"] not in ends)
        await self.act(kind, call=call, **values)
        return await self.settle()

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.kind not in ("enrolled", "drawn", "flagged")]

    @property
    def replies(self) -> dict[str, ReplyView]:
        """The replies to the last message, by column."""
        chat = self.live.screen.panel.chat
        return {reply.slot: reply for reply in chat.rounds[-1].replies} if chat else {}
