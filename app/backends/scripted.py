"""A model that needs no server and no key: a friendly tutor, at a believable pace, and sometimes wrong.

For demonstrations, tests and simulated studies: the same seed and messages give the same reply in the same
pieces.
"""

import re
from collections.abc import AsyncGenerator

from pydantic import Field

from app.backends import tutor
from app.backends.base import BackendOptions, Delta, End, Request, Sleep, Text, parse_options
from app.backends.registry import backend
from app.settings import Settings

PIECE = re.compile(r"\s*\S+(?:\s+$)?")


class ScriptedOptions(BackendOptions):
    """What a study file may say in `options:` of a scripted model."""

    first_ms: int = Field(300, ge=0, le=60_000)
    """Milliseconds before the first word."""
    pace_ms: int = Field(20, ge=0, le=10_000)
    """Milliseconds from word to word."""
    wrong: float = Field(0.25, ge=0, le=1)
    """How often the tutor is mistaken, from 0 to 1; it sounds as confident as ever."""


@backend("scripted")
class Scripted:
    """The tutor as a backend."""

    Options = ScriptedOptions

    def __init__(self, settings: Settings, sleep: Sleep) -> None:
        self._sleep = sleep

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Give the tutor's reply word by word."""
        options = parse_options(ScriptedOptions, request.options)
        words = PIECE.findall(tutor.reply(request.messages, seed=request.seed, wrong=options.wrong))
        told = words[: request.max_tokens]
        await self._sleep(options.first_ms / 1000)
        for word in told:
            yield Text(word)
            await self._sleep(options.pace_ms / 1000)
        yield End(
            finish_reason="stop" if len(told) == len(words) else "length",
            model=request.model,
            prompt_tokens=sum(len(PIECE.findall(message.text)) for message in request.messages),
            completion_tokens=len(told),
        )

    async def close(self) -> None:
        """Nothing to let go of."""
