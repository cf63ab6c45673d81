"""Wiring tests are coroutines on asyncio; a module's tests share an event loop, so that they can share a server."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    async with serving(settings_for(folder), studies.short(folder), studies.chat(folder)) as served:
        yield served


@pytest.fixture
async def bot(served: Served) -> AsyncIterator[HttpBot]:
    """Somebody who has just come to the study."""
    async with HttpBot(served.url, "api") as bot:
        await bot.arrive("short")
        yield bot
