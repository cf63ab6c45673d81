"""Participants of oTree, who do what its pages do: follow the link, load each page, post its form, talk by websocket.

They think as long as Parley's do, and keep no drafts, as its pages do not.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

import aiohttp

from tests.bench.load.model import FIRST_S
from tests.bench.load.people import SCRIPT, THINK_S, WHOLE_S, Found, Visit
from tests.bench.load.wire import PATIENCE_S, Reply, Wire

FORM = "application/x-www-form-urlencoded"
SOCKET = re.compile(rb'id="otree-live" data-socket-url="([^"]+)"')
MOST_HOPS = 6


class Visitor:
    """One of them."""

    def __init__(self, wire: Wire, found: Found, address: str, talker: aiohttp.ClientSession) -> None:
        self._wire, self._found, self._address, self._talker = wire, found, address, talker
        self._at, self._page = "", b""
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def takes_part(self, link: str, chance: random.Random) -> None:
        """From the link to the last page."""
        begun = time.perf_counter()
        await self._arrive(await self._wire.ask("GET", link), link)
        self._found.note("page", time.perf_counter() - begun)
        try:
            for kind, values in SCRIPT:
                await asyncio.sleep(chance.uniform(*THINK_S))
                await (self._say(values["text"]) if kind == "say" else self._submit(values))
        finally:
            if self._socket is not None:
                await self._socket.close()
        if b"The end" not in self._page:
            raise RuntimeError("is not at the end")
        self._found.finished += self._found.measuring

    async def _arrive(self, reply: Reply, path: str) -> None:
        """Follow to the page, and open its websocket where it has one."""
        for _ in range(MOST_HOPS):
            self._found.requests += self._found.measuring
            if reply.status not in (302, 303, 307):
                break
            where = urlsplit(reply.location)
            path = where.path + (f"?{where.query}" if where.query else "")
            reply = await self._wire.ask("GET", path)
        if reply.status != 200:
            raise RuntimeError(f"answered {reply.status}: {reply.body[:200].decode(errors='replace')}")
        self._at, self._page = path, reply.body

    async def _submit(self, values: Mapping[str, Any]) -> None:
        begun, before = time.perf_counter(), self._at
        form = urlencode(values).encode()
        await self._arrive(await self._wire.ask("POST", self._at, form, kind=FORM), self._at)
        self._found.note("click", time.perf_counter() - begun)
        if self._at == before:
            raise RuntimeError(f"{values} was refused at {before}")

    async def _say(self, text: str) -> None:
        if self._socket is None:
            found = SOCKET.search(self._page)
            if found is None:
                raise RuntimeError(f"no websocket at {self._at}")
            self._socket = await self._talker.ws_connect(self._address + unescape(found[1].decode()))
        begun, first_s = time.perf_counter(), 0.0
        await self._socket.send_json({"text": text})
        self._found.requests += self._found.measuring
        async with asyncio.timeout(PATIENCE_S):
            async for message in self._socket:
                told = message.json()
                if not told["otree_success"]:
                    raise RuntimeError("a reply failed")
                first_s = first_s or time.perf_counter() - begun
                if told["live_method_payload"].get("done"):
                    break
            else:
                raise RuntimeError("the websocket was closed within a reply")
        self._found.note("first token", first_s - FIRST_S)
        self._found.note("whole reply", time.perf_counter() - begun - WHOLE_S)


def of_otree(address: str, link: str, talker: aiohttp.ClientSession) -> Visit:
    """How one takes part in a session of oTree, by its one link for everybody."""

    async def visit(wire: Wire, found: Found, chance: random.Random) -> None:
        try:
            await Visitor(wire, found, address, talker).takes_part(link, chance)
        except (aiohttp.ClientError, ValueError) as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return visit
