"""Split a model server's answer into JSON values: server-sent events, or one value. Bytes in, values out.

Pure, and independent of where the network cuts the bytes. Tolerant in form: comments, other fields than `data`, pings
and events without data are skipped, and blank lines between events or after the last one may be missing. Strict in
substance: any other data that is no JSON object is a BackendBroken, as is a body without any event: a page of a login.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(slots=True)
class SseFraming(WholeFraming):
    """A JSON object in each event; None stands for `[DONE]`, with which some servers end a stream. An event ends where
    its data is whole, as some servers send no blank lines, or at a blank line. JSON that is no stream is read as one
    object, as some servers give none."""

    starts: tuple[bytes, ...] = (b"{",)
    _whole: bool = field(default=False, init=False)
    _rest: bytes = field(default=b"", init=False)
    _started: bool = field(default=False, init=False)
    _seen: bytes = field(default=b"", init=False)
    """The beginning of an answer without any event yet."""
    _any: bool = field(default=False, init=False)
    _data: list[bytes] = field(default_factory=list, init=False)
    _size: int = field(default=0, init=False)

    def feed(self, chunk: bytes) -> Iterator[Any]:
        if not self._whole and not self._any:
            head = (self._seen + chunk).lstrip().removeprefix(BOM).lstrip()
            if head.startswith(self.starts):
                self._whole, chunk = True, head
        if self._whole:
            yield from WholeFraming.feed(self, chunk)
            return
        for line in self._lines(chunk):
            yield from self._read(line)

    def rest(self) -> Iterator[Any]:
        """Give the object of a last event without an end, if it is whole; BackendBroken if there was no event."""
        if self._whole:
            yield from WholeFraming.rest(self)
            return
        if self._rest:
            yield from self._read(self._rest.rstrip(b"\r"))
        if not self._any:
            raise not_a_stream(self._seen)

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not self._any:
            self._seen = (self._seen + chunk)[:EXCERPT]
        lines = (self._rest + chunk).splitlines(keepends=True)
        # a line that ends in CR may yet end in CR LF
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if longest := next((line for line in (*lines, self._rest) if len(line) > MAX_EVENT_BYTES), b""):
            raise malformed(longest, "a line without end")
        if lines and not self._started:
            self._started, lines[0] = True, lines[0].removeprefix(BOM)
        return [line.rstrip(b"\r\n") for line in lines]

    def _read(self, line: bytes) -> Iterator[Any]:
        if line == b"data" or line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            if not self._data and _is_ping(value.strip()):
                return
            self._size += len(value) + LINE_BYTES
            if self._size > MAX_EVENT_BYTES:
                raise malformed(value, "an event without end")
            self._data.append(value)
        elif line:
            return
        if self._data:
            yield from self._event(over=not line)

    def _event(self, *, over: bool) -> Iterator[Any]:
        """Yield the data so far, if it is whole; raises BackendBroken where the event is `over` and is no object."""
        data = b"\n".join(self._data).strip()
        try:
            value = None if data == DONE else read_object(data)
        except BackendBroken:
            if over:
                raise
            return
        self._data, self._size, self._any = [], 0, True
        yield value


def _is_ping(text: bytes) -> bool:
    """Return True if an event's data says nothing: it is blank, a comment, or keeps the connection open."""
    return not text or text.startswith(b":") or text.lower() in PINGS
