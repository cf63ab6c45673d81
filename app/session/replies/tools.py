"""The tools of models in sessions: the tools on offer, and the calls.

A session has a connection of its own to each set's server, for as long as it is used and at most until it ends, and
another in each turn of a loop, so that each problem begins with the server as it is at first. What is offered was read
from the server when the study was published, or else for the first reply (`storage/registers/offered_tools.py`), and
stays, whatever the server has since.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from tempfile import TemporaryFile
from typing import Any

from app.backends.base import ToolSpec, parse_options
from app.backends.registry import BACKENDS
from app.backends.scripted import ScriptedOptions
from app.clock import Clock
from app.config.settings import Settings
from app.errors import SettingsError, ToolServerError
from app.tools.connection import ToolConnection, ToolResult, frozen_hash, why_not_asked
from app.tools.packages import REPLAYED
from experiments.errors import ValidationIssue, unknown
from experiments.events import Data, PendingTask
from experiments.session.seeded_random import public_uuid
from experiments.session.tool_calls import made_calls
from experiments.study.location import State
from experiments.study.sections.tools import ToolSet
from experiments.study.study import Study
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.offered_tools import note_tools, offer_tools, offered_tools

log = logging.getLogger(__name__)
# How long a connection is kept that nobody uses: hardly anybody takes longer from message to message, and each turn of
# a loop has a process of its own.
IDLE_S = 300


class SessionTools:
    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self._database, self._settings, self._clock = database, settings, clock
        self._specs: dict[tuple[str, str], tuple[ToolSpec, ...]] = {}
        # by the session's stream, the set, and the turn of a loop with the reply's slot
        self._connections: dict[tuple[str, str, str], ToolConnection] = {}
        self._used_s: dict[tuple[str, str, str], float] = {}

    async def offered(self, study: Study, name: str) -> tuple[ToolSpec, ...]:
        """The tools of a set; raises SettingsError where they were never read and its server cannot be asked."""
        key = study.hash, name
        if key not in self._specs:
            known = await asyncio.to_thread(offered_tools, self._database, study.name, *key)
            self._specs[key] = as_specs(await self._first(study, name) if known is None else known)
        return self._specs[key]

    async def for_reply(self, study: Study, task: Data) -> tuple[ToolSpec, ...]:
        """The step's own, and those of its set with other names; raises SettingsError."""
        own = as_specs(task.get("own_tools", ()))
        names = {spec.name for spec in own}
        others = await self.offered(study, task["tools"]) if task.get("tools") else ()
        return (*own, *(spec for spec in others if spec.name not in names))

    async def read_all(self, study: Study) -> Mapping[str, bool]:
        """Each set, with whether its tools are as when first read. Raises SettingsError."""
        same = {}
        for name, tools in (study.file.tools or {}).items():
            kept = await self.offered(study, name)
            same[name] = frozen_hash(await asked(self._settings, tools)) == frozen_hash(kept)
        return same

    async def call(self, stream: str, study: Study, state: State, task: PendingTask) -> ToolResult:
        """Make a call that is due; never raises but when it is cancelled."""
        name, call = task.data["set"], (task.data["tool"], json.loads(task.data["arguments"] or "{}"))
        tools, turn = (study.file.tools or {})[name], task.path[: task.path.rfind("]") + 1]
        session = public_uuid(state.seed, f"tools/{turn}")
        if tools.package in REPLAYED:
            return await self._replay(ToolConnection(tools, session, self._settings), state, task, call)
        key = stream, name, turn + task.slot  # a column does not wait for another's call, or lose its own with it
        if key not in self._connections:
            looks = partial(self._looks, study, name)
            self._connections[key] = ToolConnection(tools, session, self._settings, looks)
        self._used_s[key] = asyncio.get_running_loop().time()
        result = await self._connections[key].call(*call)
        if result.failed in ("unavailable", "timeout"):
            await self._looks(study, name, None)
        return result

    async def _replay(
        self, connection: ToolConnection, state: State, task: PendingTask, call: tuple[str, Any]
    ) -> ToolResult:
        """Make a call on a server of its own, after those of the conversation so far."""
        try:
            for earlier in made_calls(state.facts[task.path], task.slot):
                await connection.call(*earlier)
            return await connection.call(*call)
        finally:
            await connection.close()

    async def close(self) -> None:
        await self._close([*self._connections])

    async def close_idle(self) -> None:
        until_s = asyncio.get_running_loop().time() - IDLE_S
        await self._close([key for key, used_s in self._used_s.items() if used_s < until_s])

    async def close_session(self, stream: str) -> None:
        await self._close([key for key in self._connections if key[0] == stream])

    async def _close(self, keys: Sequence[tuple[str, str, str]]) -> None:
        for key in keys:
            self._used_s.pop(key, None)
        await asyncio.gather(*[self._connections.pop(key).close() for key in keys])

    async def _first(self, study: Study, name: str) -> Sequence[Mapping[str, Any]]:
        try:
            specs = await asked(self._settings, (study.file.tools or {})[name])
        except SettingsError as error:
            raise SettingsError(f"tools.{name}: {error}") from error
        described = [{"name": one.name, "description": one.description, "schema": dict(one.schema)} for one in specs]
        place = self._database, study.name, study.hash, name
        return await asyncio.to_thread(offer_tools, *place, described, frozen_hash(specs), self._clock.now_us())

    async def _looks(self, study: Study, name: str, specs: Sequence[ToolSpec] | None) -> None:
        """Note that a server has other tools than offered, does not answer (None), or has the same again."""
        with suppress(SettingsError, StorageError):  # the next connection looks again
            kept = await self.offered(study, name)
            found = ("", []) if specs is None else (frozen_hash(specs), differing(kept, specs))
            place = self._database, study.name, study.hash, name
            await asyncio.to_thread(note_tools, *place, *found, self._clock.now_us())


async def asked(settings: Settings, tools: ToolSet) -> tuple[ToolSpec, ...]:
    """Ask a server for its tools; raises SettingsError if it cannot be asked or lacks a tool of the set."""
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        connection = ToolConnection(tools, "check", settings, errors=errors)
        try:
            return await connection.specs()
        except ToolServerError as error:
            await connection.close()  # the program has written what it writes
            errors.seek(0)
            raise SettingsError(why_not_asked(error, tools, errors.read())) from error
        finally:
            await connection.close()


async def tool_server_issues(study: Study, settings: Settings) -> list[ValidationIssue]:
    """Compare a study's sets of tools, and its scripted calls, with their servers, each of which is asked once."""
    sets = study.file.tools or {}
    found = await asyncio.gather(*[_read(name, tools, settings) for name, tools in sets.items()])
    issues = [issue for _, several in found for issue in several]
    if all(specs for specs, _ in found) and not any(step.own_tools for _, step in study.steps):
        issues += _odd_calls(study, {spec.name for specs, _ in found for spec in specs})
    return issues


async def _read(
    name: str, tools: ToolSet, settings: Settings
) -> tuple[tuple[ToolSpec, ...], Sequence[ValidationIssue]]:
    try:
        specs = await asked(settings, tools)
    except SettingsError as error:
        return (), [ValidationIssue(f"tools.{name}", str(error))]
    known = {name for spec in specs for name in (spec.name, *_arguments(spec))}
    odd = [label for label in tools.labels if label not in known]
    return specs, [
        ValidationIssue(f"tools.{name}.labels.{label}", unknown("tool or argument", label, known)) for label in odd
    ]


def _odd_calls(study: Study, known: Collection[str]) -> Iterator[ValidationIssue]:
    for label, model in study.file.models.items():
        turns = parse_options(ScriptedOptions, model.options).calls if model.backend == "scripted" else ()
        for number, calls in enumerate(turns):
            for place, call in enumerate(calls):
                if call.tool not in known:
                    where = f"models.{label}.options.calls[{number}][{place}].tool"
                    yield ValidationIssue(where, unknown("tool", call.tool, known))


def _arguments(spec: ToolSpec) -> Sequence[str]:
    found = spec.schema.get("properties")
    return tuple(found) if isinstance(found, Mapping) else ()


def differing(kept: Sequence[ToolSpec], now: Sequence[ToolSpec]) -> list[str]:
    """The names of the tools that one has and not the other, or not the same."""
    return sorted({spec.name for spec in (*kept, *now) if spec not in kept or spec not in now})


def refuse_without_tools(study: Study) -> None:
    """Raise SettingsError if a model of a study with tools has a backend that knows none; judges need none."""
    judges = {one.model for one in (study.file.annotators or {}).values()}
    needed = study.file.tools or any(step.own_tools and step.asks_models(()) for _, step in study.steps)
    for label, model in study.file.models.items() if needed else ():
        if label not in judges and not BACKENDS.find(model.backend).tools:
            raise SettingsError(f"models.{label}: models of the backend {model.backend!r} cannot use tools")


def as_specs(described: Sequence[Mapping[str, Any]]) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(one["name"], one["description"], one["schema"]) for one in described)
