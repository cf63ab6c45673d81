"""Wiring tests are coroutines on asyncio; a module's tests share an event loop, so that they can share a server."""

import pytest


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"
