"""The pace of replies that are there at once: a pause, then word by word, as a model on a server would write them."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from pydantic import Field

from app.backends.base import BackendOptions, Delta, Request, Sleep, StreamEnd, TextDelta

PIECE = re.compile(r"\s*\S+(?:\s+$)?")


class PacedOptions(BackendOptions):
    first_ms: int = Field(300, ge=0, le=60_000)
    """Milliseconds before the first word."""
    pace_ms: int = Field(20, ge=0, le=10_000)
    """Milliseconds from word to word."""


def words_of(text: str) -> list[str]:
    """The words of a text, each with the space before it."""
    return PIECE.findall(text)


async def typed_out(words: Sequence[str], options: PacedOptions, sleep: Sleep) -> AsyncGenerator[TextDelta]:
    await sleep(options.first_ms / 1000)
    for word in words:
        yield TextDelta(word)
        await sleep(options.pace_ms / 1000)


async def type_reply(text: str, request: Request, options: PacedOptions, sleep: Sleep) -> AsyncGenerator[Delta]:
    """Give a text as the whole reply to a request: cut at its max_tokens, a word counting as one, with its end."""
    words = words_of(text)
    words_sent = words[: request.max_tokens]
    async with aclosing(typed_out(words_sent, options, sleep)) as pieces:
        async for piece in pieces:
            yield piece
    yield StreamEnd(
        finish_reason="stop" if len(words_sent) == len(words) else "length",
        model=request.model,
        prompt_tokens=sum(len(words_of(message.text)) for message in request.messages),
        completion_tokens=len(words_sent),
    )
