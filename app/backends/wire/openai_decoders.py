"""OpenAI's Chat Completions and Responses: a reply of the values of a stream, or of the one of a whole answer. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from app.backends.base import Delta, ReasoningDelta, TextDelta
from app.backends.wire.error_mapping import error_in_stream
from app.backends.wire.streaming import ReplyDecoder
from app.backends.wire.values import (
    EXCERPT,
    count,
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
class ChatCompletions(ReplyDecoder):
    """A chat completion. The reply is the choice of index 0; chunks without it are skipped. Usage may come with the
    finish_reason or after it. Where the server gives no finish_reason, `[DONE]` says that the reply is complete. Calls
    of tools come in pieces by index."""

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        self._model = string(chunk, "model") or self._model
        usage = part(chunk, "usage")
        self._count(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        choice = min(listed(chunk, "choices"), key=_index, default={})
        whole = "message" in choice
        if not choice or (_index(choice) and not whole):
            return
        delta = part(choice, "message" if whole else "delta")
        self._refusal = (self._refusal + text_of(delta.get("refusal"), "refusal"))[:EXCERPT]
        reason = string(choice, "finish_reason")
        # in a whole answer an empty reason is one; in a stream it is none yet
        self._reason = (reason or "").strip() or self._reason or ("stop" if whole and reason == "" else None)
        if thought := reasoning_of(delta):
            yield ReasoningDelta(thought)
        if text := text_of(delta.get("content"), "content"):
            yield TextDelta(text)
        for place, call in enumerate(listed(delta, "tool_calls")):
            function = part(call, "function")
            arguments = function.get("arguments") or ""
            self._add_call(
                place if count(call.get("index")) is None else _index(call),
                string(call, "id") or "",
                string(function, "name") or "",
                arguments if isinstance(arguments, str) else shown(arguments).decode(),
            )

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Give the calls and the end, if a finish_reason was seen or the stream is `done`."""
        self._reason = self._reason or ("stop" if done else None)
        yield from self._ending("finish_reason")


def _index(choice: dict[str, Any]) -> int:
    return count(choice.get("index")) or 0


@dataclass(slots=True)
class Responses(ReplyDecoder):
    """Items of other types than `message` hold what a model thought, on some servers as the same kind of text."""

    last: ClassVar[str] = "response.completed"
    _kinds: dict[str | int | None, str | None] = field(default_factory=dict)
    """The types of items, by their ids and by their places, as not all servers say both."""

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
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
                yield from self._over(part(event, "response"), kind.removeprefix("response."))
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

    def _whole(self, response: dict[str, Any]) -> Iterator[Delta]:
        for item in listed(response, "output"):
            for one in (*listed(item, "content"), *listed(item, "summary")):
                if item.get("type") == "message":
                    self._refusal += string(one, "refusal") or ""
                if text := string(one, "text") if one.get("type") in TEXTS else "":
                    yield TextDelta(text) if item.get("type") == "message" else ReasoningDelta(text)
        yield from self._over(response, string(response, "status"))

    def _over(self, response: dict[str, Any], status: str | None) -> Iterator[Delta]:
        usage, details = part(response, "usage"), part(response, "incomplete_details")
        self._model = string(response, "model")
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))
        if status is not None:
            self._reason = "stop" if status == "completed" else string(details, "reason") or "incomplete"
        yield from self._ending("status")
