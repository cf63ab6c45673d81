"""Server-sent events with JSON in them, which most model servers stream, and how JSON is read: bytes in, objects out.

Pure, and independent of where the network cuts the bytes. Tolerant in form: comments, other fields than `data`, pings
and events without data are skipped, and blank lines between events or after the last one may be missing. Strict in
substance: any other data that is no JSON object is a BackendBroken, as is a body without any event: a page of a login.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.backends.base import StreamEnd
from app.errors import BackendBroken

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"
MAX_BODY_BYTES, MAX_EVENT_BYTES = 8_000_000, 1_000_000
"""The size of an answer that is no stream, and of an event, at most."""
LINE_BYTES = 64
EXCERPT = 200
SYNONYMS = {
    **dict.fromkeys(("complete", "completed", "done", "end", "end_turn", "endoftext", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("finish", "finished", "finish_reason_stop", "stop_sequence", "stop_token", "stopped"), "stop"),
    **dict.fromkeys(("max_length", "max_new_tokens", "max_output_tokens", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("finish_reason_max_tokens", "max_tokens_reached", "token_limit", "truncated"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("blocklist", "content_filtered", "error_toxic", "guardrail_intervened"), "content_filter"),
    **dict.fromkeys(("prohibited_content", "recitation", "safety", "sensitive", "spii"), "content_filter"),
}
"""Finish reasons of other servers, in OpenAI's words: Anthropic, Azure, Bedrock, Cohere, Gemini, Mistral, TGI."""
TEXT_PARTS = ("text", "output_text")
"""Types of the parts of a message's content that are its text."""
REASONING_PARTS = ("thinking", "reasoning", "reasoning_content", "thought")
"""Types of those that are not, and the fields that hold what the model thought."""
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "thoughts", "thought")
"""Fields for it in a message: DeepSeek and vLLM, OpenRouter and Ollama, Cohere, others."""
PINGS = (b"[ping]", b"ping", b"pong", b"keep-alive", b"keepalive", b"heartbeat", b"null")
"""Data of events, in small letters, by which servers keep a connection open."""


@dataclass(frozen=True, slots=True)
class WholeReply:
    text: str
    end: StreamEnd
    reasoning: str = ""


@dataclass(slots=True)
class SseParser:
    """The data of each event in a stream of bytes. An event ends with a blank line, and also where whole data is
    followed by more, as some servers send no blank lines."""

    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0
    _started: bool = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for line in self._lines(chunk):
            yield from self._read(line)

    def rest(self) -> Iterator[bytes]:
        """Give the data of a last event that no blank line follows, if it is whole; the standard drops it."""
        if self._rest:
            yield from self._read(self._rest.rstrip(b"\r"))
        if self._data and _is_whole(b"\n".join(self._data)):
            yield self._take()

    def _read(self, line: bytes) -> Iterator[bytes]:
        if not line:
            if self._data:
                yield self._take()
        elif line == b"data" or line.startswith(b"data:"):
            if self._data and _is_whole(b"\n".join(self._data)):
                yield self._take()
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            if self._data or not _is_ping(value.strip()):
                self._keep(value)

    def _take(self) -> bytes:
        data, self._data, self._size = b"\n".join(self._data), [], 0
        return data

    def _lines(self, chunk: bytes) -> list[bytes]:
        lines = (self._rest + chunk).splitlines(keepends=True)
        # a line that ends in CR may yet end in CR LF
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if len(self._rest) > MAX_EVENT_BYTES:
            raise malformed(self._rest, "an event without end")
        if lines and not self._started:
            self._started, lines[0] = True, lines[0].removeprefix(BOM)
        return [line.rstrip(b"\r\n") for line in lines]

    def _keep(self, value: bytes) -> None:
        self._size += len(value) + LINE_BYTES
        if self._size > MAX_EVENT_BYTES:
            raise malformed(value, "an event without end")
        self._data.append(value)


def _is_ping(text: bytes) -> bool:
    """Whether an event's data says nothing: it is blank, a comment, or keeps the connection open."""
    return not text or text.startswith(b":") or text.lower() in PINGS


def _is_whole(data: bytes) -> bool:
    """Whether the data of an event needs no further line: a JSON object, or `[DONE]`."""
    data = data.strip()
    if data == DONE:
        return True
    if not (data.startswith(b"{") and data.endswith(b"}")):
        return False
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


@dataclass(slots=True)
class SseFraming:
    """A JSON object in each event; None stands for `[DONE]`, with which some servers end a stream."""

    _events: SseParser = field(default_factory=SseParser)
    _seen: bytes = b""
    _any: bool = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        if not self._any:
            self._seen = (self._seen + chunk)[:EXCERPT]
        yield from self._objects(self._events.feed(chunk))

    def rest(self) -> Iterator[dict[str, Any] | None]:
        """Give the object of a last event that was not ended; raises BackendBroken if there was no event at all."""
        yield from self._objects(self._events.rest())
        if not self._any:
            raise not_a_stream(self._seen)

    def _objects(self, events: Iterator[bytes]) -> Iterator[dict[str, Any] | None]:
        for data in events:
            self._any = True
            yield None if data.strip() == DONE else read_object(data)


def finish_reason(reason: str) -> str:
    reason = reason.strip().lower()
    return SYNONYMS.get(reason, reason)


def read_object(data: bytes) -> dict[str, Any]:
    value = read_value(data)
    if not isinstance(value, dict):
        raise malformed(data, "no JSON object")
    return value


def read_whole(body: bytes) -> dict[str, Any]:
    body = body.removeprefix(BOM)
    if not body.lstrip().startswith(b"{"):
        raise not_a_stream(body, "JSON object")
    return read_object(body)


def read_value(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise malformed(data, str(error)) from None


def string(values: dict[str, Any], key: str) -> str | None:
    """A text of an object; None where there is none; raises BackendBroken where it is something else."""
    value = values.get(key)
    if value is None or isinstance(value, str):
        return value
    raise malformed(orjson.dumps(value), f"{key} is not text")


def part(values: dict[str, Any], key: str) -> dict[str, Any]:
    """An object of an object; empty where there is none; raises BackendBroken where it is something else."""
    value = values.get(key)
    if value is None or isinstance(value, dict):
        return value or {}
    raise malformed(orjson.dumps(value), f"{key} is not an object")


def listed(values: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    found = values.get(key)
    yield from (one for one in (found if isinstance(found, list) else ()) if isinstance(one, dict))


def text_of(value: object, what: str) -> str:
    """The text of a message's content, which some servers give in parts; none where there is no content; raises
    BackendBroken where it is something else."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list() if all(isinstance(one, dict | str) for one in value):
            return "".join(one if isinstance(one, str) else _text_of_part(one) for one in value)
        case _:
            raise malformed(repr(value).encode(errors="replace"), f"{what} is not text")


def _text_of_part(one: dict[str, Any]) -> str:
    return (string(one, "text") or "") if one.get("type") in TEXT_PARTS else ""


def reasoning_of(message: dict[str, Any]) -> str:
    """What the model thought, by the fields and parts of a message or a delta that servers use for it."""
    for name in REASONING_FIELDS:
        if isinstance(found := message.get(name), str) and found:
            return found
    content = message.get("content")
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return "".join(_thought(one) for one in parts if one.get("type") in REASONING_PARTS)


def _thought(one: dict[str, Any]) -> str:
    """The text of a part, which may be in parts itself (Mistral)."""
    for name in REASONING_PARTS + TEXT_PARTS:
        match one.get(name):
            case str() as found:
                return found
            case list() as found:
                return "".join(text for inner in found if isinstance(inner, dict) and (text := _thought(inner)))
            case _:
                pass
    return ""


def count(value: object) -> int | None:
    """A number of tokens; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def malformed(data: bytes, what: str) -> BackendBroken:
    return BackendBroken(
        f"The model server sent a malformed response ({what}): {excerpt(data)}. Retry; if it persists, the server "
        "does not speak this backend's protocol.",
        reason="malformed",
    )


def cut_off(what: str) -> BackendBroken:
    return BackendBroken(f"The reply was cut off: it has no {what}.", reason="no_finish_reason")


def not_a_stream(seen: bytes, wanted: str = "stream of events") -> BackendBroken:
    return BackendBroken(
        f"The model server sent no {wanted}, but {seen[:EXCERPT].decode(errors='replace')!r}. "
        "Check its address: where the API begins, as in https://api.openai.com/v1.",
        reason="not_a_stream",
    )


def excerpt(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."
