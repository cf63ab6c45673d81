"""Wiring tests are coroutines on asyncio; a module's tests share an event loop, so that they can share a server."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from tests.fakes import studies
from tests.fakes.accounts import Place, ada_and_bob
from tests.fakes.console_door import Browser, behind, browser
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import Server, serve
from tests.fakes.served import Served, serving, settings_for
from tests.fakes.stepping_model import stepping


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def nobody_is_trusted() -> Iterator[None]:
    """No certificates: nobody speaks TLS here, and each HTTP client would take 50 ms of CPU to read them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    async with serving(settings_for(folder), studies.short(folder), studies.chat(folder)) as served:
        yield served


@pytest.fixture
async def bot(served: Served) -> AsyncIterator[HttpBot]:
    async with HttpBot(served.url, "api") as bot:
        await bot.arrive("short")
        yield bot


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A database with two accounts: ada, an owner, and bob, an analyst."""
    with ada_and_bob(f"sqlite:///{tmp_path}/parley.db") as found:
        yield found


@pytest.fixture
def door(place: Place) -> ASGIApp:
    """The console's gate and login before something that says what reached it."""
    return behind(place)


@pytest.fixture
async def stranger(door: ASGIApp) -> AsyncIterator[Browser]:
    found = browser(door)
    yield found
    await found.client.aclose()


@pytest.fixture
def models() -> Iterator[Server]:
    """The fake server of models."""
    with serve() as running:
        yield running


@pytest.fixture
def stepped() -> Iterator[None]:
    """The backend `stepping`, whose replies come piece by piece as a test lets them."""
    with stepping():
        yield
