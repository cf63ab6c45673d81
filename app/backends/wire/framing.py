"""How a model server's answer is cut into JSON values: server-sent events, lines, or one value. Bytes in, values out.

Pure, and independent of where the network cuts the bytes. Tolerant in form: comments, other fields than `data`, pings
and events without data are skipped, and blank lines between events or after the last one may be missing. Strict in
substance: any other data that is no JSON object is a BackendBroken, as is a body without any event: a page of a login.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.backends.wire.values import EXCERPT, malformed, not_a_stream, read_object, read_value
from app.errors import BackendBroken

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"
# The size of an answer that is no stream, and of an event, at most.
MAX_BODY_BYTES, MAX_EVENT_BYTES = 8_000_000, 1_000_000
LINE_BYTES = 64
# Data of events, in small letters, by which servers keep a connection open.
PINGS = (b"[ping]", b"ping", b"pong", b"keep-alive", b"keepalive", b"heartbeat", b"null")


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

    whole: bool = False
    """Whether JSON that is no stream is read as one object, as some servers give none."""
    _events: SseParser = field(default_factory=SseParser)
    _seen: bytes = b""
    _any: bool = False
    _body: "WholeFraming | None" = None

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        if self._body is None and not self._any:
            self._seen += chunk
            if self.whole and (head := self._seen.lstrip().removeprefix(BOM).lstrip()).startswith(b"{"):
                self._body, chunk = WholeFraming((b"{",)), head
            self._seen = self._seen[:EXCERPT]
        yield from self._body.feed(chunk) if self._body else self._objects(self._events.feed(chunk))

    def rest(self) -> Iterator[dict[str, Any] | None]:
        """Give the object of a last event that was not ended; raises BackendBroken if there was no event at all."""
        if self._body is not None:
            yield from self._body.rest()
            return
        yield from self._objects(self._events.rest())
        if not self._any:
            raise not_a_stream(self._seen)

    def _objects(self, events: Iterator[bytes]) -> Iterator[dict[str, Any] | None]:
        for data in events:
            self._any = True
            yield None if data.strip() == DONE else read_object(data)


@dataclass(slots=True)
class LineFraming:
    """A JSON value in each line."""

    _rest: bytes = b""
    _any: bool = False

    def feed(self, chunk: bytes) -> Iterator[Any]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        longest = max((*lines, self._rest), key=len)
        if len(longest) > MAX_EVENT_BYTES:
            raise malformed(longest, "a line without end")
        for line in lines if self._any else [line.removeprefix(BOM) for line in lines]:
            if line.strip():
                if not self._any and not line.lstrip().startswith((b"{", b"[")):
                    raise not_a_stream(line)
                self._any = True
                yield read_value(line)

    def rest(self) -> Iterator[Any]:
        yield from self.feed(b"\n")
        if not self._any:
            raise not_a_stream(b"")


@dataclass(slots=True)
class WholeFraming:
    """One JSON value, which may begin in these ways."""

    starts: tuple[bytes, ...] = (b"{", b"[")
    _parts: list[bytes] = field(default_factory=list)
    _length: int = 0

    @property
    def body(self) -> bytes:
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> Iterator[Any]:
        self._length += len(chunk)
        if self._length > MAX_BODY_BYTES:
            self._parts.clear()
            raise BackendBroken("The model server's answer is longer than 8 MB.", reason="too_long")
        self._parts.append(chunk)
        return iter(())

    def rest(self) -> Iterator[Any]:
        body = self.body.removeprefix(BOM)
        if not body.lstrip().startswith(self.starts):
            raise not_a_stream(body, "JSON")
        yield read_value(body)
