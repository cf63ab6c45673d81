"""Whether a server works: it answers, its database does, and what it is told is written and read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from problems.errors import ParleyError
from storage.db.engine import Database, ping
from storage.log.event_log import NOBODY, Log
from storage.log.write_requests import DraftRow

Answer = Callable[[Request], Awaitable[Response]]
PATIENCE_S = 5.0
"""How long a write may take in a server that is ready."""
KEPT_S = 1.0
"""How long an answer is given again, so that whoever asks often does not write often."""

log = logging.getLogger(__name__)


def inside(answer: Answer) -> Answer:
    """An answer for requests from this machine or its own network; 404 for all others."""

    async def guarded(request: Request) -> Response:
        return PlainTextResponse("not found", 404) if _is_global(request) else await answer(request)

    return guarded


def _is_global(request: Request) -> bool:
    try:
        found = ip_address(request.client.host if request.client else "")
    except ValueError:  # a socket of this machine
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_global


async def liveness(_: Request) -> Response:
    """`/healthz/live`: this process answers."""
    return PlainTextResponse("ok")


def database_check(database: Database) -> Answer:
    """`/healthz`: so does the database."""

    async def answer(_: Request) -> Response:
        await asyncio.to_thread(ping, database)
        return PlainTextResponse("ok")

    return answer


def readiness(facts: Log, now_us: Callable[[], int]) -> Answer:
    """`/healthz/ready`: what was written last could be, the writer takes a piece of work, and it is read from the
    database, within PATIENCE_S; 503 if not."""
    latest: asyncio.Task[str] | None = None
    asked = -KEPT_S

    async def answer(_: Request) -> Response:
        nonlocal latest, asked
        now = asyncio.get_running_loop().time()
        if latest is None or (latest.done() and now - asked >= KEPT_S):
            latest, asked = asyncio.create_task(_fault(facts, now_us())), now
        fault = facts.fault or await asyncio.shield(latest)
        return PlainTextResponse("not ready", 503) if fault or facts.fault else PlainTextResponse("ok")

    return answer


async def _fault(facts: Log, at_us: int) -> str:
    """What is wrong with the writing or the reading; empty if nothing is."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wrap_future(facts.save_draft(DraftRow(NOBODY, "", {"ready": True}, at_us)))
            read = await asyncio.to_thread(facts.draft, NOBODY, "")
    except TimeoutError:
        fault = f"nothing was written and read for {PATIENCE_S:g} s"
    except ParleyError as error:
        fault = str(error)
    else:
        fault = "" if read else "what was written is not read"
    if fault:
        log.error("not ready: %s", fault)
    return fault
