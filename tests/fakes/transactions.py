"""A watch on transactions of Parley's that are open while something is awaited, in all that the tests' processes do.

Where a transaction begins in a thread with an event loop, the loop is asked to look at it next: it comes to that only
when the coroutine that began it awaits something, and by then it must be over.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType

from sqlalchemy import Connection, Engine, event

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / room}/" for room in ("app", "storage", "experiments", "problems"))
TESTS = f"{ROOT / 'tests'}/"
# In storage/ai_alone/runs.py: one holds an empty file of its own and the other no transaction, while models answer.
LOCKS = ("_locked", "asking")

# Where in Parley a transaction was begun that was open while something was awaited.
FOUND: list[str] = []


def watch() -> None:
    event.listen(Engine, "begin", _began)


def _began(connection: Connection) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    where = _who()
    if where:
        loop.call_soon(_look, connection, where)


def _look(connection: Connection, where: str) -> None:
    if not connection.closed and connection.in_transaction():
        FOUND.append(where)


def _who() -> str:
    frame: FrameType | None = sys._getframe(1)
    place = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(TESTS) and not name.startswith(__file__):
            return place if place and not place.startswith("storage/db/engine.py") else ""
        if not place and name.startswith(OURS):
            if frame.f_code.co_name in LOCKS:
                return ""
            place = f"{name.removeprefix(f'{ROOT}/')}:{frame.f_lineno}"
        frame = frame.f_back
    return place
