"""A simulated participant over HTTP: opens the start page, presses its button, reads screens and acts on them.

It does what the participant's page does, one request at a time, with a new key for each action. A server that is away
or asks to wait is asked again. What was measured and refused goes into `Measured`, which all participants share.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from html import unescape
from typing import Any, get_args, get_origin, get_type_hints

import httpx2
from pydantic import TypeAdapter

from app.errors import RehearsalImpossible, VisitFailed
from experiments.study.fields import AnyField, Field
from experiments.study.screen import Block, Screen
from problems.attachments import NewPicture

FIELD: TypeAdapter[Field] = TypeAdapter(AnyField)
BLOCKS: Mapping[str, type[Block]] = {block.kind: block for block in get_args(Block)}
_types = lru_cache(get_type_hints)


def screen_of(plain: Mapping[str, Any]) -> Screen:
    """The screen of its JSON, which has lists for tuples and mappings for everything else."""
    found: Screen = _value(Screen, plain)
    return found


def _value(kind: Any, plain: Any) -> Any:
    if kind is Field:
        return FIELD.validate_python(plain)
    if kind == Block:
        kind = BLOCKS[plain["block"]]
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        same = parts[-1] is Ellipsis
        return tuple(_value(parts[0] if same else parts[place], one) for place, one in enumerate(plain))
    made: Any = next(filter(is_dataclass, (kind, *parts)), None)  # a part of X | None
    if made is None or plain is None:
        return plain
    types = _types(made)
    return made(**{name: _value(types[name], value) for name, value in plain.items() if name != "block"})


# How long a server that is away is asked again.
PATIENCE_S = 60.0
PAUSE_S = 1.0
AGAIN = (429, 503)
AWAY = "{url} gave no response: {error}. Is `parley serve` or `parley up` running there?"
NOT_ADMITTED = "the start page admits nobody: the study is full or its budget is used up"
UNACCEPTED: Mapping[int, str] = {
    403: "{page} does not accept the rehearsal's link. Run this command where the server's database and secret are.",
    404: "The server does not offer {page}. Is the study served there, and published or piloted?",
}
TICKET = re.compile(r'name="ticket" value="([^"]+)"')


@dataclass(slots=True)
class Measured:
    """Counts and times of participants; `refused_requests` were turned away (too many, or not possible now)."""

    responses: int = 0
    clicks: int = 0
    refused_requests: int = 0
    requests_without_response: int = 0
    slowest_click_s: float = 0.0
    slowest_page_s: float = 0.0
    replies: int = 0
    failed_replies: int = 0


class HttpParticipant:
    """One browser: its cookies, and the screen that it shows. `headers` makes the headers of each request."""

    def __init__(
        self, client: httpx2.AsyncClient, headers: Callable[[], Mapping[str, str]], measured: Measured
    ) -> None:
        self._client = client
        self._headers = headers
        self._measured = measured
        self._whose = ""
        self.screen: Screen | None = None

    async def arrive(self, path: str) -> Screen:
        """Open the start page, press its button, open the page. Raises VisitFailed where the study admits nobody,
        RehearsalImpossible where the server does not take the link."""
        start = await self._send("GET", path)
        if start.status_code in UNACCEPTED:
            raise RehearsalImpossible(UNACCEPTED[start.status_code].format(page=path.partition("?")[0]))
        ticket = TICKET.search(start.text)
        if ticket is None:
            raise VisitFailed(f"{NOT_ADMITTED} (status {start.status_code})")
        began = await self._send("POST", path, data={"ticket": unescape(ticket[1])})
        if began.status_code != 303 or began.headers.get("location") != self._client.base_url.path:
            raise VisitFailed(f"{NOT_ADMITTED} (status {began.status_code})")
        return await self.reload()

    async def reload(self) -> Screen:
        began_s = time.monotonic()
        await self._send("GET", "/")
        screen = await self.look()
        self._measured.slowest_page_s = max(self._measured.slowest_page_s, time.monotonic() - began_s)
        return screen

    async def look(self) -> Screen:
        return self._read(await self._send("POST", "/api/look", json={"view": "screen"}))[0]

    async def act(self, kind: str, values: Mapping[str, Any]) -> str:
        screen = self.screen
        if screen is None:
            raise VisitFailed("no screen was received yet")
        body = {"key": secrets.token_hex(16), "kind": kind, "path": screen.path, "seen": screen.seen}
        began_s = time.monotonic()
        if isinstance(picture := values.get("picture"), NewPicture):
            own = {**body, **self._own}
            response = await self._send("POST", "/api/picture", params=own, content=picture.content)
        else:
            response = await self._send("POST", "/api/act", json={**body, **self._own, "values": dict(values)})
        _, note = self._read(response)
        self._measured.clicks += 1
        self._measured.slowest_click_s = max(self._measured.slowest_click_s, time.monotonic() - began_s)
        self._measured.refused_requests += bool(note)
        return note

    async def listen(self) -> Screen:
        """Receive the replies in progress to their ends, and get the screen after them."""
        chat = self.screen.panel.chat if self.screen else None
        slots = chat.slots if chat else ()
        await asyncio.gather(*(self._read_reply(slot) for slot in slots))
        if not slots:
            await asyncio.sleep(PAUSE_S)
        screen = await self.look()
        waits = screen.panel.chat is not None and screen.panel.chat.waiting
        if not waits:
            failed = screen.panel.chat is not None and bool(screen.panel.chat.failed)
            self._measured.replies += not failed
            self._measured.failed_replies += failed
        return screen

    @property
    def _own(self) -> dict[str, Any]:
        return {"view": "screen", **({"whose": self._whose} if self._whose else {})}

    async def _read_reply(self, slot: str) -> None:
        """Read a reply's stream; one that breaks is read by the next look, as a page does."""
        try:
            async with self._client.stream(
                "GET", "/api/reply", params={"slot": slot}, headers=self._headers()
            ) as response:
                async for _ in response.aiter_lines():
                    pass
        except httpx2.TransportError:
            self._measured.requests_without_response += 1

    def _read(self, response: httpx2.Response) -> tuple[Screen, str]:
        plain = response.json() if response.headers.get("content-type") == "application/json" else {}
        if response.status_code != 200 or "screen" not in plain:
            self._measured.refused_requests += 1
            raise VisitFailed(f"status {response.status_code}: {json.dumps(plain)[:200]}")
        self._whose = plain["whose"]
        self.screen = screen_of(plain["screen"])
        return self.screen, str(plain.get("note", ""))

    async def _send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request; again while the server asks to wait or, once it has responded to anybody, is away."""
        give_up_s = time.monotonic() + PATIENCE_S
        while True:
            pause_s = PAUSE_S
            try:
                response = await self._client.request(method, path, headers=self._headers(), **more)
            except httpx2.TransportError as error:
                self._measured.requests_without_response += 1
                if time.monotonic() > give_up_s or not self._measured.responses:
                    raise RehearsalImpossible(AWAY.format(url=self._client.base_url, error=error)) from error
            else:
                self._measured.responses += 1
                if response.status_code not in AGAIN or time.monotonic() > give_up_s:
                    return response
                self._measured.refused_requests += 1
                pause_s = _pause_s(response)
            await asyncio.sleep(pause_s)


def _pause_s(response: httpx2.Response) -> float:
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isdecimal() else PAUSE_S
