"""Validate replies and enforce time limits, between a backend and the rest of Parley.

A reply is text that is not blank, or calls of tools, then one `StreamEnd` with a finish reason that we know, within all
limits of time and length. Anything else leaves here as a BackendError, whatever the backend did. Pieces are passed on
as they come, so a reader must keep none of them unless the `StreamEnd` arrives.

The clock is the event loop's (monotonic). A timeout spans one wait for the backend and never a `yield`, or it
would cancel the reader instead.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.backends.base import Delta, ReasoningDelta, ReasoningEnd, StreamEnd, TextDelta, ToolCall
from app.config.settings import Settings
from app.errors import BackendBroken, BackendError, BackendUnavailable
from problems.text import Cleaner

CALLS = "tool_calls"
ACCEPTED = ("stop", "length", CALLS)
NO_REPLIES = {
    "content_filter": "The model server's content filter stopped the reply.",
    "refusal": "The model refused to reply.",
}
# How much of what a model thought is kept; more is no failure.
MAX_REASONING_CHARS = 200_000
T = TypeVar("T")

log = logging.getLogger(__name__)


async def guarded_stream(
    ask: Callable[[], AsyncGenerator[Delta]], limits: Settings, *, whole: bool = False
) -> AsyncGenerator[Delta]:
    """Pass on the deltas of the stream that `ask` gives, whose last is one `StreamEnd`, or raise a BackendError. Each
    piece has to come in time, also while a model reasons; of a `whole` reply only the total time is limited."""
    loop, progress = asyncio.get_running_loop(), _Progress(limits)
    started_s = loop.time()
    first_s, gap_s, whole_s = limits.first_token_timeout_s, limits.token_gap_timeout_s, limits.reply_timeout_s
    end = (started_s + whole_s, "reply", whole_s)
    until = end if whole else min((started_s + first_s, "first_token", first_s), end)
    async with aclosing(await within_deadline(_started_stream(ask), *until)) as stream:
        while True:
            delta = await within_deadline(anext(stream), *until)
            for one in progress.passed(delta):
                yield one
            if isinstance(delta, StreamEnd):
                return
            if progress.began and not whole:
                until = min((loop.time() + gap_s, "token_gap", gap_s), end)


@dataclass(slots=True)
class _Progress:
    limits: Settings
    text: Cleaner = field(default_factory=Cleaner)
    reasoning: Cleaner = field(default_factory=Cleaner)
    chars: int = 0
    blank: bool = True
    reasoning_chars: int = 0
    calls: int = 0
    began: bool = False
    """True once the model has begun to reason or to reply."""

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """The cleaned delta after what was held of earlier ones; BackendBroken where the reply is too long, or none."""
        match delta:
            case TextDelta(str() as text):
                yield from self._said(self.text.feed(text))
            case ReasoningDelta(str() as text):
                text, self.began = self.reasoning.feed(text), True
                self.reasoning_chars += len(text)
                if text and self.reasoning_chars <= MAX_REASONING_CHARS:
                    yield ReasoningDelta(text)
            case ToolCall(id=str(), tool=str(), arguments=str() as arguments):
                self.calls, self.began, self.chars = self.calls + 1, True, self.chars + len(arguments)
                if self.chars > self.limits.max_reply_chars:
                    raise too_long(self.limits)
                yield delta
            case ReasoningEnd():
                yield from self._said(self.text.end())
                self.chars, self.blank = 0, True
                yield delta
            case StreamEnd(finish_reason=str() as reason, model=str() | None) if _counted(delta):
                yield from self._said(self.text.end())
                end = replace(delta, finish_reason=CALLS) if self.calls and reason == "stop" else delta
                check_end(end, self.blank, self.calls)
                yield end
            case _:
                raise _faulty(f"it yielded {delta!r:.200}, which is not a delta of a reply")

    def _said(self, text: str) -> Iterator[Delta]:
        self.chars, self.blank = self.chars + len(text), self.blank and not text.strip()
        over = max(0, self.chars - self.limits.max_reply_chars)
        if kept := text[: len(text) - over]:
            self.began = True
            yield TextDelta(kept)
        if over:
            raise too_long(self.limits)


def _counted(end: StreamEnd) -> bool:
    counts = end.prompt_tokens, end.completion_tokens
    return all(count is None or (type(count) is int and count >= 0) for count in counts)


async def _started_stream(ask: Callable[[], object]) -> AsyncGenerator[Delta]:
    stream = ask()
    if isinstance(stream, AsyncGenerator):
        return stream
    if isinstance(stream, Coroutine):
        stream.close()
    raise _faulty(f"`stream` gave a {type(stream).__name__}: it must be an async generator function")


def _faulty(what: str) -> BackendBroken:
    log.error("the backend itself failed: %s", what)
    return BackendBroken(f"The backend failed: {what}.", reason="fault")


async def within_deadline(reply: Awaitable[T], until: float, wait: str, seconds: float) -> T:
    """Await a backend's reply until a time of the event loop; whatever it raises becomes a BackendError."""
    clock = asyncio.timeout_at(until)
    try:
        async with clock:
            return await reply
    except BackendError:
        raise
    except StopAsyncIteration:
        raise BackendBroken("The reply ended without a finish reason.", reason="no_finish_reason") from None
    except Exception as error:  # a named edge: a backend may come from any package and raise anything
        if isinstance(error, TimeoutError) and clock.expired():
            raise _too_slow(wait, seconds) from None
        log.exception("a backend raised an error other than BackendError")
        raise BackendBroken(f"The backend failed: {type(error).__name__}: {error}", reason="fault") from error


def too_long(limits: Settings) -> BackendBroken:
    return BackendBroken(
        f"The reply is longer than PARLEY_MAX_REPLY_CHARS={limits.max_reply_chars} and was cut. "
        "Set max_tokens of the model in the study file, or increase the setting.",
        reason="too_long",
    )


def check_end(end: StreamEnd, blank: bool, calls: int) -> None:
    """Raise BackendBroken if what ended like this is no reply."""
    if (failed := _no_reply(end.finish_reason, blank, calls)) is not None:
        what, reason = failed
        error = BackendBroken(what, reason=reason)
        error.sent, error.raw, error.tokens = end.sent, end.raw, (end.prompt_tokens, end.completion_tokens)
        raise error


def _no_reply(finish_reason: str, blank: bool, calls: int) -> tuple[str, str] | None:
    if finish_reason in NO_REPLIES:
        return NO_REPLIES[finish_reason], finish_reason
    if finish_reason not in ACCEPTED or (finish_reason == CALLS and not calls):
        what = f"The reply ended with finish_reason {finish_reason!r}; accepted: {', '.join(ACCEPTED)}."
        return what, "finish_reason"
    if not blank or calls:
        return None
    hint = " max_tokens left no room for it; raise max_tokens." if finish_reason == "length" else ""
    return f"The reply is empty.{hint}", "empty_reply"


def _too_slow(wait: str, seconds: float) -> BackendUnavailable:
    setting = f"PARLEY_{wait.upper()}_TIMEOUT_S"
    return BackendUnavailable(
        f"The model timed out ({setting}={seconds:g}). Try again, or raise {setting}.",
        reason=f"timeout_{wait}",
    )
