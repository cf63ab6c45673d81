"""OpenAI's Chat Completions: a reply of the values of a stream, or of the bytes of a whole answer. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import StreamEnd, TextDelta
from app.backends.wire.error_mapping import check_event, refusal
from app.backends.wire.sse import EXCERPT, count, cut_off, finish_reason, part, read_whole, string, text_of


@dataclass(slots=True)
class ChatCompletions:
    """The deltas of a streamed chat completion. Chunks without choices are skipped; usage may come with the
    finish_reason or after it."""

    _finish_reason: str | None = None
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _refusal: str = ""

    def read(self, chunk: dict[str, Any]) -> Iterator[TextDelta]:
        """Give the text of a chunk."""
        check_event(chunk)
        self._model = string(chunk, "model") or self._model
        self._usage = part(chunk, "usage") or self._usage
        choices = chunk.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            return
        delta = part(choices[0], "delta")
        self._refusal = (self._refusal + (string(delta, "refusal") or ""))[:EXCERPT]
        self._finish_reason = string(choices[0], "finish_reason") or self._finish_reason
        if text := text_of(delta.get("content"), "content"):
            yield TextDelta(text)

    def end(self, *, done: bool) -> Iterator[StreamEnd]:
        """Give the `End`, if a finish_reason was seen; `[DONE]` is not needed."""
        if self._refusal:
            raise refusal(self._refusal)
        if self._finish_reason is None:
            raise cut_off("finish_reason")
        tokens = count(self._usage.get("prompt_tokens")), count(self._usage.get("completion_tokens"))
        yield StreamEnd(finish_reason(self._finish_reason), self._model, *tokens)


def chat_reply(body: bytes) -> tuple[str, StreamEnd]:
    """The text and the end of a completion that was not streamed."""
    from openai.types.chat import ChatCompletion

    values = read_whole(body)
    check_event(values)
    completion = ChatCompletion.model_construct(**values)
    try:
        choice = completion.choices[0]
        refused, text = text_of(choice.message.refusal, "refusal"), text_of(choice.message.content, "content")
        reason = finish_reason(choice.finish_reason)
    except (AttributeError, LookupError, TypeError):
        raise cut_off("finish_reason") from None
    usage = completion.usage
    tokens = count(getattr(usage, "prompt_tokens", None)), count(getattr(usage, "completion_tokens", None))
    return refused or text, StreamEnd("refusal" if refused else reason, string(values, "model"), *tokens)
