"""Lets one of several processes that serve a database request a pending reply: the one that holds its advisory lock.

Every process that loads the session finds the reply pending. The others wait until the reply is recorded, or until
the process with the lock has died and one of them gets it; that one reloads the session before it calls the model, as
the reply may be recorded by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from app.session.transitions import LoadedSession
from experiments.events import PendingTask
from experiments.session.engine import pending_tasks
from experiments.study.location import State
from experiments.study.study import Study
from storage.db.advisory_locks import AdvisoryLocks
from storage.errors import StorageError

log = logging.getLogger(__name__)

AGAIN_S = 0.25
LOOK_S = 1.0
"""How often the process that fetches a reply checks whether the participant has stopped it through another one."""
Key: TypeAlias = tuple[str, str, str]
"""The session's stream, the step's path, and the reply's slot."""


@dataclass(frozen=True, slots=True)
class PendingReply:
    study: Study
    state: State
    job: PendingTask


Turn: TypeAlias = Callable[[Key, PendingReply], AbstractAsyncContextManager[PendingReply | None]]
"""Waits for the lock on a reply. Yields what is pending by then, or None if the reply no longer is."""


@asynccontextmanager
async def no_lock(key: Key, known: PendingReply) -> AsyncIterator[PendingReply | None]:
    """The lock of a process that serves a database alone: never waits."""
    yield known


class ReplyLocks:
    """The locks of one of several processes. `reload` reloads a session and requests its pending replies."""

    def __init__(self, claims: AdvisoryLocks, reload: Callable[[str], Awaitable[LoadedSession | None]]) -> None:
        self._claims, self._reload = claims, reload
        self._away = False

    @asynccontextmanager
    async def wait(self, key: Key, known: PendingReply) -> AsyncIterator[PendingReply | None]:
        while not await self._given(key):
            await asyncio.sleep(AGAIN_S)  # real time: another process does not share our clock
        looking = asyncio.create_task(self._poll(key[0]))
        try:
            yield await self._owed(key)
        finally:
            looking.cancel()
            self._claims.release(*key)

    async def _given(self, key: Key) -> bool:
        try:
            given = await asyncio.wrap_future(self._claims.acquire(*key))
        except StorageError as error:
            if not self._away:
                log.error("cannot request a reply: failed to acquire the advisory lock: %s", error)
            self._away = True
            return False
        self._away = False
        return given

    async def _owed(self, key: Key) -> PendingReply | None:
        stream, *place = key
        found = await self._reload(stream)
        if found is None:
            return None
        jobs = (
            job
            for job in pending_tasks(found.study, found.state)
            if job.kind == "reply" and [job.path, job.slot] == place
        )
        job = next(jobs, None)
        return PendingReply(found.study, found.state, job) if job else None

    async def _poll(self, stream: str) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            with suppress(StorageError):  # the next write will report it
                await self._reload(stream)
