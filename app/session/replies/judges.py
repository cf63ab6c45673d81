"""Judges: models that are asked whether a reply keeps a rule of the study, within a time limit and a budget.

A judge that is away, slow, over its budget or not understood has no verdict, and the reason is recorded in its place. A
reply waits for a judge only where its rule says so. Other verdicts follow it, asked for by the process that recorded
the reply, or, where that was killed, by the next that loads the session some time later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

from app.backends.base import Backend, Request
from app.calls.caller import Budget, Call, Result, StopSignal
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.request import ReplyContext, stream_reply, study_asked
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from experiments.events import Action, Data, Event, PendingTask
from experiments.session.fidelity import JUDGE_SLOT, Reply, reply_of, rules_for, unjudged
from experiments.study.location import Location, State
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.study import Study
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.judge_budgets import add_judge_cost
from storage.reports.conversations import Conversation, conversation_at

log = logging.getLogger(__name__)
# How long after its time limit another process takes a verdict that is missing for lost.
LOST_S = 60


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """The request to a model of the study (its `label`), and how its reply is read: values by name, or None."""

    label: str
    request: Request
    read: Callable[[str], Mapping[str, Any] | None]


Questions = Callable[[Study, str, Conversation], JudgeQuestion]
MakeContext = Callable[[str, PendingTask, State, Study], ReplyContext]
Act = Callable[[str, Action], Awaitable[LoadedSession]]


class CountedBudget(Budget):
    """A budget that all processes count together: `add` adds to what is spent, if that is within a limit."""

    def __init__(self, limit: float, add: Callable[..., bool]) -> None:
        super().__init__(limit)
        self._most, self._add = limit, add

    async def reserve(self, most: float) -> bool:
        return await asyncio.to_thread(self._add, most, self._most)

    async def settle(self, most: float, cost: float) -> None:
        try:
            await asyncio.to_thread(self._add, cost - most)
        except StorageError as error:
            log.error("failed to record a judge's cost; its maximum is counted: %s", error)


class Judges:
    """The judges of this process. `questions` makes the question of one of a study's annotators."""

    def __init__(self, database: Database, questions: Questions | None, make_context: MakeContext, act: Act) -> None:
        self._database, self._questions, self._make_context, self._act = database, questions, make_context, act
        self._running: dict[tuple[str, str, int], asyncio.Task[None]] = {}

    async def awaited(self, stream: str, location: Location, data: Data) -> dict[str, Data]:
        """Ask the judges for whom a reply waits about the next reply at a location; return the findings by rule."""
        event = Event(location.state.seq + 1, 0, "model", location.path, "replied", data)
        reply = reply_of(location, data)
        rules = [rule for rule in rules_for(reply) if rule.wait]
        found = await asyncio.gather(*(self._finding(stream, rule, reply, event) for rule in rules))
        return {rule.name: finding for rule, finding in zip(rules, found, strict=True)}

    def ensure_running(self, session: LoadedSession, now_us: int, *, lost: bool = False) -> None:
        """Ask the judges whose verdicts are missing; with `lost`, only those that nobody else asks any longer."""
        for rule, reply, event in unjudged(session.study, session.state):
            key = (session.stream, rule.name, event.seq)
            due_us = event.at_us + (rule.time_limit_s + LOST_S) * 1e6 if lost else 0
            if key not in self._running and due_us <= now_us:
                self._running[key] = task = asyncio.create_task(self._judge(session.stream, rule, reply, event))
                task.add_done_callback(lambda _, key=key: self._running.pop(key, None))  # type: ignore[misc]

    async def settled(self, stream: str) -> None:
        await asyncio.gather(*(task for (owner, *_), task in self._running.items() if owner == stream))

    async def close(self) -> None:
        for task in (tasks := list(self._running.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _judge(self, stream: str, rule: FidelityRule, reply: Reply, event: Event) -> None:
        data = {"rule": rule.name, "of": event.seq, **await self._finding(stream, rule, reply, event)}
        try:
            await self._act(stream, Action("judge", event.path, data, event.at_us, by="model"))
        except (Refused, StorageError) as error:
            log.warning("session %s: failed to write a verdict: %s", stream, error)

    async def _finding(self, stream: str, rule: FidelityRule, reply: Reply, event: Event) -> dict[str, Any]:
        """The `value` that a judge finds in a conversation up to a reply, or why it is `missing`."""
        place, state = reply.location, reply.location.state
        if self._questions is None:
            return {"missing": "no_judges"}
        facts = (*(fact for fact in place.facts if fact.seq < event.seq), event)
        so_far = replace(place, state=replace(state, facts={**state.facts, place.path: facts}))
        study, name = study_asked(place.study, state), rule.annotator or ""
        question = self._questions(study, name, conversation_at(so_far, reply.slot, stream))
        slot = f"{JUDGE_SLOT}{crc32(rule.name.encode()):08x}"
        context = self._make_context(stream, PendingTask("reply", place.path, {}, slot), state, study)
        request = replace(question.request, seed=f"{state.seed}:{place.path}:{event.seq}:{rule.name}")
        over = StopSignal()

        async def ask(backend: Backend, request: Request, _: bool) -> Result:
            return await stream_reply(backend, request, context.limits, ReplyBuffer(stopping=over), context.clock)

        timer = asyncio.get_running_loop().call_later(rule.time_limit_s, over.give)
        try:
            caller = replace(context.caller, budget=self._budget(study.name, rule))
            call = Call(stream, over, ask, context.record)
            attempt = await caller.call(context.access(study, question.label), request, call)
        except StorageError as error:
            log.error("session %s: failed to ask a judge: %s", stream, error)
            return {"missing": "storage"}
        finally:
            timer.cancel()
        if attempt is None or over.given:
            return {"judge": question.label, "missing": "time_limit" if over.given else "budget"}
        judge = {"judge": question.label, "judge_version": attempt.result.end.model, "cost": attempt.cost}
        if attempt.result.error is not None:
            return {**judge, "missing": attempt.result.error.reason}
        found = (question.read(attempt.result.text) or {}).get(rule.value)
        return {**judge, "missing": "unparsable"} if found is None else {**judge, "value": found}

    def _budget(self, study: str, rule: FidelityRule) -> Budget:
        if rule.budget is None:
            return Budget()
        return CountedBudget(rule.budget, partial(add_judge_cost, self._database, study, rule.name))
