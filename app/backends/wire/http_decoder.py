"""Answers of endpoints that a study describes: where in the JSON the text is, and how a stream is framed.

Pure. A stream has to say that it is over, by its finish reason or by `[DONE]`: bytes that just stop are a reply that
was cut off. An object with an `error` in it is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.backends.base import StreamEnd, TextDelta
from app.backends.wire.error_mapping import check_event, too_long
from app.backends.wire.sse import (
    BOM,
    EXCERPT,
    MAX_BODY_BYTES,
    MAX_EVENT_BYTES,
    cut_off,
    excerpt,
    finish_reason,
    malformed,
    not_a_stream,
    read_value,
)
from app.errors import BackendBroken


@dataclass
class LineFraming:
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


@dataclass
class WholeFraming:
    _parts: list[bytes] = field(default_factory=list)
    _length: int = 0

    def feed(self, chunk: bytes) -> Iterator[Any]:
        self._length += len(chunk)
        if self._length > MAX_BODY_BYTES:
            raise too_long()
        self._parts.append(chunk)
        return iter(())

    def rest(self) -> Iterator[Any]:
        body = b"".join(self._parts).removeprefix(BOM)
        if not body.lstrip().startswith((b"{", b"[")):
            raise BackendBroken(
                f"The model server sent something other than JSON: {body[:EXCERPT].decode(errors='replace')!r}. "
                "Check its address and the study's `path`.",
                reason="not_a_stream",
            )
        yield read_value(body)


@dataclass(frozen=True, slots=True)
class ValuePaths:
    """Where in a value what is found, as paths: `choices.0.message.content`."""

    text: str
    finish: str | None = None
    finishes: dict[str, str] = field(default_factory=dict)
    version: str | None = None
    prompt_tokens: str | None = None
    completion_tokens: str | None = None


@dataclass
class HttpDecoder:
    places: ValuePaths
    whole: bool = False
    _finish: str | None = None
    _found: bool = False
    _last: Any = None
    _known: dict[str, Any] = field(default_factory=dict)

    def read(self, value: Any) -> Iterator[TextDelta]:
        if isinstance(value, dict):
            check_event(value)
        self._last = value
        self._keep(value)
        text = at(value, self.places.text)
        if isinstance(text, str):
            self._found = True
            if text:
                yield TextDelta(text)
        elif text is not None:
            raise malformed(orjson.dumps(text), f"{self.places.text} is not text")

    def end(self, *, done: bool) -> Iterator[StreamEnd]:
        """Give the `StreamEnd`; raise BackendBroken if the reply was cut off or is none."""
        if self.places.finish is None and (done or self.whole):
            self._finish = "stop"
        yield self._end()

    def _keep(self, value: Any) -> None:
        reason = at(value, self.places.finish)
        if reason is not None and reason is not False:
            self._finish = "stop" if reason is True else self.places.finishes.get(str(reason)) or str(reason).lower()
        for name in ("version", "prompt_tokens", "completion_tokens"):
            found = at(value, getattr(self.places, name))
            if found is not None:
                self._known[name] = found

    def _end(self) -> StreamEnd:
        if not self._found:
            raise BackendBroken(
                f"The model server's answer has no text at `{self.places.text}`: {excerpt(orjson.dumps(self._last))}. "
                "Correct `text` in the study.",
                reason="no_text",
            )
        if self._finish is None:
            raise cut_off(f"`{self.places.finish}`" if self.places.finish else "[DONE]")
        version = self._known.get("version")
        return StreamEnd(
            finish_reason=finish_reason(self._finish),
            model=version if isinstance(version, str) else None,
            prompt_tokens=_whole(self._known.get("prompt_tokens")),
            completion_tokens=_whole(self._known.get("completion_tokens")),
        )


def at(value: Any, path: str | None) -> Any:
    for step in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value if path else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
