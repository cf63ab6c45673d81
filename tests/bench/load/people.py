"""Simulated participants, who do what page.js and watch.js do: load the page, look, type, click, chat, tell of it.

One after another for ever: whoever has finished makes room for somebody new, so that as many are there all the time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.bench.load.model import EACH_S, FIRST_S, TOKENS
from tests.bench.load.servers import button
from tests.bench.load.wire import Reply, Wire

THINK_S = (1.0, 3.0)
DRAFT_S = 2.0
"""After so long without a key the page keeps what is typed."""
TOLD_S = 30.0
"""So often the page tells of itself."""
SCREEN = {"kind": "screen", "shown_ms": 2000, "visible_ms": 2000, "reading_ms": 1500, "typing_ms": 300, "ago_ms": 10}
"""What it tells of a screen, beside which one it is."""
WHOLE_S = FIRST_S + EACH_S * (TOKENS - 1)
"""How long the model takes for a reply."""
MESSAGES = ("Here is my question: what is the value of f(x) at the point where both are equal?", "So which one is it?")
SCRIPT: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("submit", {"agreed": "on"}),
    ("submit", {"heard": "From a friend"}),
    ("submit", {"confidence": "somewhat-confident"}),
    ("submit", {"answer": "B"}),
    *(("say", {"text": text}) for text in MESSAGES),
    ("submit", {"answer": "A"}),
)
"""What a participant does, screen by screen."""


@dataclass
class Found:
    """Milliseconds by what was done, and what went wrong; only while `measuring`."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    finished: int = 0
    measuring: bool = False

    def note(self, what: str, seconds: float) -> None:
        if self.measuring:
            self.times.setdefault(what, []).append(1e3 * seconds)

    def p(self, what: str, share: float) -> float:
        some = sorted(self.times.get(what, [float("nan")]))
        return some[min(len(some) - 1, int(share * len(some)))]


class Participant:
    """One of them."""

    def __init__(self, wire: Wire, found: Found, study: str, chance: random.Random) -> None:
        self._wire, self._found, self._study, self._chance = wire, found, study, chance
        self._now: dict[str, Any] = {}
        self._left: list[dict[str, Any]] = []
        self._told = time.monotonic()

    async def takes_part(self) -> None:
        came = time.perf_counter()
        await self._expect(await self._wire.ask("GET", f"/s/{self._study}"), 200)
        await self._expect(await self._wire.ask("POST", f"/s/{self._study}", button(self._study)), 303)
        begun = time.perf_counter()
        await self._expect(await self._wire.ask("GET", "/"), 200)
        self._found.note("page", time.perf_counter() - begun)
        await self._ask("/api/look", {}, "look")
        self._found.note("arrival", time.perf_counter() - came)
        for number, (kind, values) in enumerate(SCRIPT):
            await self._think(values)
            await self._act(number, kind, values)
            if time.monotonic() > self._told + TOLD_S or self._now["ended"]:
                await self._tell()
        if not self._now["ended"]:
            raise RuntimeError("is not at the end")
        self._found.finished += self._found.measuring

    async def _think(self, values: Mapping[str, Any]) -> None:
        """Think and type, until some moment of it; what is typed is kept after a pause."""
        think_s = self._chance.uniform(*THINK_S)
        typing_s = self._chance.uniform(0, think_s)
        if think_s < typing_s + DRAFT_S:
            await asyncio.sleep(think_s)
            return
        await asyncio.sleep(typing_s + DRAFT_S)
        body = orjson.dumps({"path": self._now["path"], "whose": self._now.get("whose"), "values": values})
        await self._expect(await self._wire.ask("POST", "/api/draft", body), 200)
        await asyncio.sleep(think_s - typing_s - DRAFT_S)

    async def _act(self, number: int, kind: str, values: Mapping[str, Any]) -> None:
        begun, says = time.perf_counter(), kind == "say"
        key = f"{self._chance.getrandbits(128):032x}"
        at = {"path": self._now["path"], "seen": self._now["seen"]}
        does = {"kind": kind, **at, "whose": self._now.get("whose"), "key": key, "values": values, "follow": True}
        if says:
            await self._say(does, begun)
        else:
            await self._ask("/api/act", does, "click")
        self._left.append({**at, **SCREEN})
        if self._now["note"] or self._now["faults"]:
            raise RuntimeError(f"{kind} {number} was refused: {self._now['note']} {self._now['faults']}")

    async def _tell(self) -> None:
        records, self._left, self._told = self._left, [], time.monotonic()
        if self._now["telemetry"]:
            key = f"{self._chance.getrandbits(128):032x}"
            body = orjson.dumps({"key": key, "whose": self._now.get("whose"), "records": records})
            await self._expect(await self._wire.ask("POST", "/api/telemetry", body), 204)

    async def _say(self, does: Mapping[str, Any], begun: float) -> None:
        words: list[float] = []
        pieces: list[bytes] = []

        def heard(piece: bytes) -> None:
            now = time.perf_counter()
            if not pieces and piece.startswith(b"event: screen"):
                self._found.note("click", now - begun)
            pieces.append(piece)
            said = piece.partition(b"event: delta")[2]
            if not words and b'"text":"' in said and b'"text":""' not in said:
                words.append(now)

        reply = await self._wire.ask("POST", "/api/act", self._asking(does), heard=heard)
        over = time.perf_counter()
        await self._expect(reply, 200)
        _, done, after = reply.body.rpartition(b"event: done\ndata: ")
        if not words or not done or not reply.body.startswith(b"event: screen"):
            raise RuntimeError(f"a reply was not whole: {reply.body[:200].decode(errors='replace')}")
        self._now = orjson.loads(after)
        self._found.note("first token", words[0] - begun - FIRST_S)
        self._found.note("whole reply", over - begun - WHOLE_S)

    async def _ask(self, path: str, body: Mapping[str, Any], what: str) -> None:
        begun = time.perf_counter()
        reply = await self._wire.ask("POST", path, self._asking(body))
        self._found.note(what, time.perf_counter() - begun)
        await self._expect(reply, 200)
        self._now = orjson.loads(reply.body)

    def _asking(self, body: Mapping[str, Any]) -> bytes:
        return orjson.dumps({**body, "shown": self._now.get("shown"), "view": "page"})

    async def _expect(self, reply: Reply, status: int) -> None:
        self._found.requests += self._found.measuring
        if reply.status != status:
            raise RuntimeError(f"answered {reply.status}, not {status}: {reply.body[:200].decode(errors='replace')}")


Visit = Callable[[Wire, Found, random.Random], Awaitable[None]]
"""Somebody takes part, over a connection of their own."""


def of_parley(study: str) -> Visit:
    async def visit(wire: Wire, found: Found, chance: random.Random) -> None:
        await Participant(wire, found, study, chance).takes_part()

    return visit


async def crowd(visit: Visit, port: int, number: int, found: Found, ramp_s: float) -> None:
    async def place(index: int) -> None:
        await asyncio.sleep(ramp_s * index / number)
        for nth in range(1_000_000):
            async with Wire("127.0.0.1", port) as wire:
                try:
                    await visit(wire, found, random.Random(f"{index} {nth}"))
                except (RuntimeError, OSError, TimeoutError, KeyError, orjson.JSONDecodeError) as error:
                    found.errors[f"{type(error).__name__}: {error}"[:160]] += 1
                    await asyncio.sleep(1)

    async with asyncio.TaskGroup() as tasks:
        for index in range(number):
            tasks.create_task(place(index))
