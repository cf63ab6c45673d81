"""Where replies are measured: a model server, Parley and the driver, each a process of its own, over real HTTP.

The driver is this process. It does what the page does, with the client that Parley's own backends use: posts what is
said, reads the reply as it comes, looks.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import orjson

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import serve
from tests.fakes.served import Process

MESSAGES = 100
KEEP = aiohttp.ClientTimeout(total=30.0)


@dataclass(frozen=True)
class Stage:
    """Both servers at work; each study is named by the fault of the model that replies in it."""

    model_url: str
    parley: Process

    @property
    def processor_s(self) -> float:
        """Seconds of a processor that Parley has used so far."""
        told = Path(f"/proc/{self.parley.pid}/stat").read_text(encoding="utf-8")
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def mb(self, what: str) -> float:
        """Parley's memory: VmRSS is what it holds now, VmHWM the most since `forget_peak`."""
        status = Path(f"/proc/{self.parley.pid}/status").read_text(encoding="utf-8")
        return int(status.partition(f"{what}:")[2].split()[0]) / 1024

    def forget_peak(self) -> None:
        """Count the most from now on."""
        Path(f"/proc/{self.parley.pid}/clear_refs").write_text("5", encoding="utf-8")


@contextmanager
def model_server() -> Iterator[str]:
    """The fake model server in a process of its own; gives its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    over = context.Event()
    process = context.Process(target=_serve, args=(there, over), daemon=True)
    process.start()
    there.close()  # so that nobody waits for a process that has died
    try:
        yield here.recv()
    finally:
        over.set()
        process.join(5)


def _serve(there: Connection, over: Event) -> None:
    with serve() as server:
        there.send(server.base_url)
        over.wait()


@contextmanager
def stage(*faults: str, **env: str) -> Iterator[Stage]:
    """Parley with a study for each of these faults of the model server."""
    with TemporaryDirectory() as at, model_server() as url:
        folder = Path(at)
        env |= {"PARLEY_OPENAI_BASE_URL": url, "PARLEY_OPENAI_API_KEY": "sk-bench", "PARLEY_LOG_LEVEL": "ERROR"}
        parley = Process(folder, tuple(_study(folder, fault) for fault in faults), env)
        parley.start()
        try:
            yield Stage(url, parley)
        finally:
            parley.stop()


def _study(folder: Path, fault: str) -> Path:
    raw = studies.read_yaml(studies.chat(folder, fault, backend="openai", model=f"fault:{fault}", options={}))
    raw["flow"][1]["with"] = {"with_ai": {"max_messages": MESSAGES}}
    return studies.write(folder, raw)


@dataclass
class Chatter:
    """A participant in a chat, with the requests of the page; notes how many seconds they took."""

    bot: HttpBot
    clicks: list[float] = field(default_factory=list)
    """From what was said to what the page shows then."""
    words: list[float] = field(default_factory=list)
    """From what was said to the first word of the reply."""
    page: dict[str, Any] = field(default_factory=dict)
    _client: aiohttp.ClientSession = field(init=False)

    async def begin(self, study: str) -> Chatter:
        """Come to the chat."""
        await self.bot.arrive(study)
        await self.bot.until(path="with_ai")
        cookies = "; ".join(f"{name}={value}" for name, value in self.bot.client.cookies.items())
        self._client = aiohttp.ClientSession(str(self.bot.client.base_url), headers={"cookie": cookies})
        await self._ask("/api/look", {})
        return self

    async def leave(self) -> None:
        """Close the page."""
        await self._client.close()

    async def say(self, text: str) -> None:
        """Say something, or ask again where no reply came, read the reply to its end, look."""
        begun = time.perf_counter()
        again = "retry" in self.page["actions"]
        act = {"kind": "retry"} if again else {"kind": "say", "values": {"text": text}}
        body = act | {"path": self.page["path"], "seen": self.page["seen"]}
        await self._ask("/api/act", body | {"key": f"bench-{self.page['seen']:08}"})
        self.clicks.append(time.perf_counter() - begun)
        assert self.page["slots"] == [""], self.page["note"]
        await self._listen(lambda: self.words.append(time.perf_counter() - begun))
        await self._ask("/api/look", {})

    async def _listen(self, first: Callable[[], None]) -> None:
        heard = False
        async with self._client.get("/api/reply", timeout=KEEP) as response:
            async for line in response.content:
                if not heard and line.startswith(b"data: ") and orjson.loads(line[6:]).get("text"):
                    heard = True
                    first()

    async def _ask(self, path: str, body: dict[str, Any]) -> None:
        whole = body | {"shown": self.page.get("shown"), "view": "page"}
        async with self._client.post(path, json=whole) as response:
            self.page = orjson.loads(await response.read())


async def gathered(chatters: list[Chatter], study: str) -> None:
    """Let all come to the chat, a few at a time, as the door of a classroom does."""
    door = asyncio.Semaphore(5)

    async def come(chatter: Chatter) -> None:
        async with door:
            await chatter.begin(study)

    await asyncio.gather(*(come(chatter) for chatter in chatters))
