"""Server-sent events with JSON in them, which most model servers stream, and how JSON is read: bytes in, objects out.

Pure, and independent of where the network cuts the bytes. Comments and fields other than `data` are skipped. What is
no JSON object is a BackendBroken, as is a body without any event: a page of a login, an answer that is no stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.errors import BackendBroken

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 1_000_000
LINE_BYTES = 64
"""What a line takes in memory besides its bytes, at the most."""
EXCERPT = 200
SYNONYMS = {
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "safety": "content_filter",
}
"""Finish reasons of other servers, in OpenAI's words."""


@dataclass(slots=True)
class SseParser:
    """The data of each event in a stream of bytes; one that the end cuts off is dropped, by the standard."""

    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0
    _started: bool = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the next bytes, give the data of the events that they complete."""
        for line in self._lines(chunk):
            if line.startswith(b"data: "):
                self._keep(line[6:])
            elif not line and self._data:
                data, self._data, self._size = b"\n".join(self._data), [], 0
                yield data
            elif line == b"data" or line.startswith(b"data:"):
                self._keep(line[5:])

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


@dataclass(slots=True)
class SseFraming:
    """A JSON object in each event; None stands for `[DONE]`, with which some servers end a stream."""

    _events: SseParser = field(default_factory=SseParser)
    _seen: bytes = b""
    _any: bool = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        """Take the next bytes, give the objects that they complete."""
        if not self._any:
            self._seen = (self._seen + chunk)[:EXCERPT]
        for data in self._events.feed(chunk):
            self._any = True
            yield read_object(data) if data[:1] == b"{" or data.strip() != b"[DONE]" else None

    def rest(self) -> Iterator[dict[str, Any]]:
        """Nothing, as an event ends with an empty line; raises BackendBroken if there was none."""
        if not self._any:
            raise not_a_stream(self._seen)
        return iter(())


def finish_reason(reason: str) -> str:
    """A server's finish reason in OpenAI's words."""
    return SYNONYMS.get(reason.lower(), reason.lower())


def read_object(data: bytes) -> dict[str, Any]:
    """Read a JSON object; raises BackendBroken."""
    value = read_value(data)
    if not isinstance(value, dict):
        raise malformed(data, "no JSON object")
    return value


def read_whole(body: bytes) -> dict[str, Any]:
    """Read a body that is one JSON object; raises BackendBroken."""
    body = body.removeprefix(BOM)
    if not body.lstrip().startswith(b"{"):
        raise not_a_stream(body, "JSON object")
    return read_object(body)


def read_value(data: bytes) -> Any:
    """Read JSON of any kind; raises BackendBroken."""
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
    """The objects of a list of an object; none where there is no list."""
    found = values.get(key)
    yield from (one for one in (found if isinstance(found, list) else ()) if isinstance(one, dict))


def text_of(value: object, what: str) -> str:
    """The text of a message's content, which some servers give in parts, thoughts among them; none where there is no
    content; raises BackendBroken where it is something else."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list() if all(isinstance(one, dict) for one in value):
            return "".join(string(one, "text") or "" for one in value if one.get("type") == "text")
        case _:
            raise malformed(repr(value).encode(errors="replace"), f"{what} is not text")


def count(value: object) -> int | None:
    """A number of tokens; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def malformed(data: bytes, what: str) -> BackendBroken:
    """The error that unreadable data is."""
    return BackendBroken(
        f"The model server sent what cannot be read ({what}): {excerpt(data)}. Try again; if it stays so, the server "
        "speaks another language than the backend.",
        reason="malformed",
    )


def cut_off(what: str) -> BackendBroken:
    """The error that a reply without its end is."""
    return BackendBroken(f"The reply was cut off: it has no {what}.", reason="no_finish_reason")


def not_a_stream(seen: bytes, wanted: str = "stream of events") -> BackendBroken:
    """The error that an answer with success is which holds no reply."""
    return BackendBroken(
        f"The model server sent no {wanted}, but {seen[:EXCERPT].decode(errors='replace')!r}. "
        "Check its address: where the API begins, as in https://api.openai.com/v1.",
        reason="not_a_stream",
    )


def excerpt(data: bytes) -> str:
    """The beginning of data, to be quoted."""
    text = data.decode(errors="replace")
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."
