"""OpenAI's Chat Completions, streamed or whole: bytes in, a reply out.

Pure. Chunks without choices are skipped; `[DONE]` or the end of the stream gives the `End` if a finish_reason was
seen, and a BackendBroken if not; usage may come with the finish_reason or after it. A refusal is no reply.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, End, Text
from app.backends.wire.errors import check_event, refusal
from app.backends.wire.sse import EXCERPT, Objects, count, cut_off, finish_reason, part, read_whole, string


@dataclass(slots=True)
class ChatCompletions:
    """The deltas of one streamed chat completion: feed it bytes until it gives the `End`, or call `end`."""

    _objects: Objects = field(default_factory=Objects)
    _finish_reason: str | None = None
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _refusal: str = ""

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is to be fed after the `End`."""
        for value in self._objects.feed(chunk):
            if value is None:
                yield from self.end()
                return
            if text := self._chunk(value):
                yield Text(text)

    def end(self) -> Iterator[Delta]:
        """Give the `End` once the stream is over; raise BackendBroken if the reply was cut off or is none."""
        self._objects.check()
        if self._refusal:
            raise refusal(self._refusal)
        if self._finish_reason is None:
            raise cut_off("finish_reason")
        yield End(
            finish_reason=finish_reason(self._finish_reason),
            model=self._model,
            prompt_tokens=count(self._usage, "prompt_tokens"),
            completion_tokens=count(self._usage, "completion_tokens"),
        )

    def _chunk(self, chunk: dict[str, Any]) -> str:
        check_event(chunk)
        if chunk.get("model") != self._model:
            self._model = string(chunk, "model") or self._model
        if "usage" in chunk:
            self._usage = part(chunk, "usage") or self._usage
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return self._choice(choices[0])
        return ""

    def _choice(self, choice: dict[str, Any]) -> str:
        delta = part(choice, "delta")
        if "refusal" in delta and (refused := string(delta, "refusal")):
            self._refusal = (self._refusal + refused)[:EXCERPT]
        if choice.get("finish_reason") is not None:
            self._finish_reason = string(choice, "finish_reason") or self._finish_reason
        return string(delta, "content") or ""


def chat_completion(body: bytes) -> tuple[str, End]:
    """The text and the end of a completion that was not streamed."""
    completion = read_whole(body)
    check_event(completion)
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = part(choice, "message")
    refused, told = string(message, "refusal"), string(choice, "finish_reason")
    if told is None:
        raise cut_off("finish_reason")
    usage = part(completion, "usage")
    tokens = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    end = End("refusal" if refused else finish_reason(told), string(completion, "model"), *tokens)
    return refused or string(message, "content") or "", end
