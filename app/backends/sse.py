"""Server-sent events, and the Chat Completions that servers send in them: bytes in, deltas out.

Pure, and independent of where the network cuts the bytes. The openai SDK's own parsing costs five times as
much and lets truncated replies pass for whole ones. Rules: comments and fields other than `data` are skipped,
as are chunks without choices; `[DONE]` or the end of the stream gives the `End`, if a finish_reason was seen,
and a BackendBroken if not; usage may come with the finish_reason or after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.backends.base import Delta, End, Text
from app.errors import BackendBroken, BackendUnavailable

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 1_000_000
EXCERPT = 200
SYNONYMS = {
    "eos_token": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "max_tokens": "length",
}
"""Finish reasons of servers that are almost compatible (TGI, proxies), in OpenAI's words."""


@dataclass(slots=True)
class Events:
    """The data of each event in a stream of bytes; one that the end cuts off is dropped, by the standard."""

    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _started: bool = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the next bytes, give the data of the events that they complete."""
        for line in self._lines(chunk):
            if not line and self._data:
                data, self._data = b"\n".join(self._data), []
                yield data
            elif line.startswith(b"data"):
                self._read(line)

    def _lines(self, chunk: bytes) -> list[bytes]:
        lines = (self._rest + chunk).splitlines(keepends=True)
        # a line that ends in CR may yet end in CR LF
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if len(self._rest) > MAX_EVENT_BYTES:
            raise _malformed(self._rest, "an event without end")
        if lines and not self._started:
            self._started, lines[0] = True, lines[0].removeprefix(BOM)
        return [line.rstrip(b"\r\n") for line in lines]

    def _read(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))


@dataclass(slots=True)
class ChatCompletions:
    """The deltas of one streamed chat completion: feed it bytes until it gives the `End`, or call `end`."""

    _events: Events = field(default_factory=Events)
    _finish_reason: str | None = None
    _model: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _seen: bytes = b""
    _any_event: bool = False

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is to be fed after the `End`."""
        if not self._any_event:
            self._seen = (self._seen + chunk)[:EXCERPT]
        for data in self._events.feed(chunk):
            self._any_event = True
            if data.strip() == b"[DONE]":
                yield self.end()
                return
            yield from self._chunk(_read(data))

    def end(self) -> End:
        """Give the `End` once the stream is over; raise BackendBroken if the reply was cut off or is none."""
        if not self._any_event:
            raise BackendBroken(
                f"The model server sent no stream of events, but {self._seen.decode(errors='replace')!r}. "
                "Check PARLEY_OPENAI_BASE_URL: it should end as in https://api.openai.com/v1.",
                reason="not_a_stream",
            )
        if self._finish_reason is None:
            raise BackendBroken("The reply was cut off: it has no finish_reason.", reason="no_finish_reason")
        return End(
            finish_reason=SYNONYMS.get(self._finish_reason, self._finish_reason),
            model=self._model,
            prompt_tokens=_count(self._usage, "prompt_tokens"),
            completion_tokens=_count(self._usage, "completion_tokens"),
        )

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[Text]:
        if chunk.get("error"):
            raise BackendUnavailable(
                f"The model server broke off with an error: {_excerpt(orjson.dumps(chunk['error']))}",
                reason="error_in_stream",
            )
        self._model = _string(chunk, "model") or self._model
        self._usage = _object(chunk, "usage") or self._usage
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            yield from self._choice(choices[0])

    def _choice(self, choice: dict[str, Any]) -> Iterator[Text]:
        text = _string(_object(choice, "delta"), "content")
        if text:
            yield Text(text)
        self._finish_reason = _string(choice, "finish_reason") or self._finish_reason


def _read(data: bytes) -> dict[str, Any]:
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _malformed(data, str(error)) from None
    if not isinstance(chunk, dict):
        raise _malformed(data, "no JSON object")
    return chunk


def _string(values: dict[str, Any], key: str) -> str | None:
    value = values.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _malformed(orjson.dumps(value), f"{key} is no text")


def _object(values: dict[str, Any], key: str) -> dict[str, Any]:
    value = values.get(key)
    if value is None or isinstance(value, dict):
        return value or {}
    raise _malformed(orjson.dumps(value), f"{key} is no object")


def _count(usage: dict[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if isinstance(value, int) else None


def _malformed(data: bytes, what: str) -> BackendBroken:
    return BackendBroken(
        f"The model server sent what cannot be read ({what}): {_excerpt(data)}. Try again; if it stays so, "
        "the "
        "server does not speak Chat Completions.",
        reason="malformed",
    )


def _excerpt(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."
