"""OpenAI's Chat Completions: a reply of the values of a stream, or of the bytes of a whole answer. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, ReasoningDelta, StreamEnd, TextDelta
from app.backends.wire.error_mapping import check_event, refusal
from app.backends.wire.sse import (
    EXCERPT,
    WholeReply,
    count,
    cut_off,
    finish_reason,
    listed,
    part,
    read_whole,
    reasoning_of,
    string,
    text_of,
)


@dataclass(slots=True)
class ChatCompletions:
    """The deltas of a streamed chat completion. Chunks without choices are skipped; usage may come with the
    finish_reason or after it. Where the server gives no finish_reason, `[DONE]` says that the reply is complete."""

    _finish_reason: str | None = None
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _refusal: str = ""

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        check_event(chunk)
        self._model = string(chunk, "model") or self._model
        self._usage = part(chunk, "usage") or self._usage
        choices = chunk.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            return
        delta = part(choices[0], "delta")
        self._refusal = (self._refusal + (string(delta, "refusal") or ""))[:EXCERPT]
        self._finish_reason = (string(choices[0], "finish_reason") or "").strip() or self._finish_reason
        if thought := reasoning_of(delta):
            yield ReasoningDelta(thought)
        if text := text_of(delta.get("content"), "content"):
            yield TextDelta(text)

    def end(self, *, done: bool) -> Iterator[StreamEnd]:
        """Give the end, if a finish_reason was seen or the stream is `done`."""
        if self._refusal:
            raise refusal(self._refusal)
        if self._finish_reason is None and not done:
            raise cut_off("finish_reason")
        tokens = count(self._usage.get("prompt_tokens")), count(self._usage.get("completion_tokens"))
        yield StreamEnd(finish_reason(self._finish_reason or "stop"), self._model, *tokens)


def chat_reply(body: bytes) -> WholeReply:
    values = read_whole(body)
    check_event(values)
    choice = next(listed(values, "choices"), {})
    reason = string(choice, "finish_reason")
    if reason is None:
        raise cut_off("finish_reason")
    message, usage = part(choice, "message"), part(values, "usage")
    refused, text = text_of(message.get("refusal"), "refusal"), text_of(message.get("content"), "content")
    tokens = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    end = StreamEnd("refusal" if refused else finish_reason(reason) or "stop", string(values, "model"), *tokens)
    return WholeReply(refused or text, end, reasoning_of(message))
