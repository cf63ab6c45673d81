"""A connection of one session to one server of tools, by the official SDK (`mcp`, protocol 2026-07-28).

Whatever a server does, a call ends in a `ToolResult` within the time of its set: what failed is told to the model. A
server gets nothing of this process but a few harmless variables, and `PARLEY_SESSION`, a random name of the session.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from shlex import join
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from app.backends.base import JSON, ToolSpec
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import SettingsError, ToolServerError
from app.tools.packages import TOOL_SERVERS
from experiments.study.sections.tools import ToolSet

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

log = logging.getLogger(__name__)
INSTALL = "pip install 'parley-studies[tools]'"
# The name of the session, in the environment of a command and in the metadata of each call.
SESSION_VARIABLE, SESSION_KEY = "PARLEY_SESSION", "parley/session"
MOST_PAGES = 20
# The SDK's codes for what no server answered.
CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001
# How long a server may take to end in order.
CLOSE_S = 5.0
# Told what a server has.
Looks = Callable[[tuple[ToolSpec, ...]], Awaitable[None]]
CUT = "\n[The rest of this result was cut.]"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: the text for the model, the size and SHA-256 of all of it, and the reason if it failed:
    `error` (the tool's own), `timeout`, `unavailable`."""

    text: str
    chars: int
    sha256: str
    failed: str = ""

    @property
    def as_data(self) -> dict[str, Any]:
        failed = {"failed": self.failed} if self.failed else {}
        return {"text": self.text, "chars": self.chars, "sha256": self.sha256, **failed}


def result_of(text: str, most_chars: int, failed: str = "") -> ToolResult:
    cut = text if len(text) <= most_chars else text[: most_chars - len(CUT)] + CUT
    return ToolResult(cut, len(text), sha256(text.encode()).hexdigest(), failed)


class ToolConnection:
    """A connection that opens with the first call, and again after it broke. `looks` is given what the server has then,
    and when it has others. A program writes its errors into the file `errors`, or where Parley does."""

    def __init__(
        self,
        tools: ToolSet,
        session: str,
        settings: Settings,
        looks: Looks | None = None,
        *,
        errors: TextIO = sys.stderr,
    ) -> None:
        self._tools, self._session, self._settings, self._looks = tools, session, settings, looks
        self._errors = errors
        self._client: asyncio.Future[Client] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def specs(self) -> tuple[ToolSpec, ...]:
        """The tools by name; raises ToolServerError, or SettingsError where the server lacks one."""
        async with _edge(), asyncio.timeout(self._tools.timeout_s):
            found = await self._listed(await self._opened())
        names = [spec.name for spec in found]
        wanted = dict.fromkeys((*self._tools.allow, *self._tools.writes))
        if missing := [name for name in wanted if name not in names]:
            raise SettingsError(f"The server has no tool {', '.join(missing)}; it has {', '.join(names) or 'none'}")
        return self._allowed(found)

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> ToolResult:
        """Call a tool; never raises but when it is cancelled."""
        most = self._tools.max_chars
        try:
            async with _edge(), asyncio.timeout(self._tools.timeout_s):
                client = await self._opened()
                meta = {SESSION_KEY: self._session}
                return _result(await client.call_tool(tool, dict(arguments), meta=meta), most)  # type: ignore[arg-type]
        except (ToolServerError, SettingsError) as error:
            failed, told = _why(error.__cause__, self._tools.timeout_s)
            if failed != "error":
                self._drop()
            # other errors may quote what a participant or the tool said
            log.warning("a call of the tool %s failed: %s", tool, error if failed == "unavailable" else failed)
            return result_of(told, most, failed)

    async def close(self) -> None:
        self._drop()
        if self._task is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await asyncio.wait([self._task])
            self._task.cancel()

    async def _listed(self, client: Client) -> tuple[ToolSpec, ...]:
        found, cursor = list[ToolSpec](), None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += [ToolSpec(tool.name, tool.description or "", tool.input_schema) for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break
        return tuple(sorted(found, key=lambda spec: spec.name))

    def _allowed(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in specs if not self._tools.allow or spec.name in self._tools.allow)

    async def _opened(self) -> Client:
        if self._client is None:
            self._closing = asyncio.Event()
            self._client = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(self._client, self._closing))
        return await asyncio.shield(self._client)

    def _drop(self) -> None:
        """Let the connection end; the next call opens another."""
        self._closing.set()
        self._client = None

    async def _hold(self, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Keep a client open in a task of its own, as it must be closed by the task that opened it."""
        told = asyncio.Event()
        try:
            place = self._tools, self._session, self._settings, self._errors
            async with _edge(), _client(*place, told) as client:
                opened.set_result(client)
                watching = asyncio.create_task(self._watch(client, told))
                try:
                    await closing.wait()
                finally:
                    watching.cancel()
                    await asyncio.wait([watching])
        except (ToolServerError, SettingsError) as error:
            if not opened.done():
                opened.set_exception(error)
                opened.exception()  # so that nobody is told if whoever waited has left
            else:
                log.info("a connection to a server of tools ended: %s", error)

    async def _watch(self, client: Client, told: asyncio.Event) -> None:
        if self._looks is None:
            return
        with suppress(ToolServerError):  # a server that cannot list its tools may still be called
            async with _edge(), aclosing(_changes(client, told)) as changes:
                async for _ in changes:
                    await self._looks(self._allowed(await self._listed(client)))


async def _changes(client: Client, told: asyncio.Event) -> AsyncGenerator[None]:
    """Once at first, and whenever the server says that it has other tools."""
    from mcp.client.subscriptions import ListenNotSupportedError

    yield
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                yield
    except ListenNotSupportedError:  # an older protocol, whose servers tell it unasked
        while await told.wait():
            told.clear()
            yield


def frozen_hash(specs: Sequence[ToolSpec]) -> str:
    """The SHA-256 of the tools' names, descriptions and schemas."""
    values = [{"name": spec.name, "description": spec.description, "schema": dict(spec.schema)} for spec in specs]
    return sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()


@asynccontextmanager
async def _edge() -> AsyncIterator[None]:
    try:
        yield
    except (SettingsError, ToolServerError):
        raise
    except Exception as error:  # a named edge: the SDK and the server may raise anything
        raise ToolServerError(_said(error)) from error


@asynccontextmanager
async def _client(
    tools: ToolSet, session: str, settings: Settings, errors: TextIO, told: asyncio.Event
) -> AsyncIterator[Client]:
    try:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.types import ToolListChangedNotification
    except ImportError:
        raise SettingsError(f"Tools need the package mcp: {INSTALL}") from None

    async def hears(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    # below it the SDK logs what a server wrote, which may quote what people said
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    async with AsyncExitStack() as stack:
        if tools.package:
            place: Any = TOOL_SERVERS.find(tools.package)(session)
        elif tools.command:
            program, *words = tools.command
            own = {SESSION_VARIABLE: session}
            place = stdio_client(StdioServerParameters(command=program, args=words, env=own), errors)
        else:
            place = await _address(tools.url, _key(tools, settings), stack)
        client = Client(place, read_timeout_seconds=tools.timeout_s, message_handler=hears)
        yield await stack.enter_async_context(client)


def _key(tools: ToolSet, settings: Settings) -> Server | None:
    if tools.server is None:
        return None
    if tools.server not in settings.model_servers:
        raise SettingsError(f"PARLEY_MODEL_SERVERS has no server {tools.server!r}, which a set of tools names")
    return settings.model_servers[tools.server]


async def _address(url: str, key: Server | None, stack: AsyncExitStack) -> Any:
    if key is None or key.key is None:
        return url
    from httpx2 import AsyncClient
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {key.key.get_secret_value()}"}
    client = await stack.enter_async_context(AsyncClient(headers=headers, timeout=None))  # calls have their own limit
    return streamable_http_client(url, http_client=client)


def _why(cause: BaseException | None, timeout_s: float) -> tuple[str, str]:
    """Return the reason why a call gave no result, as `ToolResult` has it, and the text for the model."""
    code = getattr(cause, "code", None)  # of the SDK's error
    if isinstance(cause, TimeoutError) or code == REQUEST_TIMEOUT:
        return "timeout", f"The tool took longer than {timeout_s:g} seconds."
    if code not in (None, CONNECTION_CLOSED):
        return "error", f"The tool failed: {cause}"
    if isinstance(cause, RuntimeError):
        return "error", "The tool gave a result that cannot be read."
    return "unavailable", "The tool cannot be reached at the moment."


def _result(found: CallToolResult, most_chars: int) -> ToolResult:
    """The texts of a result, or its structured content; other parts are named."""
    parts = [part.text if part.type == "text" else f"[{part.type}]" for part in found.content]
    if not parts and found.structured_content is not None:
        parts = [orjson.dumps(found.structured_content).decode()]
    return result_of("\n".join(parts), most_chars, "error" if found.is_error else "")


def _first(error: BaseException) -> BaseException:
    """The first of the errors in a group, as anyio raises them."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _said(error: BaseException) -> str:
    first = _first(error)
    return f"{type(first).__name__}: {first}"[:500]


def why_not_asked(error: ToolServerError, tools: ToolSet, written: str) -> str:
    """The explanation, with advice; `written` is what its program wrote of errors."""
    cause = _first(error.__cause__ or error)
    while isinstance(cause, ToolServerError) and cause.__cause__:
        cause = _first(cause.__cause__)
    code = getattr(cause, "code", None)  # of the SDK's error
    if isinstance(cause, TimeoutError) or code == REQUEST_TIMEOUT:
        why = f"no answer within {tools.timeout_s:g} s"
    elif isinstance(cause, OSError) and tools.command:
        return f"The program {tools.command[0]!r} cannot be started ({cause.strerror}). Is it installed, and in PATH?"
    elif code == CONNECTION_CLOSED:
        why = "the program ended before it answered" if tools.command else "it closed the connection"
    else:
        why = str(cause) or type(cause).__name__
    last = written.strip().rpartition("\n")[2][:500]
    why = f"The server of tools cannot be asked: {why}{last and f', with the last line of errors `{last}`'}."
    if tools.command:
        return (
            f"{why} Run `{join(tools.command)}` in the folder in which Parley is started: it must wait for requests, "
            "and write nothing but the protocol to its standard output"
        )
    return f"{why} Is {tools.url} the address of a server of tools? Many end in /mcp" if tools.url else why
