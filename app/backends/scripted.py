"""A model that needs no server and no key: a friendly tutor, at a believable pace, and sometimes wrong.

For demonstrations, tests and simulated studies: the same seed and messages give the same reply in the same
pieces. Asked for JSON of a schema, it gives some by chance.
"""

import json
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import Field

from app.backends import tutor
from app.backends.base import Delta, Request, Sleep, parse_options
from app.backends.registry import backend
from app.backends.tutor.random_json import random_value
from app.backends.typing_speed import PacedOptions, type_reply
from app.config.settings import Settings


class ScriptedOptions(PacedOptions):
    """What a study file may say in `options:` of a scripted model."""

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
        said = _tutor_reply(request, options.wrong)
        async with aclosing(type_reply(said, request, options, self._sleep)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        """Nothing to let go of."""


def _tutor_reply(request: Request, wrong: float) -> str:
    """The tutor's words; where a shape is asked for, something of that shape, by chance."""
    if request.schema is None:
        return tutor.reply(request.messages, seed=request.seed, wrong=wrong)
    asked = "\n".join(message.text for message in request.messages)
    chance = random.Random(f"{request.seed}\n{asked}")  # noqa: S311  (no secret is drawn)
    return json.dumps(random_value(request.schema, chance), ensure_ascii=False)
