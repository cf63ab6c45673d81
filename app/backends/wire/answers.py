"""What a server says on one connection: answers of HTTP/1.1, one after another; bytes in, status, headers, body out.

Pure, and independent of where the network cuts the bytes. llhttp, which httptools brings, does the reading, and refuses
what two readers could understand in two ways. A body ends by its length, by its last chunk, or else with the
connection; what is more than was asked for, or longer than anybody wants it, is not read to its end.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from app.pause import Pause

MULTIPLE_CHOICES = 300
MAX_BODY_BYTES, MAX_REFUSAL_BYTES, MAX_IDLE_BYTES = 8_000_000, 20_000, 65_536
"""The longest body, that of a refusal, and the most that may come without a byte of a body: headers, mostly."""
ENCODINGS = ("gzip", "x-gzip", "deflate")
EITHER = 32 + zlib.MAX_WBITS
"""zlib's word for: gzip or deflate, whichever it is."""
_EARLY = range(100, 200)


class Answer(NamedTuple):
    """An answer that has come."""

    status: int
    headers: Mapping[str, str]
    """By name in small letters."""
    body: bytes
    """One that is too long is cut a byte above what is allowed."""


@dataclass(frozen=True, slots=True)
class Coming:
    """An answer that comes: more of its body, until there is none, the pause in which it gathers, and how often it is
    read from now on."""

    more: Callable[[], Awaitable[bytes]]
    pause: Pause
    rest: Callable[[float], None]


class Unreadable(Exception):
    """This is no answer of HTTP; nothing that follows on the connection can be understood."""


class BadBody(Exception):
    """The body is packed as nobody asked for, and cannot be unpacked."""


class Answers:
    """The answers on one connection: `expect` one, and feed it bytes until it is `over`."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.clean = True
        """Whether the connection can bear another request: all of the last answer came, and nothing else."""
        self.expect()

    def expect(self) -> None:
        """The next answer begins with the next byte."""
        self.over = self._whole = self._headed = False
        self._status = 0
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._size = self._taken = self._idle = 0
        self._most = MAX_BODY_BYTES
        self._unpacking: zlib._Decompress | None = None
        self._bad: str | None = None

    @property
    def answer(self) -> Answer:
        """What has come."""
        return Answer(self._status, self._headers, b"".join(self._pieces)[: self._most + 1])

    @property
    def comes(self) -> bool:
        """Whether there is something to take of an answer that is no refusal."""
        return self._size > self._taken and self._status < MULTIPLE_CHOICES

    def take(self) -> bytes:
        """What has come of the body and was not taken; a body that is taken as it comes may be of any length."""
        pieces, self._pieces, self._taken = self._pieces, [], self._size
        return b"".join(pieces)

    def feed(self, data: bytes) -> None:
        """Take the next bytes; raises Unreadable or BadBody."""
        if self.over:
            self.clean = self.clean and not data
            return
        before = self._size
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.clean = False
            if not self._whole:
                raise Unreadable(str(error)) from None
        self._idle = 0 if self._size > before else self._idle + len(data)
        if self._bad is not None:
            raise BadBody(self._bad)
        if self._idle > MAX_IDLE_BYTES:
            raise Unreadable(f"more than {MAX_IDLE_BYTES} bytes of headers")
        if self._whole or self._too_much:
            self._end()

    def end(self) -> bool:
        """The connection is over: whether the answer is, too."""
        self.clean = False
        if self._headed and not {"content-length", "transfer-encoding"} & self._headers.keys():
            self._end()
        return self.over

    @property
    def _too_much(self) -> bool:
        return self._size - self._taken > self._most

    def _end(self) -> None:
        self.over = True
        self.clean = self.clean and self._whole
        if self._whole and self._unpacking is not None and not self._unpacking.eof and self._size:
            raise BadBody("it is cut off")

    def on_message_begin(self) -> None:
        """Another one begins: nobody asked for it, if this one is there."""
        self.clean = self.clean and not self._whole

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, which counts if it comes before the body."""
        if not self._headed:
            self._headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """The body follows."""
        if self._whole:
            return
        self._status, self._headed = self._parser.get_status_code(), True
        self._most = MAX_BODY_BYTES if self._status < MULTIPLE_CHOICES else MAX_REFUSAL_BYTES
        packed = self._headers.get("content-encoding", "identity").lower()
        if packed in ENCODINGS:
            self._unpacking = zlib.decompressobj(EITHER)
        elif packed != "identity":
            self._bad = f"packed as {packed[:20]!r}, though nobody asked for that"

    def on_body(self, data: bytes) -> None:
        """The next bytes of the body."""
        if self._whole or self._too_much:
            return
        if self._unpacking is not None:
            try:
                data = self._unpacking.decompress(data, self._most + 1)
            except zlib.error as error:
                self._bad = str(error)
                return
        self._size += len(data)
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """All of it is there; what a server says before its answer (100, 103) is none."""
        if self._whole:
            return
        if self._status in _EARLY:
            self._status, self._headers, self._headed = 0, {}, False
            return
        self._whole = True
        self.clean = self.clean and self._parser.should_keep_alive()
