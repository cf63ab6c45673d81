"""Anthropic's Messages API, in its own streaming protocol: Anthropic itself, and what speaks as it does.

By httpx2, as a client of its own that the `openai` backend's SDK stands on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from app.backends.base import (
    JSON,
    Backend,
    BackendOptions,
    Delta,
    PromptMessage,
    ReasoningDelta,
    Request,
    Sleep,
    StreamEnd,
    TextDelta,
    ToolCall,
    ToolSpec,
    parse_options,
    system_of,
)
from app.backends.registry import backend
from app.backends.wire.dialect import Dialect
from app.backends.wire.error_mapping import check_event, refusal
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.streaming import streamed
from app.backends.wire.values import count, cut_off, encoded, finish_reason, listed, object_or_none, part, shown, string
from app.config.model_servers import Server
from app.config.settings import Settings, env_name
from app.errors import SettingsError

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
SAMPLING = ("top_p", "top_k", "stop_sequences")


class AnthropicOptions(BackendOptions):
    max_tokens: int = Field(1000, ge=1)
    """The longest reply where the model itself has no `max_tokens`: this API wants a number."""
    top_p: float | None = Field(None, ge=0, le=1)
    """Sample from the likeliest tokens only, which together have this probability."""
    top_k: int | None = Field(None, ge=1)
    """Sample from this many of the likeliest tokens only."""
    stop_sequences: tuple[str, ...] | None = None
    """Where the reply stops, if the model writes one of these."""
    thinking: Literal["adaptive", "disabled"] | None = None
    """Whether the model thinks before it replies, as much as it finds right; this counts towards max_tokens."""
    thinking_budget: int | None = Field(None, ge=1024)
    """How many tokens older models may think before they reply; max_tokens then counts the reply alone."""
    effort: str | None = None
    """How much work the model puts in: `low`, `medium`, `high`, or what else it knows."""
    extra: dict[str, JSON] = Field(default_factory=dict)
    """Sent as it is, for what is not above."""

    @model_validator(mode="after")
    def _one_way_to_think(self) -> Self:
        if self.thinking and self.thinking_budget:
            raise ValueError("has both `thinking` and `thinking_budget`; remove one")
        return self


@backend("anthropic", server="optional")
class Anthropic(Backend):
    """A client of one server with Anthropic's API; all its sessions share its connections."""

    Options = AnthropicOptions
    tools = True
    pictures = True

    def __init__(self, settings: Settings, sleep: Sleep, server: Server | None) -> None:
        from app.backends.wire.http_client import client  # studies without such a model need none of what it imports

        self._server = server = server or _own_server(settings)
        self._path = path_at(server, "messages")
        self._client = client(settings, server, headers_for(server))

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        sent = encoded(_body(request, parse_options(AnthropicOptions, request.options)))
        opening = self._client.stream("POST", self._path, content=sent)
        framing = WholeFraming((b"{",)) if request.whole else SseFraming(whole=True)
        dialect = Dialect(request.model)
        return streamed(self._server, opening, framing, Messages(), dialect, dialect.splitter())

    async def close(self) -> None:
        await self._client.aclose()


def headers_for(server: Server) -> dict[str, str]:
    key = {"x-api-key": server.key.get_secret_value()} if server.key else {}
    return {"anthropic-version": VERSION, **key}


def path_at(server: Server, name: str) -> str:
    """The path of a part of the API, such as `messages`; a server's address may end in `/v1` or before it."""
    return f"/{name}" if server.url.endswith("/v1") else f"/v1/{name}"


def _own_server(settings: Settings) -> Server:
    if settings.anthropic_api_key is None and settings.anthropic_base_url is None:
        raise SettingsError(
            f"The backend 'anthropic' needs a key for {ANTHROPIC_URL}. Set {env_name('anthropic_api_key')}, "
            f"or {env_name('anthropic_base_url')} for another server, or name one in the study with `server`."
        )
    return Server(url=settings.anthropic_base_url or ANTHROPIC_URL, key=settings.anthropic_api_key)


def _body(request: Request, options: AnthropicOptions) -> dict[str, Any]:
    budget = options.thinking_budget
    thinking = {"type": options.thinking} if options.thinking else None
    optional = {
        "system": system_of(request.messages) or None,
        "temperature": request.temperature,
        "thinking": {"type": "enabled", "budget_tokens": budget} if budget else thinking,
        "output_config": _output(request, options) or None,
        "stream": not request.whole or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": {"type": "none"} if request.tools and not request.may_call else None,
        **{name: getattr(options, name) for name in SAMPLING},
    }
    return {
        "model": request.model,
        "messages": _messages(request.messages),
        "max_tokens": (request.max_tokens or options.max_tokens) + (budget or 0),
        **{name: value for name, value in optional.items() if value is not None},
        **options.extra,
    }


def _tool(tool: ToolSpec) -> JSON:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _messages(messages: Iterable[PromptMessage]) -> list[JSON]:
    """The messages without those of the system; results of tools that stand together are one message of the user."""
    found: list[JSON] = []
    said = (one for one in messages if one.role != "system")
    for is_result, group in groupby(said, lambda one: one.role == "tool"):
        if is_result:
            found.append({"role": "user", "content": [_result(one) for one in group]})
        else:
            found += [_message(one) for one in group]
    return found


def _result(message: PromptMessage) -> JSON:
    return {"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}


def _message(message: PromptMessage) -> JSON:
    if not message.calls and not message.pictures:
        return {"role": message.role, "content": message.text}
    text: list[JSON] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    shown: list[JSON] = [
        {"type": "image", "source": {"type": "base64", "media_type": one.type, "data": one.base64}}
        for one in message.pictures
    ]
    calls: list[JSON] = [
        {"type": "tool_use", "id": call.id, "name": call.tool, "input": object_or_none(call.arguments) or {}}
        for call in message.calls
    ]
    return {"role": message.role, "content": [*shown, *text, *calls]}


def _output(request: Request, options: AnthropicOptions) -> dict[str, Any]:
    """How much work goes into the reply, and the schema to which it is held."""
    effort = {"effort": options.effort} if options.effort else {}
    return effort | ({"format": {"type": "json_schema", "schema": request.schema}} if request.schema else {})


@dataclass(slots=True)
class Messages:
    """Text comes in `text_delta`s of content blocks, what the model thought in `thinking_delta`s, the arguments of a
    `tool_use` in `input_json_delta`s; signatures and all other kinds of deltas are skipped. The stop reason comes in
    `message_delta`, the end is `message_stop`; a stream without either was cut off. A whole answer is one `message`."""

    _stop_reason: str | None = None
    _explanation: str = ""
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _calls: dict[int | None, ToolCall] = field(default_factory=dict)

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
        check_event(event)
        match string(event, "type"):
            case "message_start":
                message = part(event, "message")
                self._model = string(message, "model")
                self._usage = part(message, "usage")
            case "content_block_start":
                yield from self._block(event, part(event, "content_block"))
            case "content_block_delta":
                yield from self._block(event, part(event, "delta"))
            case "content_block_stop" if call := self._calls.pop(count(event.get("index")), None):
                yield replace(call, arguments=call.arguments or "{}")
            case "message_delta":
                self._change(event)
            case "message_stop":
                yield self._end()
            case "message" | None:
                yield from self._whole(event)
            case _:
                pass  # a kind that says nothing to us

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Raise BackendBroken: the `StreamEnd` comes with an event, so there was none."""
        raise cut_off("message_stop")

    def _block(self, event: dict[str, Any], block: dict[str, Any]) -> Iterator[Delta]:
        """What a block of content or a change of one brings; a call is given when its block is over."""
        index = count(event.get("index"))
        if block.get("type") == "tool_use":
            self._calls[index] = _call(block)
        elif block.get("type") == "input_json_delta" and (call := self._calls.get(index)):
            self._calls[index] = replace(call, arguments=call.arguments + (string(block, "partial_json") or ""))
        else:
            yield from _deltas(block)

    def _whole(self, message: dict[str, Any]) -> Iterator[Delta]:
        self._model, self._usage = string(message, "model"), part(message, "usage")
        for block in listed(message, "content"):
            if block.get("type") == "tool_use":
                yield replace(_call(block), arguments=shown(part(block, "input")).decode())
            yield from _deltas(block)
        self._change({"delta": message})
        yield self._end()

    def _change(self, event: dict[str, Any]) -> None:
        delta = part(event, "delta")
        self._stop_reason = string(delta, "stop_reason") or self._stop_reason
        self._explanation = string(part(delta, "stop_details"), "explanation") or self._explanation
        # what is told here is the count of everything so far
        self._usage |= {name: value for name, value in part(event, "usage").items() if value is not None}

    def _end(self) -> StreamEnd:
        tokens = count(self._usage.get("input_tokens")), count(self._usage.get("output_tokens"))
        if self._stop_reason == "refusal":
            raise refusal(self._explanation, tokens)
        if self._stop_reason is None:
            raise cut_off("stop_reason")
        return StreamEnd(finish_reason(self._stop_reason), self._model, *tokens)


def _call(block: dict[str, Any]) -> ToolCall:
    return ToolCall(string(block, "id") or "", string(block, "name") or "", "")


def _deltas(block: dict[str, Any]) -> Iterator[Delta]:
    """What a block of content brings, or a change of one."""
    kind = (string(block, "type") or "").removesuffix("_delta")
    if kind == "thinking" and (thought := string(block, kind)):
        yield ReasoningDelta(thought)
    elif kind == "text" and (text := string(block, kind)):
        yield TextDelta(text)
