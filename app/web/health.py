"""Health checks of a server: liveness, the database, and readiness to write and read."""

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
from storage.log.writer import DraftRow

Answer = Callable[[Request], Awaitable[Response]]
PATIENCE_S = 5.0
# How long a response is cached, so that frequent checks do not cause frequent writes.
KEPT_S = 1.0

log = logging.getLogger(__name__)


def inside(answer: Answer) -> Answer:
    """Restrict a check to requests from this machine or a private network; others get 404."""

    async def guarded(request: Request) -> Response:
        return PlainTextResponse("not found", 404) if _is_global(request) else await answer(request)

    return guarded


def _is_global(request: Request) -> bool:
    try:
        found = ip_address(request.client.host if request.client else "")
    except ValueError:  # a Unix socket
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_global


async def liveness(_: Request) -> Response:
    """`/healthz/live`: this process answers."""
    return PlainTextResponse("ok")


def database_check(database: Database) -> Answer:
    """`/healthz`: this process and the database answer."""

    async def answer(_: Request) -> Response:
        await asyncio.to_thread(ping, database)
        return PlainTextResponse("ok")

    return answer


def readiness(log: Log, now_us: Callable[[], int]) -> Answer:
    """`/healthz/ready`: the last write succeeded, and a test write is read back within PATIENCE_S; else 503."""
    latest: asyncio.Task[str] | None = None
    checked_s = -KEPT_S

    async def answer(_: Request) -> Response:
        nonlocal latest, checked_s
        now = asyncio.get_running_loop().time()
        if latest is None or (latest.done() and now - checked_s >= KEPT_S):
            latest, checked_s = asyncio.create_task(_fault(log, now_us())), now
        fault = log.fault or await asyncio.shield(latest)
        return PlainTextResponse("not ready", 503) if fault or log.fault else PlainTextResponse("ok")

    return answer


async def _fault(event_log: Log, at_us: int) -> str:
    """The error of writing or reading; empty if there is none."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wrap_future(event_log.save_draft(DraftRow(NOBODY, "", {"ready": True}, at_us)))
            read = await asyncio.to_thread(event_log.draft, NOBODY, "")
    except TimeoutError:
        fault = f"nothing was written and read for {PATIENCE_S:g} s"
    except ParleyError as error:
        fault = str(error)
    else:
        fault = "" if read else "what was written is not read"
    if fault:
        log.error("not ready: %s", fault)
    return fault
