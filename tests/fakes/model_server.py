"""A model server over real HTTP that speaks every protocol that Parley does, with faults on demand.

    with serve() as server:
        settings = Settings(openai_base_url=server.base_url)
        ...
        server.requests[-1].body["messages"]

How an address ends says what is spoken there (DIALECTS).

The model's name, or the last message, says what happens: `fault:NAME` for a name in FAULTS, anything else gives an
ordinary reply, which is the last message said back (`reply_to`). `picky:NAME,NAME` refuses requests that have these
fields, or a `system` message. It runs in a thread of its own on a free port of the
loopback.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.aside import aside
from tests.fakes.model_faults import FAULTS, ordinary, reply_to
from tests.fakes.model_protocols import DIALECTS, WHOLE, ChatReply
from tests.fakes.model_reply import Left, Reply


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw_headers: str


@dataclass(slots=True)
class Server:
    """A running fake: where it is, what it was asked, and what became of its connections."""

    base_url: str = ""
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    """The number of connections ever opened."""
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    """The connections that are open now."""
    dropped: int = 0
    """The number of replies that the client left before their end."""

    reply_to: Callable[[str], str] = reply_to
    """Gives the ordinary reply to a message."""

    mended: bool = False
    """True once all faults are gone, and every model gives an ordinary reply."""

    def wait_until_dropped(self, count: int = 1, timeout_s: float = 100.0) -> bool:
        give_up = time.monotonic() + timeout_s
        while self.dropped < count and time.monotonic() < give_up:
            time.sleep(0.005)
        return self.dropped >= count


def serve(port: int = 0) -> AbstractContextManager[Server]:
    """Run the fake until the block ends, on a free port unless one is given."""
    return aside(_listening(port))


@asynccontextmanager
async def _listening(port: int) -> AsyncIterator[Server]:
    server = Server()
    listener = await asyncio.start_server(lambda r, w: _connection(server, r, w), "127.0.0.1", port)
    server.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    yield server
    listener.close()
    # aborting the connections ends their tasks; cancelling the tasks would make asyncio.streams complain
    for writer in server.open:
        writer.transport.abort()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    await asyncio.gather(*tasks, return_exceptions=True)


async def _connection(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    server.connections += 1
    server.open.add(writer)
    try:
        async for received in _requests(reader):
            server.requests.append(received)
            await _play(server, received, reader, writer)
    except (Left, ConnectionError, asyncio.IncompleteReadError):
        server.dropped += 1
    finally:
        server.open.discard(writer)
        writer.close()


async def _play(server: Server, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    path = received.path.partition("?")[0]
    dialect = next((spoken for end, spoken in DIALECTS.items() if path.endswith(end)), None)
    dialect = dialect if received.body.get("stream") or dialect is None else WHOLE.get(dialect, dialect)
    reply = (dialect or ChatReply)(reader, writer, received.body, received.headers)
    if dialect is None:
        await reply.error(404, f"Unknown request URL: POST {path}")
    elif objection := reply.objection():
        await reply.error(400, objection)
    elif refusal := _picky(received.body):
        await reply.error(400, refusal)
    elif not server.mended and (fault := _fault(received.body, reply)):
        await FAULTS[fault](reply)
    else:
        await ordinary(reply, server.reply_to)


def _picky(body: dict[str, Any]) -> str:
    """Return the refusal of a model called `picky:NAME,NAME`, for the first of these in a request: fields, or
    `system`."""
    model = str(body.get("model"))
    roles = {one["role"] for one in body.get("messages") or body.get("input") or () if isinstance(one, dict)}
    for name in model.removeprefix("picky:").split(",") if model.startswith("picky:") else ():
        if name == "system" and "system" in roles:
            return "System role not supported"
        if name in body:
            return f"Unsupported parameter: '{name}' is not supported with this model."
    return ""


def _fault(body: dict[str, Any], reply: Reply) -> str:
    told = next((text for text in (str(body.get("model")), reply.asked) if text.startswith("fault:")), "")
    return told.removeprefix("fault:")


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Received]:
    while line := await reader.readline():
        path = line.split()[1].decode()
        headers, raw = {}, ""
        while header := (await reader.readline()).decode().strip():
            raw += f"{header}\n"
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        yield Received(path, headers, json.loads(content or b"{}"), raw)
