"""Replies in progress: one task for each pending reply, which outlives the request that started it.

Its outcome is an event, written by `act`: `replied` with the text, or `failed` with the reason. Where words appear
later than they come (`pacing.py`), what the model wrote is an event of its own, `written`, with which a restart goes
on. If an event cannot be written, it is kept and retried, and the model is not called again. After a crash the reply is
still pending, so a restart requests it again. Several replies at one step are several tasks, distinguished by slot. Of
several processes only the one with the lock calls the model; the tasks of the others end when the reply is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from app.backends.base import ToolSpec
from app.calls.caller import Attempt, Result, StopSignal
from app.errors import SettingsError
from app.session.replies.buffer import Hold, Listeners, ReplyBuffer
from app.session.replies.judges import Act, Judges, MakeContext
from app.session.replies.pacing import paced_outcome
from app.session.replies.request import STOPPED, ReplyContext, ask_with_retries, empty_reply_error, study_asked
from app.session.replies.tools import SessionTools
from app.session.transitions import LoadedSession
from app.tools.calls import calls_data
from experiments.errors import Refused
from experiments.events import Action, PendingTask
from experiments.session.conversation import SCRIPTED
from experiments.session.engine import pending_tasks
from experiments.session.fidelity import may_withhold
from experiments.session.state import current_location
from experiments.study.location import State
from experiments.study.study import Study
from storage.db.advisory_locks import AdvisoryLocks
from storage.errors import StorageError
from storage.registers.origins import Origin

log = logging.getLogger(__name__)

LOCK_AGAIN_S = 0.25
# How often the process that fetches a reply checks whether the participant has stopped it through another one.
LOOK_S = 1.0
# What a task here does: it gets a reply, and makes the calls of tools for it.
TASKS = ("reply", "tool")
# Whose replies are neither delayed nor paced: nobody reads along.
UNPACED = (Origin.BOT, Origin.REHEARSAL)
# The session's stream, the step's path, and the reply's slot.
Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PendingReply:
    study: Study
    state: State
    job: PendingTask


# Reads pictures of a session by their SHA-256.
PictureContents: TypeAlias = Callable[[str, Sequence[str]], Mapping[str, bytes]]
# Waits for the lock on a reply. Yields what is pending by then, or None if the reply no longer is.
Turn: TypeAlias = Callable[[Key, PendingReply], AbstractAsyncContextManager[PendingReply | None]]


@asynccontextmanager
async def no_lock(key: Key, pending: PendingReply) -> AsyncIterator[PendingReply | None]:
    """The lock of a process that serves a database alone: never waits."""
    yield pending


class ReplyLocks:
    """The locks of one of several processes. `reload` reloads a session and requests its pending replies."""

    def __init__(self, locks: AdvisoryLocks, reload: Callable[[str], Awaitable[LoadedSession | None]]) -> None:
        self._locks, self._reload = locks, reload
        self._away = False

    @asynccontextmanager
    async def wait(self, key: Key, pending: PendingReply) -> AsyncIterator[PendingReply | None]:
        while not await self._given(key):
            await asyncio.sleep(LOCK_AGAIN_S)  # real time: another process does not share our clock
        looking = asyncio.create_task(self._poll(key[0]))
        try:
            yield await self._owed(key)
        finally:
            looking.cancel()
            self._locks.release(*key)

    async def _given(self, key: Key) -> bool:
        try:
            given = await asyncio.wrap_future(self._locks.acquire(*key))
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
            if job.kind in TASKS and [job.path, job.slot] == place
        )
        job = next(jobs, None)
        return PendingReply(found.study, found.state, job) if job else None

    async def _poll(self, stream: str) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            with suppress(StorageError):  # the next write will report it
                await self._reload(stream)


# Seconds until an outcome that could not be written is written again. The model is not called again, as that would cost
# twice.
AGAIN_S = 1


@dataclass(frozen=True, slots=True)
class _ReplyTask:
    reply: ReplyBuffer
    task: asyncio.Task[None]


class ReplyTasks:
    """All replies in progress in this process; `turn` waits for the lock on one, `contents` reads pictures."""

    def __init__(
        self,
        make_context: MakeContext,
        act: Act,
        turn: Turn,
        judges: Judges,
        tools: SessionTools,
        contents: PictureContents,
    ) -> None:
        self._make_context, self._act, self._turn, self._judges = make_context, act, turn, judges
        self._tools, self._contents = tools, contents
        self._running: dict[Key, _ReplyTask] = {}
        self._listeners = Listeners()

    def ensure_running(self, stream: str, study: Study, state: State) -> bool:
        """Start a task for each pending reply without one, and stop stopped replies; True if any was started."""
        began, holds = False, dict[str, Hold]()
        for job in pending_tasks(study, state):
            if job.kind not in TASKS:
                continue
            key = (stream, job.path, job.slot)
            if key not in self._running:
                paced = "pacing" in job.data and state.enrolled.get("origin") not in UNPACED
                mark, hold = job.data.get("mark", ""), holds.setdefault(job.path, Hold())
                reply = ReplyBuffer(self._listeners, hold, mark=mark, paced=paced)
                task = asyncio.create_task(self._answer(key, PendingReply(study, state, job), reply))
                self._running[key], began = _ReplyTask(reply, task), True
            if job.data.get("stopped"):
                self._running[key].reply.stopping.give()
        return began

    def reply(self, key: Key) -> ReplyBuffer | None:
        running = self._running.get(key)
        return running.reply if running is not None else None

    async def settled(self, stream: str) -> None:
        while tasks := [running.task for (owner, *_), running in self._running.items() if owner == stream]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, key: Key, pending: PendingReply, reply: ReplyBuffer) -> None:
        """Wait for the lock, then call the model. The buffer is ended whatever happens, so that no listener waits."""
        try:
            async with self._turn(key, pending) as found:
                if found is not None:
                    await self._ask(key, found, reply)
        except StorageError:
            log.exception("session %s: failed to request a reply; it remains pending", key[0])
        finally:
            running = self._running.pop(key, None)
            for one in (reply, *([running.reply] if running else [])):
                one.end()

    async def _ask(self, key: Key, pending: PendingReply, reply: ReplyBuffer) -> None:
        """Ask again for as long as a reply is owed: it broke a rule of the study, or its model asked for tools."""
        resumed = True
        owed: PendingReply | None = pending
        while owed is not None:
            if owed.job.kind == "tool":
                session = await self._call_tool(key[0], owed, resumed=resumed)
                reply = self._next_buffer(key, reply)
            else:
                unseen = "unseen" in owed.job.data
                if unseen:
                    asyncio.get_running_loop().call_later(owed.job.data["time_limit_s"], reply.stopping.give)
                hides = unseen or (fixed_reply(owed.job) is None and _may_withhold(owed))
                buffer = ReplyBuffer(hidden=True, stopping=reply.stopping, mark=reply.mark) if hides else reply
                session, again = await self._ask_once(key[0], owed, buffer, paced=reply.paced)
                if not again:
                    return
                reply = reply if hides else self._next_buffer(key, reply)
            owed, resumed = _owed_again(session, owed.job) if session is not None else None, False

    def _next_buffer(self, key: Key, reply: ReplyBuffer) -> ReplyBuffer:
        """A new buffer for what follows. Listeners of the last one learn that there is something new on the screen."""
        following = ReplyBuffer(self._listeners, Hold(), mark=reply.mark, paced=reply.paced, stopping=reply.stopping)
        self._running[key] = replace(self._running[key], reply=following)
        reply.end()
        return following

    async def _call_tool(self, stream: str, pending: PendingReply, *, resumed: bool) -> LoadedSession | None:
        """A call that had begun in a killed process, and may have changed something, is only recorded."""
        study, state, job = pending.study, pending.state, pending.job
        context = self._make_context(stream, job, state, study_asked(study, state))
        record = partial(self._record, stream, context=context)
        slot = {"slot": job.slot} if job.slot else {}
        begun, data = bool(job.data.get("begun")), job.data
        if data.get("own"):
            return await record(Action("return", job.path, slot, 0, by="model"))
        if begun and resumed and data["tool"] in (study.file.tools or {})[data["set"]].writes:
            return await record(Action("interrupt", job.path, slot, 0, by="model"))
        if not begun and await record(Action("begin", job.path, slot, 0, by="model")) is None:
            return None
        result = await self._tools.call(stream, study, state, job)
        return await record(Action("return", job.path, {**slot, "result": result.as_data}, 0, by="model"))

    async def _ask_once(
        self, stream: str, pending: PendingReply, reply: ReplyBuffer, *, paced: bool
    ) -> tuple[LoadedSession | None, bool]:
        """The session after that, and whether more may be owed. A paced reply is first recorded as written."""
        state, job = pending.state, pending.job
        study = study_asked(pending.study, state)
        context = self._make_context(stream, job, state, study)
        seed = f"{state.seed}:{job.path}:{state.seq}" + (f":{job.slot}" if job.slot else "")
        beside = [
            one.data["model"] for one in pending_tasks(study, state) if (one.kind, one.path) == ("reply", job.path)
        ]

        async def get() -> Action:
            if (fixed := fixed_reply(job)) is not None:
                reply.begin()
                reply.add(fixed.data["text"])
                return fixed
            try:
                offered = {"tools", "own_tools"} & job.data.keys()
                specs = await self._tools.for_reply(pending.study, job.data) if offered else ()
            except SettingsError as error:
                log.error("session %s: cannot reply without its tools: %s", stream, error)
                slot = {"slot": job.slot} if job.slot else {}
                data = {"model": job.data["model"], **slot, "reason": "tools", "cause": str(error)}
                return Action("fail", job.path, data, 0, by="model")
            shown = [one["sha256"] for said in job.data["messages"] for one in said.get("pictures", ())]
            contents = await asyncio.to_thread(self._contents, stream, shown) if shown else {}
            asked = {**job.data, "specs": specs, "contents": contents}
            attempts = await ask_with_retries(context, study, asked, seed, reply, beside)
            return _outcome(job, attempts, reply, specs, paced=paced)

        record = partial(self._record, stream, context=context)
        outcome = await (paced_outcome(job, reply, get, record, context.clock) if reply.paced else get())
        if reply.hidden and outcome.kind == "reply" and "unseen" not in job.data:
            outcome = await self._judged(stream, pending, outcome, reply.stopping)
            if paced and outcome.kind == "reply":
                outcome = replace(outcome, kind="write", data={**outcome.data, "shown": 0})
        return await self._record(stream, outcome, context), reply.hidden or outcome.kind == "call"

    async def _judged(self, stream: str, pending: PendingReply, outcome: Action, stop: StopSignal) -> Action:
        """The reply with findings of its judges; its failure if the participant stops it meanwhile."""
        place = current_location(pending.study, pending.state)
        assert place is not None  # noqa: S101  (a reply is owed at a place)
        judged = await self._judges.awaited(stream, place, outcome.data)
        if not judged or not stop.given:
            return replace(outcome, data={**outcome.data, **({"judged": judged} if judged else {})})
        kept = {name: outcome.data[name] for name in ("model", "wanted", "slot", "cost") if name in outcome.data}
        return replace(outcome, kind="fail", data={**kept, "reason": STOPPED, "cause": str(empty_reply_error())})

    async def _record(self, stream: str, outcome: Action, context: ReplyContext) -> LoadedSession | None:
        """Write what became of a reply, and ask the judges who follow it; None if it came too late."""
        while True:
            try:
                session = await self._act(stream, replace(outcome, at_us=context.clock.now_us()))
                if session.study.has_judges:
                    self._judges.ensure_running(session, context.clock.now_us())
                return session
            except Refused as refused:
                log.info("session %s: discarded a reply that came too late: %s", stream, refused)
                return None
            except StorageError as error:
                log.error("session %s: failed to write a reply; keeping it to retry: %s", stream, error)
                await asyncio.sleep(AGAIN_S)  # real time and not `clock`, like the database
                await context.writable()


def fixed_reply(task: PendingTask) -> Action | None:
    """A reply without a call: the study's own words, or the model's text from before a restart."""
    data: dict[str, Any] = {"model": task.data["model"], **({"slot": task.slot} if task.slot else {})}
    if written := task.data.get("written"):
        data = {name: value for name, value in written.items() if name not in ("shown", "at_us")}
    elif fixed := task.data.get("fixed"):
        before, marked, _ = fixed.partition(task.data.get("mark") or "\0")
        data |= {"text": before.strip(), "finish_reason": "stop", "source": SCRIPTED}
        data |= {"marked": True} if marked else {}
    else:
        return None
    return Action("reply", task.path, data, 0, by="model")


def _may_withhold(pending: PendingReply) -> bool:
    """True if a reply at this step may not be shown; then those beside it do not stream either, as one could tell."""
    study, state = pending.study, pending.state
    if not study.file.fidelity:
        return False
    jobs = [job for job in pending_tasks(study, state) if job.path == pending.job.path]
    place = current_location(study, state)
    return place is not None and any(may_withhold(place, job.data["model"], job.slot) for job in jobs)


def _owed_again(session: LoadedSession, task: PendingTask) -> PendingReply | None:
    jobs = pending_tasks(session.study, session.state)
    same = (job for job in jobs if job.kind in TASKS and (job.path, job.slot) == (task.path, task.slot))
    return next((PendingReply(session.study, session.state, job) for job in same), None)


def _outcome(
    task: PendingTask, attempts: Sequence[Attempt], reply: ReplyBuffer, specs: Sequence[ToolSpec], *, paced: bool
) -> Action:
    """The action that records the reply or its failure, not dated yet; with the known cost of all attempts."""
    attempt = attempts[-1]
    result, wanted = attempt.result, task.data["model"]
    costs = [one.cost for one in attempts if one.cost is not None]
    data: dict[str, Any] = {"model": attempt.label, **({"wanted": wanted} if attempt.label != wanted else {})}
    data |= {"slot": task.slot} if task.slot else {}
    data |= {name: task.data[name] for name in ("additions", "memory") if name in task.data}
    data |= {"cost": sum(costs)} if costs else {}
    if result.error is not None:
        if result.error.reason != STOPPED:
            # The reason alone: error messages of servers quote the request. The table `attempt` has the full message.
            log.warning("no reply from %s at %s: %s", attempt.label, task.path, result.error.reason)
        data |= {"reason": result.error.reason, "cause": str(result.error)}
        data |= {"text": result.text} if result.shown else {}
        return Action("fail", task.path, data, 0, by="model")
    data |= {
        "text": result.text,
        "finish_reason": result.end.finish_reason,
        "version": result.end.model,
        "prompt_tokens": result.end.prompt_tokens,
        "completion_tokens": result.end.completion_tokens,
        "first_token_us": result.first_token_us,
        "total_us": result.total_us,
        **({"marked": True} if reply.marked else {}),
        **_times(result, hidden=reply.hidden, paced=paced),
    }
    if result.calls:
        return _called(task, data, calls_data(result.calls, specs, task.data.get("calls_left", 0)))
    return Action("reply", task.path, data, 0, by="model")


def _called(task: PendingTask, data: dict[str, Any], calls: list[dict[str, str]]) -> Action:
    """The action that records calls of tools; a failed reply if the model has no call left."""
    if task.data.get("calls_left", 0) > 0:
        return Action("call", task.path, {**data, "calls": calls}, 0, by="model")
    names: tuple[str, ...] = ("model", "wanted", "slot", "cost")
    kept = {name: data[name] for name in names if name in data}
    cause = "The model asked for tools after the last call that the study allows."
    return Action("fail", task.path, {**kept, "reason": "too_many_calls", "cause": cause}, 0, by="model")


def _times(result: Result, *, hidden: bool, paced: bool) -> Mapping[str, int]:
    """Return when the model wrote a reply that is shown later, or when the first word of another was shown."""
    first_us = result.started_us + (result.total_us if result.first_token_us is None else result.first_token_us)
    if paced:
        return {"model_first_us": first_us, "model_last_us": result.started_us + result.total_us}
    return {} if hidden else {"shown_first_us": first_us}
