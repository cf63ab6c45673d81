"""OpenAI's Chat Completions and Responses: a reply of the values of a stream, or of the one of a whole answer. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, ReasoningDelta, StreamEnd, TextDelta, ToolCall
from app.backends.wire.error_mapping import check_event, error_in_stream, refusal
from app.backends.wire.values import (
    EXCERPT,
    count,
    cut_off,
    finish_reason,
    listed,
    part,
    reasoning_of,
    shown,
    string,
    text_of,
)

TEXT, REFUSAL = "response.output_text.delta", "response.refusal.delta"
DELTAS = (TEXT, REFUSAL, "response.reasoning_text.delta", "response.reasoning_summary_text.delta")
TEXTS = ("text", "output_text", "reasoning_text", "summary_text")


@dataclass(slots=True)
class ChatCompletions:
    """A chat completion. The reply is the choice of index 0; chunks without it are skipped. Usage may come with the
    finish_reason or after it. Where the server gives no finish_reason, `[DONE]` says that the reply is complete. Calls
    of tools come in pieces by index, and are given before the end."""

    _finish_reason: str | None = None
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _refusal: str = ""
    _calls: dict[int, ToolCall] = field(default_factory=dict)

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        check_event(chunk)
        self._model = string(chunk, "model") or self._model
        self._usage = part(chunk, "usage") or self._usage
        choice = min(listed(chunk, "choices"), key=_index, default={})
        whole = "message" in choice
        if not choice or (_index(choice) and not whole):
            return
        delta = part(choice, "message" if whole else "delta")
        self._refusal = (self._refusal + text_of(delta.get("refusal"), "refusal"))[:EXCERPT]
        reason = string(choice, "finish_reason")
        # in a whole answer an empty reason is one; in a stream it is none yet
        self._finish_reason = (
            (reason or "").strip() or self._finish_reason or ("stop" if whole and reason == "" else None)
        )
        if thought := reasoning_of(delta):
            yield ReasoningDelta(thought)
        if text := text_of(delta.get("content"), "content"):
            yield TextDelta(text)
        for place, call in enumerate(listed(delta, "tool_calls")):
            self._add(place if count(call.get("index")) is None else _index(call), call)

    def _add(self, index: int, piece: dict[str, Any]) -> None:
        """Add a piece of a call; a server that gives no id, as some do, gets one of ours."""
        function, known = part(piece, "function"), self._calls.get(index, ToolCall("", "", ""))
        name, arguments = string(function, "name") or "", function.get("arguments") or ""
        self._calls[index] = ToolCall(
            known.id or string(piece, "id") or f"call_{index}",
            known.tool or name,
            known.arguments + (arguments if isinstance(arguments, str) else shown(arguments).decode()),
        )

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Give the calls and the end, if a finish_reason was seen or the stream is `done`."""
        tokens = count(self._usage.get("prompt_tokens")), count(self._usage.get("completion_tokens"))
        if self._refusal:
            raise refusal(self._refusal, tokens)
        if self._finish_reason is None and not done:
            raise cut_off("finish_reason")
        yield from (call for _, call in sorted(self._calls.items()))
        yield StreamEnd(finish_reason(self._finish_reason or "stop"), self._model, *tokens)


def _index(choice: dict[str, Any]) -> int:
    return count(choice.get("index")) or 0


@dataclass(slots=True)
class Responses:
    """A response. What a model thought comes in items of other types than `message`, on some servers as the same kind
    of text; it is no part of the reply."""

    _refusal: str = ""
    _kinds: dict[str | int | None, str | None] = field(default_factory=dict)
    """The types of items, by their ids and by their places, as not all servers say both."""

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
        check_event(event)
        match string(event, "type"):
            case None if "output" in event or "status" in event:
                yield from self._whole(event)
            case "response.output_item.added":
                item = part(event, "item")
                for key in (string(item, "id"), count(event.get("output_index"))):
                    self._kinds[key] = string(item, "type")
            case kind if kind in DELTAS:
                yield from self._delta(event)
            case "response.completed" | "response.incomplete" as kind:
                yield self._end(part(event, "response"), kind.removeprefix("response."))
            case "response.failed":
                raise error_in_stream(part(event, "response").get("error"))
            case _:
                pass  # a kind that says nothing to us

    def _delta(self, event: dict[str, Any]) -> Iterator[Delta]:
        kind, text = event["type"], string(event, "delta") or ""
        if kind == REFUSAL:
            self._refusal = (self._refusal + text)[:EXCERPT]
        elif text:
            yield TextDelta(text) if kind == TEXT and self._kind(event) == "message" else ReasoningDelta(text)

    def _kind(self, event: dict[str, Any]) -> str | None:
        place = self._kinds.get(count(event.get("output_index")), "message")
        return self._kinds.get(string(event, "item_id"), place)

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Raise BackendBroken: the `StreamEnd` comes with an event, so there was none."""
        raise cut_off("response.completed")

    def _whole(self, response: dict[str, Any]) -> Iterator[Delta]:
        for item in listed(response, "output"):
            for one in (*listed(item, "content"), *listed(item, "summary")):
                if item.get("type") == "message":
                    self._refusal += string(one, "refusal") or ""
                if text := string(one, "text") if one.get("type") in TEXTS else "":
                    yield TextDelta(text) if item.get("type") == "message" else ReasoningDelta(text)
        if (status := string(response, "status")) is None:
            raise cut_off("status")
        yield self._end(response, status)

    def _end(self, response: dict[str, Any], status: str) -> StreamEnd:
        usage, details = part(response, "usage"), part(response, "incomplete_details")
        tokens = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        if self._refusal:
            raise refusal(self._refusal, tokens)
        reason = "stop" if status == "completed" else string(details, "reason") or "incomplete"
        return StreamEnd(finish_reason(reason), string(response, "model"), *tokens)
