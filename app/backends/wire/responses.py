"""OpenAI's Responses, streamed or whole: bytes in, a reply out.

Pure. Text comes in `response.output_text.delta`; `response.completed` or `response.incomplete` is the end, and a
stream without either was cut off. Reasoning and all other kinds of events are skipped. A refusal is no reply.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.backends.base import Delta, End, Text
from app.backends.wire.errors import check_event, error_in_stream, refusal
from app.backends.wire.sse import EXCERPT, Objects, count, cut_off, finish_reason, listed, part, read_whole, string


@dataclass(slots=True)
class Responses:
    """The deltas of one streamed response: feed it bytes until it gives the `End`, or call `end`."""

    _objects: Objects = field(default_factory=Objects)
    _refusal: str = ""

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is to be fed after the `End`."""
        for value in self._objects.feed(chunk):
            if value is None:
                raise cut_off("response.completed")
            yield from self._event(value)

    def end(self) -> Iterator[Delta]:
        """Raise BackendBroken: the `End` comes with an event, so there was none."""
        self._objects.check()
        raise cut_off("response.completed")

    def _event(self, event: dict[str, Any]) -> Iterator[Delta]:
        check_event(event)
        match string(event, "type"):
            case "response.output_text.delta":
                text = string(event, "delta")
                if text:
                    yield Text(text)
            case "response.refusal.delta":
                self._refusal = (self._refusal + (string(event, "delta") or ""))[:EXCERPT]
            case "response.completed":
                yield self._end(part(event, "response"), "stop")
            case "response.incomplete":
                response = part(event, "response")
                yield self._end(response, _incomplete(response))
            case "response.failed":
                raise error_in_stream(part(event, "response").get("error"))
            case _:
                pass  # a kind that says nothing to us

    def _end(self, response: dict[str, Any], reason: str) -> End:
        if self._refusal:
            raise refusal(self._refusal)
        return _end(response, reason)


def response(body: bytes) -> tuple[str, End]:
    """The text and the end of a response that was not streamed."""
    whole = read_whole(body)
    check_event(whole)
    status = string(whole, "status")
    if status is None:
        raise cut_off("status")
    said = [content for item in listed(whole, "output") for content in listed(item, "content")]
    if refused := "".join(string(one, "refusal") or "" for one in said):
        return refused, _end(whole, "refusal")
    text = "".join(string(one, "text") or "" for one in said if string(one, "type") == "output_text")
    return text, _end(whole, "stop" if status == "completed" else _incomplete(whole))


def _incomplete(response: dict[str, Any]) -> str:
    return string(part(response, "incomplete_details"), "reason") or "incomplete"


def _end(response: dict[str, Any], reason: str) -> End:
    usage = part(response, "usage")
    return End(
        finish_reason=finish_reason(reason),
        model=string(response, "model"),
        prompt_tokens=count(usage, "input_tokens"),
        completion_tokens=count(usage, "output_tokens"),
    )
