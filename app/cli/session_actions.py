"""How commands act on sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from app.clock import SystemClock
from app.session.service import Sessions
from storage.db.engine import Database

Result = TypeVar("Result")


def act_on(database: Database, work: Callable[[Sessions], Coroutine[Any, Any, Result]]) -> Result:
    """Let a command act on the sessions of a database; returns when all is written."""

    async def acting() -> Result:
        sessions = Sessions(database, SystemClock())
        try:
            return await work(sessions)
        finally:
            await sessions.close()

    return asyncio.run(acting())
