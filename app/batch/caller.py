"""The calls of a run: whole answers, asked for as patiently as servers want, and every attempt kept as a row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from app.backends.base import Backend, Completion, Request, StreamEnd
from app.backends.completion import complete
from app.batch.model_queue import ModelQueue
from app.batch.pending import Sample
from app.batch.plan import BUDGET
from app.batch.task import Prompt
from app.batch.tool_calls import complete_with_tools
from app.calls.caller import Attempt, Call, Caller, Result, row_of
from app.calls.model_pool import ModelPool
from app.config.settings import Settings
from app.errors import BackendError
from app.tools.connection import ToolConnection
from experiments.session.seeded_random import public_uuid
from experiments.study.sections.tools import ToolSet
from storage.db.engine import Database
from storage.errors import StorageError, Unwritable
from storage.log.event_log import Log
from storage.log.writer import AttemptRow

# How often to check whether replies can be stored again.
LOOK_S = 0.2


class AttemptWriter:
    def __init__(self, database: Database) -> None:
        self._log = Log(database)
        self._failed: BaseException | None = None

    @property
    def behind(self) -> int:
        return self._log.waiting

    @property
    def fault(self) -> str:
        """The reason why nothing can be written at the moment; empty while writing works."""
        return self._log.fault

    def write(self, row: Mapping[str, Any]) -> None:
        """Keep an attempt; it is on disk in a moment, or once writing works. Raises StorageError if one did not fit."""
        self._check()
        self._log.record_attempt(AttemptRow(row)).add_done_callback(self._written)

    def close(self) -> None:
        self._log.close()
        self._check()
        if self.fault:
            raise StorageError(f"replies could not be stored and are lost: {self.fault}")

    def _written(self, future: Future[None]) -> None:
        if not isinstance(error := future.exception(), Unwritable):  # that is written again
            self._failed = self._failed or error

    def _check(self) -> None:
        if self._failed is not None:
            raise StorageError(f"replies could not be stored: {self._failed}") from self._failed


class RunStop:
    """End a run for a reason; calls that wait in one of its queues continue at once."""

    def __init__(self, queues: Mapping[Any, ModelQueue]) -> None:
        self.why: str | None = None
        self._queues = queues

    def set(self, why: str) -> None:
        self.why = self.why or why
        for queue in self._queues.values():
            queue.leaving.give()


@dataclass(frozen=True, slots=True)
class BatchCalls:
    run: str
    study: str
    settings: Settings
    pool: ModelPool
    caller: Caller
    stop: RunStop
    kept: AttemptWriter
    _turns: count[int] = field(default_factory=lambda: count(1))

    async def reply(self, queue: ModelQueue, sample: Sample, prompt: Prompt) -> Result | None:
        """Call until there is a reply or the retries are used up; None if the call is no longer wanted."""
        access = self.pool.access(prompt.asked.label, prompt.asked.model)
        own = {"stream": self.run, "turn": next(self._turns), "slot": "", "path": "", "request": {}}
        own |= {"cell": sample.key, "sample": sample.number, "step": len(sample.texts)}

        def record(attempt: Attempt) -> None:
            self.kept.write({**own, **row_of(attempt, self.study, prompt.asked.model)})
            queue.tried(attempt.cost)
            if attempt.result.error is not None:
                queue.failing(attempt.result.error)

        async def ask(backend: Backend, request: Request, _: bool) -> Result:
            async with queue.slots:
                return await self._ask(backend, request, prompt.tools, session)

        session = f"{sample.key}:{sample.number}"
        call = Call(session, queue.leaving, ask, record, lambda: self._writable(queue))
        attempt = await self.caller.call(access, with_seed(prompt.request, sample), call)
        if attempt is None:
            if self.caller.budget.exhausted:
                self.stop.set(BUDGET)
            return None
        if attempt.result.error is None:
            queue.replied(attempt.result.end)
        else:
            queue.gave_up(attempt.result.error, sample.key)
        return attempt.result

    async def _writable(self, queue: ModelQueue) -> None:
        if self.kept.fault:
            async with queue.leaving.heeded():
                while self.kept.fault:
                    await asyncio.sleep(LOOK_S)

    async def _ask(self, backend: Backend, request: Request, tools: ToolSet | None, session: str) -> Result:
        began_us, began_ns = time.time_ns() // 1000, time.perf_counter_ns()
        try:
            reply = await self._complete(backend, request, tools, session)
        except BackendError as error:
            took_us = (time.perf_counter_ns() - began_ns) // 1000
            end = StreamEnd("", None, *error.tokens)
            return Result("", end, began_us, took_us, error=error, sent=error.sent, raw=error.raw)
        took_us = (time.perf_counter_ns() - began_ns) // 1000
        return Result(
            reply.text, reply.end, began_us, took_us, sent=reply.sent, raw=reply.raw, reasoning=reply.reasoning
        )

    async def _complete(self, backend: Backend, request: Request, tools: ToolSet | None, session: str) -> Completion:
        if tools is None:
            return await complete(backend, request, self.settings)
        connection = ToolConnection(tools, public_uuid(session, "tools"), self.settings)
        try:
            return await complete_with_tools(backend, request, self.settings, tools, connection)
        finally:
            await connection.close()


def with_seed(request: Request, sample: Sample) -> Request:
    """The request with the chance of its own that backends draw from which play a model."""
    seed = f"{sample.key}:{sample.number}:{len(sample.texts)}"
    asked = request.model, request.messages, request.temperature, request.max_tokens, request.options
    # a third of the time of `replace`
    return Request(*asked, seed=seed, schema=request.schema, tools=request.tools, problem=request.problem)
