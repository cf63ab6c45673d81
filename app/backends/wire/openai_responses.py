"""OpenAI's Responses: a reply of the values of a stream, or of the bytes of a whole answer. Pure.

What a model thought comes in items of other types than `message`, on some servers as the same kind of text; it is no
part of the reply.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, ReasoningDelta, StreamEnd, TextDelta
from app.backends.wire.error_mapping import check_event, error_in_stream, refusal
from app.backends.wire.sse import (
    EXCERPT,
    WholeReply,
    count,
    cut_off,
    finish_reason,
    listed,
    malformed,
    part,
    read_whole,
    string,
)

TEXT = "response.output_text.delta"
DELTAS = (TEXT, "response.reasoning_text.delta", "response.reasoning_summary_text.delta")


@dataclass(slots=True)
class Responses:
    _refusal: str = ""
    _kinds: dict[str | int | None, str | None] = field(default_factory=dict)
    """The types of items, by their ids and by their places, as not all servers say both."""

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
        check_event(event)
        match string(event, "type"):
            case "response.output_item.added":
                item = part(event, "item")
                for key in (string(item, "id"), count(event.get("output_index"))):
                    self._kinds[key] = string(item, "type")
            case (
                "response.output_text.delta" | "response.reasoning_text.delta" | "response.reasoning_summary_text.delta"
            ):
                yield from self._delta(event)
            case "response.refusal.delta":
                self._refusal = (self._refusal + (string(event, "delta") or ""))[:EXCERPT]
            case "response.completed":
                yield self._end(part(event, "response"), "stop")
            case "response.incomplete":
                response = part(event, "response")
                yield self._end(response, string(part(response, "incomplete_details"), "reason") or "incomplete")
            case "response.failed":
                raise error_in_stream(part(event, "response").get("error"))
            case _:
                pass  # a kind that says nothing to us

    def _delta(self, event: dict[str, Any]) -> Iterator[Delta]:
        is_text = event["type"] == TEXT and self._kind(event) == "message"
        if text := string(event, "delta"):
            yield TextDelta(text) if is_text else ReasoningDelta(text)

    def _kind(self, event: dict[str, Any]) -> str | None:
        place = self._kinds.get(count(event.get("output_index")), "message")
        return self._kinds.get(string(event, "item_id"), place)

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Raise BackendBroken: the `StreamEnd` comes with an event, so there was none."""
        raise cut_off("response.completed")

    def _end(self, response: dict[str, Any], reason: str) -> StreamEnd:
        if self._refusal:
            raise refusal(self._refusal)
        usage = part(response, "usage")
        tokens = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        return StreamEnd(finish_reason(reason), string(response, "model"), *tokens)


def response_reply(body: bytes) -> WholeReply:
    from openai.types.responses import Response

    values = read_whole(body)
    check_event(values)
    response = Response.model_construct(**values)
    if string(values, "status") is None:
        raise cut_off("status")
    try:
        said = [content for item in response.output or () if item.type == "message" for content in item.content]
        refused = "".join(content.refusal for content in said if content.type == "refusal")
        text = response.output_text
    except (AttributeError, LookupError, TypeError) as error:
        raise malformed(body, f"its output: {error}") from None
    details = response.incomplete_details
    ended = "stop" if response.status == "completed" else (details and details.reason) or "incomplete"
    usage = response.usage
    tokens = count(getattr(usage, "input_tokens", None)), count(getattr(usage, "output_tokens", None))
    end = StreamEnd("refusal" if refused else finish_reason(ended), string(values, "model"), *tokens)
    return WholeReply(refused or text, end, _reasoning(values))


def _reasoning(values: dict[str, Any]) -> str:
    """What the model thought: the text in items of type `reasoning`, or their summary."""
    items = [item for item in listed(values, "output") if item.get("type") == "reasoning"]
    parts = [part for item in items for name in ("content", "summary") for part in listed(item, name)]
    return "".join(text for one in parts if isinstance(text := one.get("text"), str))
