"""A participant over HTTP: the participant API's screens in, a bot's actions out, everything it heard kept.

It does what the page does: one request at a time, a key for each action, the same request again where there was no
answer. `RandomBot` decides; a canary word stands in everything it says, so that a test can tell whose words it finds.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx2

from app.bots.http_participant import screen_of
from app.bots.random_bot import RandomBot
from experiments.study.screen import Screen

AGAIN = (429, 503)
TICKET = re.compile(r'name="ticket" value="([^"]+)"')
MOST_STEPS = 1_000


@dataclass(frozen=True)
class Act:
    """An action as it was sent."""

    key: str
    kind: str
    path: str
    seen: int
    values: Mapping[str, Any]
    whose: str = ""

    @property
    def body(self) -> dict[str, Any]:
        return {**vars(self), "values": dict(self.values), "view": "screen"}


@dataclass
class Heard:
    """A reply as it came: the text, where it stopped, whether it was told to be over, and the screen after it."""

    text: str = ""
    offset: int = 0
    done: bool = False
    after: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The API's answer to a look or an act."""

    status: int
    screen: Screen | None
    note: str
    faults: Mapping[str, str]
    plain: Mapping[str, Any] = field(repr=False)


class HttpBot:
    """One participant with its own cookie jar; `patience_s` is how long it tries to reach a server that is away."""

    def __init__(self, url: str, seed: str, *, canary: str = "", patience_s: float = 0) -> None:
        self.canary = canary
        self.acts: list[Act] = []
        """The acknowledged acts, in order."""
        self.heard: list[bytes] = []
        """Every answer's headers and body."""
        self.client = httpx2.AsyncClient(base_url=url, timeout=60)
        self._bot = RandomBot(seed)
        self._seed = seed
        self._patience_s = patience_s
        self.answer: Answer | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    @property
    def screen(self) -> Screen:
        assert self.answer is not None, "has not looked yet"
        assert self.answer.screen is not None, f"was told no screen: {self.answer}"
        return self.answer.screen

    @property
    def stream(self) -> str:
        payload = self.client.cookies["parley"].split(".")[0]
        return str(UUID(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))))

    async def arrive(self, study: str, query: str = "") -> None:
        start = await self.send("GET", f"/s/{study}{query}")
        # With it, as a request that got no answer would be somebody else's when it comes again.
        ticket = TICKET.search(start.text)
        response = await self.send("POST", f"/s/{study}{query}", data={"ticket": ticket[1]} if ticket else None)
        inside = self.client.base_url.path
        assert (response.status_code, response.headers.get("location")) == (303, inside), response.text
        await self.look()

    async def look(self) -> Screen:
        await self._ask("/api/look", {"view": "screen"})
        return self.screen

    async def do(self, kind: str, values: Mapping[str, Any], **forged: Any) -> Answer:
        act = self.intend(kind, values, **forged)
        answer = await self.redo(act)
        if answer.status == 200 and not answer.note:
            self.acts.append(act)
        return answer

    def intend(self, kind: str, values: Mapping[str, Any], **forged: Any) -> Act:
        """The request for an action, not sent yet; its key is another for each action."""
        key = f"{self._seed}:{len(self.acts)}:{self.screen.seen}:{kind}"[-64:].rjust(8, "0")
        screen, whose = self.screen, self.answer.plain["whose"] if self.answer else ""
        return replace(Act(key, kind, screen.path, screen.seen, values, whose), **forged)

    async def redo(self, act: Act) -> Answer:
        return await self._ask("/api/act", act.body)

    async def step(self) -> bool:
        """Do what comes next: listen to a reply, or act; whether there is more to do."""
        screen = self.screen
        if screen.ended:
            return False
        if (chat := screen.panel.chat) and chat.waiting and not chat.approvals:
            await asyncio.gather(*(self.listen(slot=slot, view="page") for slot in chat.slots))
            await self.look()
            return True
        kind, values = self._bot.act(screen)
        answer = await self.do(kind, self._signed(kind, values))
        assert (answer.status, answer.note) == (200, ""), (kind, values, answer)
        return True

    def _signed(self, kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
        free = (
            {"text"}
            if kind == "say"
            else {f.name for f in self.screen.panel.fields if f.model_dump()["type"] == "long_text"}
        )
        return {name: f"{value} {self.canary}".strip() if name in free else value for name, value in values.items()}

    async def finish(self) -> None:
        for _ in range(MOST_STEPS):
            if not await self.step():
                return
        raise AssertionError(f"{self.screen.path} is not left after {MOST_STEPS} steps")

    async def until(self, **wanted: Any) -> Screen:
        """Go on until a chat's screen is like this: waiting=True, failed=True, or the path ends so: path="chat"."""
        for _ in range(MOST_STEPS):
            chat, path = self.screen.panel.chat, wanted.get("path")
            asked = {name: value for name, value in wanted.items() if name != "path"}
            like = all(chat is not None and bool(getattr(chat, name)) == value for name, value in asked.items())
            if like and (path is None or self.screen.path.endswith(path)):
                return self.screen
            assert await self.step(), f"never came to {wanted}"
        raise AssertionError(f"never came to {wanted}")

    async def listen(self, offset: int = 0, slot: str = "", **asked: str) -> Heard:
        """Read a reply's stream to its end, on from `offset`; one that breaks is read on. `asked`: `view`, `shown`."""
        heard = Heard(offset=offset)
        give_up = time.monotonic() + self._patience_s
        while not heard.done:
            try:
                place = {"offset": str(heard.offset), "slot": slot, **asked}
                async with self.client.stream("GET", "/api/reply", params=place) as response:
                    assert response.status_code == 200, response.status_code
                    give_up = time.monotonic() + self._patience_s  # it is there again
                    async for line in response.aiter_lines():
                        take(line, heard)
            except httpx2.TransportError:
                if time.monotonic() > give_up:
                    raise
                await asyncio.sleep(0.05)
        self.heard.append(heard.text.encode() + json.dumps(heard.after, ensure_ascii=False).encode())
        return heard

    async def send(self, method: str, path: str, body: Mapping[str, Any] | None = None, **more: Any) -> httpx2.Response:
        give_up = time.monotonic() + self._patience_s
        more |= {} if body is None else {"json": body}
        while True:
            try:
                response = await self.client.request(method, path, **more)
            except httpx2.TransportError:
                if time.monotonic() > give_up:
                    raise
            else:
                self.heard.append(b"\n".join(b"%b: %b" % pair for pair in response.headers.raw) + response.content)
                if response.status_code not in AGAIN or time.monotonic() > give_up:
                    return response
            await asyncio.sleep(0.05)

    async def _ask(self, path: str, body: Mapping[str, Any]) -> Answer:
        response = await self.send("POST", path, body)
        plain = response.json() if response.headers.get("content-type") == "application/json" else {}
        screen = screen_of(plain["screen"]) if "screen" in plain else None
        self.answer = Answer(response.status_code, screen, str(plain.get("note", "")), plain.get("faults", {}), plain)
        return self.answer


def take(line: str, heard: Heard) -> None:
    if line == "event: done":
        heard.done = True
    elif line.startswith("data: ") and heard.done:
        heard.after = json.loads(line.removeprefix("data: "))
    elif line.startswith("data: "):
        piece = json.loads(line.removeprefix("data: "))
        heard.text += piece["text"]
        heard.offset = piece["offset"]
