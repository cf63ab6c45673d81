"""Whose turn it is to ask for a reply, where several processes serve one database: that of who has the claim on it.

Each that is looked at sees that the reply is owed. The others wait, until it is recorded, or whoever had it fetched
is gone and the claim is given to one of them; that one looks again before it asks, as the reply may be there by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from experiments.events import PendingTask
from experiments.session.engine import pending_tasks
from experiments.session.state import State
from experiments.study.resolve import Study
from storage.db.advisory_locks import AdvisoryLocks
from storage.errors import StorageError

log = logging.getLogger(__name__)

AGAIN_S = 0.25
"""How soon a claim that was not given is asked for again."""
LOOK_S = 1.0
"""How soon who fetches a reply sees that the participant stopped it at another process."""
Key: TypeAlias = tuple[str, str, str]
"""A session's stream, the place, and the reply's slot."""


class LoadedState(Protocol):
    """A session as it was read."""

    @property
    def study(self) -> Study: ...
    @property
    def state(self) -> State: ...


@dataclass(frozen=True, slots=True)
class PendingReply:
    """A reply that is owed, and what is known of the session."""

    study: Study
    state: State
    job: PendingTask


Turn: TypeAlias = Callable[[Key, PendingReply], AbstractAsyncContextManager[PendingReply | None]]
"""Waits for the turn to ask for a reply; gives what is owed by then, or None if it no longer is."""


@asynccontextmanager
async def no_lock(key: Key, known: PendingReply) -> AsyncIterator[PendingReply | None]:
    """The turn of who serves a database alone: at once."""
    yield known


class ReplyLocks:
    """The turns of one of several processes. `afresh` reads a session again, and sees to what it is owed."""

    def __init__(self, claims: AdvisoryLocks, afresh: Callable[[str], Awaitable[LoadedState | None]]) -> None:
        self._claims, self._afresh = claims, afresh
        self._away = False

    @asynccontextmanager
    async def wait(self, key: Key, known: PendingReply) -> AsyncIterator[PendingReply | None]:
        """Wait for the turn, and have it until the block ends."""
        while not await self._given(key):
            await asyncio.sleep(AGAIN_S)  # the world's time, as the other process has no clock of ours
        looking = asyncio.create_task(self._look(key[0]))
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
                log.error("no reply can be asked for, as no claim can be had: %s", error)
            self._away = True
            return False
        self._away = False
        return given

    async def _owed(self, key: Key) -> PendingReply | None:
        stream, *place = key
        found = await self._afresh(stream)
        if found is None:
            return None
        jobs = (
            job
            for job in pending_tasks(found.study, found.state)
            if job.kind == "reply" and [job.path, job.slot] == place
        )
        job = next(jobs, None)
        return PendingReply(found.study, found.state, job) if job else None

    async def _look(self, stream: str) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            with suppress(StorageError):  # what is written next will say so
                await self._afresh(stream)
