"""Anthropic's Messages API, in its own streaming protocol, by httpx2: Anthropic itself, and what speaks as it does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.backends.base import (
    JSON,
    BackendOptions,
    Delta,
    PromptMessage,
    ReasoningDelta,
    Request,
    Sleep,
    TextDelta,
    ToolSpec,
    parse_options,
    system_of,
)
from app.backends.registry import backend, own_server
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.streaming import ReplyDecoder, ServerBackend
from app.backends.wire.values import count, encoded, listed, object_or_none, part, shown, string
from app.config.model_servers import Server
from app.config.settings import Settings

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
    """Texts at which the reply stops if the model writes one of them."""
    thinking: Literal["adaptive", "disabled"] | None = None
    """`adaptive` lets the model think before it replies, as much as it finds right; this counts towards max_tokens."""
    thinking_budget: int | None = Field(None, ge=1024)
    """The number of tokens that older models may think before they reply; max_tokens then counts the reply alone."""
    effort: str | None = None
    """The amount of work that the model puts in: `low`, `medium`, `high`, or another word that it knows."""
    extra: dict[str, JSON] = Field(default_factory=dict)
    """Other options of the API, sent unchanged."""

    @model_validator(mode="after")
    def _one_way_to_think(self) -> Self:
        if self.thinking and self.thinking_budget:
            raise ValueError("has both `thinking` and `thinking_budget`; remove one")
        return self


@backend("anthropic", server="optional")
class Anthropic(ServerBackend):
    Options = AnthropicOptions
    tools = True
    pictures = True

    def __init__(self, settings: Settings, sleep: Sleep, server: Server | None) -> None:
        server = server or own_server(settings, "anthropic", ANTHROPIC_URL)
        super().__init__(settings, server, headers_for(server))
        self._path = path_at(server, "messages")

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        sent = encoded(_body(request, parse_options(AnthropicOptions, request.options)))
        opening = self._client.stream("POST", self._path, content=sent)
        framing = WholeFraming((b"{",)) if request.whole else SseFraming()
        return self.read(request, opening, framing, Messages())


def headers_for(server: Server) -> dict[str, str]:
    key = {"x-api-key": server.key.get_secret_value()} if server.key else {}
    return {"anthropic-version": VERSION, **key}


def path_at(server: Server, name: str) -> str:
    """The path of a part of the API, such as `messages`; a server's address may end in `/v1` or before it."""
    return f"/{name}" if server.url.endswith("/v1") else f"/v1/{name}"


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
    effort = {"effort": options.effort} if options.effort else {}
    return effort | ({"format": {"type": "json_schema", "schema": request.schema}} if request.schema else {})


@dataclass(slots=True)
class Messages(ReplyDecoder):
    """Text comes in `text_delta`s of content blocks, what the model thought in `thinking_delta`s, the arguments of a
    `tool_use` in `input_json_delta`s; signatures and all other kinds of deltas are skipped. The stop reason comes in
    `message_delta`, the end is `message_stop`; a stream without either was cut off. A whole answer is one `message`."""

    last: ClassVar[str] = "message_stop"

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
        match string(event, "type"):
            case "message_start":
                self._begin(part(event, "message"))
            case "content_block_start" | "content_block_delta" as kind:
                changed = part(event, kind.removeprefix("content_block_").replace("start", "content_block"))
                yield from self._block(count(event.get("index")) or 0, changed)
            case "message_delta":
                self._change(part(event, "delta"), part(event, "usage"))
            case "message_stop":
                yield from self._ending("stop_reason")
            case "message" | None:
                self._begin(event)
                for index, block in enumerate(listed(event, "content")):
                    yield from self._block(index, block)
                self._change(event, {})
                yield from self._ending("stop_reason")
            case _:
                pass  # a kind that says nothing to us

    def _begin(self, message: dict[str, Any]) -> None:
        self._model = string(message, "model")
        self._change({}, part(message, "usage"))

    def _block(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        kind = (string(block, "type") or "").removesuffix("_delta")
        if kind == "tool_use":
            given = part(block, "input")  # of a block that only begins nothing yet
            arguments = shown(given).decode() if given else ""
            self._add_call(index, string(block, "id") or "", string(block, "name") or "", arguments)
        elif kind == "input_json" and index in self._calls:
            self._add_call(index, "", "", string(block, "partial_json") or "")
        elif kind == "thinking" and (thought := string(block, kind)):
            yield ReasoningDelta(thought)
        elif kind == "text" and (text := string(block, kind)):
            yield TextDelta(text)

    def _change(self, delta: dict[str, Any], usage: dict[str, Any]) -> None:
        """Store the reason of the end and the tokens so far; the server counts them from the beginning."""
        self._reason = string(delta, "stop_reason") or self._reason
        self._refusal = string(part(delta, "stop_details"), "explanation") or self._refusal
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))
