"""Servers that die: one as by `kill -9` when an act is committed and nobody is told of it, once for each kind of act or
for each act; one once many people are at the same moment of a call of a tool; one whose writer fails."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from app.session.replies.tools import SessionTools
from app.session.service import SessionService
from experiments.events import Action
from storage.log import event_log
from storage.log.writer import Append
from tests.fakes.forked import command

# The file, in the process's folder, that has a line for each act at which it died.
DIED = "died"
# The variable with the moment, and how many people are there.
WHEN = "PARLEY_TEST_DIES_WHEN"
# Facts of people's, besides those that are said to be by a participant.
ACTS = ("enrolled", "withdrew")


def command_that_dies(*words: str) -> None:
    _die(lambda stream, kind, number: kind, *words)


def command_that_dies_at_every_act(*words: str) -> None:
    _die(lambda stream, kind, number: f"{stream}:{number}", *words)


def command_that_dies_in_calls(*words: str) -> None:
    """By SIGKILL, the first time that as many people as WHEN says are where it says: `before` a call is recorded as
    begun, `between` that and the call, or `after` the call."""
    moment, _, people = os.environ[WHEN].partition(" ")
    here, died = list[str](), Path(DIED).absolute()
    act, call = SessionService.act, SessionTools.call

    async def together(stream: str) -> None:
        here.append(stream)
        if len(here) == int(people):
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.Event().wait()

    async def acted(self: SessionService, stream: str, action: Action, *more: Any) -> Any:
        if action.kind == {"before": "begin", "after": "return"}.get(moment):
            await together(stream)
        return await act(self, stream, action, *more)

    async def called(self: SessionTools, stream: str, *more: Any) -> Any:
        if moment == "between":
            await together(stream)
        return await call(self, stream, *more)

    if not died.exists():
        SessionService.act, SessionTools.call = acted, called  # type: ignore[assignment, method-assign]
    command(*words)


def command_without_a_writer(*words: str) -> None:
    class Clock:
        def monotonic(self) -> float:
            raise OSError("no clock")

    event_log.time = Clock()  # type: ignore[attr-defined, assignment]
    command(*words)


def _die(called: Any, *words: str) -> None:
    write, died = event_log._outcomes, Path(DIED).absolute()

    def outcomes(connection: Connection, queued: Sequence[event_log._Queued]) -> list[Any]:
        found = write(connection, queued)
        known = died.read_text(encoding="utf-8").split() if died.exists() else []
        for item, outcome in zip(queued, found, strict=True):
            for act in _acts(outcome or item.work):
                if (name := called(*act)) not in known:
                    with died.open("a", encoding="utf-8") as file:
                        file.write(f"{name}\n")
                    os._exit(9)
        return found

    event_log._outcomes = outcomes
    command(*words)


def _acts(written: Any) -> list[tuple[str, str, int]]:
    """The act of somebody's, if that is what was written: whose, of what kind, the number of its fact."""
    events = written.events if isinstance(written, Append) else ()
    acts = [event for event in events if event.by == "participant" or event.kind in ACTS]
    return [(written.stream, event.kind, event.seq) for event in acts[:1]]
