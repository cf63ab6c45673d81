"""Anthropic's Messages: a reply of the values of a stream, or of the bytes of a whole answer. Pure.

Text comes in `text_delta`s of content blocks, what the model thought in `thinking_delta`s; signatures and all other
kinds of deltas are skipped. The stop reason comes in `message_delta`, the end is `message_stop`; a stream without
either was cut off.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, ReasoningDelta, StreamEnd, TextDelta
from app.backends.wire.error_mapping import check_event, refusal
from app.backends.wire.sse import WholeReply, count, cut_off, finish_reason, listed, part, read_whole, string


@dataclass(slots=True)
class Messages:
    _stop_reason: str | None = None
    _explanation: str = ""
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)

    def read(self, event: dict[str, Any]) -> Iterator[Delta]:
        check_event(event)
        match string(event, "type"):
            case "message_start":
                message = part(event, "message")
                self._model = string(message, "model")
                self._usage = part(message, "usage")
            case "content_block_start":
                block = part(event, "content_block")
                yield from _reasoning(block, "thinking")
                yield from _text(block, "text")
            case "content_block_delta":
                delta = part(event, "delta")
                yield from _reasoning(delta, "thinking_delta")
                yield from _text(delta, "text_delta")
            case "message_delta":
                self._change(event)
            case "message_stop":
                yield self._end()
            case _:
                pass  # a kind that says nothing to us

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Raise BackendBroken: the `StreamEnd` comes with an event, so there was none."""
        raise cut_off("message_stop")

    def _change(self, event: dict[str, Any]) -> None:
        delta = part(event, "delta")
        self._stop_reason = string(delta, "stop_reason") or self._stop_reason
        self._explanation = string(part(delta, "stop_details"), "explanation") or self._explanation
        # what is told here is the count of everything so far
        self._usage |= {name: value for name, value in part(event, "usage").items() if value is not None}

    def _end(self) -> StreamEnd:
        if self._stop_reason == "refusal":
            raise refusal(self._explanation)
        return _end(self._stop_reason, self._model, self._usage)


def message_reply(body: bytes) -> WholeReply:
    whole = read_whole(body)
    check_event(whole)
    blocks = list(listed(whole, "content"))
    text = "".join(one.text for block in blocks for one in _text(block, "text"))
    thought = "".join(one.text for block in blocks for one in _reasoning(block, "thinking"))
    explanation = string(part(whole, "stop_details"), "explanation")
    end = _end(string(whole, "stop_reason"), string(whole, "model"), part(whole, "usage"))
    return WholeReply(explanation or text, end, thought)


def _end(reason: str | None, model: str | None, usage: dict[str, Any]) -> StreamEnd:
    if reason is None:
        raise cut_off("stop_reason")
    return StreamEnd(finish_reason(reason), model, count(usage.get("input_tokens")), count(usage.get("output_tokens")))


def _text(values: dict[str, Any], kind: str) -> Iterator[TextDelta]:
    text = string(values, "text") if string(values, "type") == kind else None
    if text:
        yield TextDelta(text)


def _reasoning(values: dict[str, Any], kind: str) -> Iterator[ReasoningDelta]:
    text = string(values, "thinking") if string(values, "type") == kind else None
    if text:
        yield ReasoningDelta(text)
