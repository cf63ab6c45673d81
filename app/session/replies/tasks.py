"""Replies on their way: one task for each that is owed, which outlives the request that started it.

What becomes of it is a fact, given back by `act`: `replied` with its words, or `failed` with its reason. Where it
cannot be written it is kept until it can, and not asked for again. A crash leaves it owed, so a restart asks again. Two
replies at one place are two tasks, told apart by their slot. Of several processes one asks, whose turn it is; the tasks
of the others end when the reply is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.calls.caller import Attempt
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.reply_lock import Key, PendingReply, Turn
from app.session.replies.request import STOPPED, ReplyContext, ask_with_retries
from experiments.errors import Refused
from experiments.events import Action, PendingTask
from experiments.session.engine import pending_tasks
from experiments.session.state import State
from experiments.study.resolve import Study
from storage.errors import StorageError

log = logging.getLogger(__name__)

AGAIN_S = 1
"""How soon what could not be written is written again; the model is not asked again, as that would be paid twice."""
Act = Callable[[str, Action], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _ReplyTask:
    reply: ReplyBuffer
    task: asyncio.Task[None]


class ReplyTasks:
    """All replies on their way in this process. `means` gives the means for a session and a job, `turn` the turn."""

    def __init__(self, means: Callable[[str, PendingTask, State], ReplyContext], act: Act, turn: Turn) -> None:
        self._means, self._act, self._turn = means, act, turn
        self._running: dict[Key, _ReplyTask] = {}

    def __len__(self) -> int:
        """How many replies are on their way."""
        return len(self._running)

    def ensure_running(self, stream: str, study: Study, state: State) -> bool:
        """See that each owed reply is on its way, once, and that those are stopped that shall be; whether any began."""
        began = False
        for job in pending_tasks(study, state):
            if job.kind != "reply":
                continue
            key = (stream, job.path, job.slot)
            if key not in self._running:
                reply = ReplyBuffer()
                task = asyncio.create_task(self._answer(key, PendingReply(study, state, job), reply))
                self._running[key], began = _ReplyTask(reply, task), True
            if job.data.get("stopped"):
                self._running[key].reply.stopping.give()
        return began

    def reply(self, key: Key) -> ReplyBuffer | None:
        """A reply on its way."""
        running = self._running.get(key)
        return running.reply if running is not None else None

    async def settled(self, stream: str) -> None:
        """Wait until no reply is on its way in a session."""
        tasks = [running.task for (whose, *_), running in self._running.items() if whose == stream]
        if tasks:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Leave off; what is on its way stays owed."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, key: Key, known: PendingReply, reply: ReplyBuffer) -> None:
        """Wait for the turn, then ask; whatever happens, those who listen are let go."""
        try:
            async with self._turn(key, known) as found:
                if found is not None:
                    await self._ask(key[0], found, reply)
        except StorageError:
            log.exception("session %s: a reply could not be asked for; it stays owed", key[0])
        finally:
            self._running.pop(key, None)
            reply.end()

    async def _ask(self, stream: str, found: PendingReply, reply: ReplyBuffer) -> None:
        """Record what becomes of a reply."""
        study, state, job = found.study, found.state, found.job
        means = self._means(stream, job, state)
        seed = f"{state.seed}:{job.path}:{state.seq}" + (f":{job.slot}" if job.slot else "")
        outcome = _outcome(job, await ask_with_retries(means, study, job.data, seed, reply))
        while True:
            try:
                await self._act(stream, replace(outcome, at_us=means.clock.now_us()))
            except Refused as refused:
                log.info("session %s: a reply came too late: %s", stream, refused)
            except StorageError as error:
                log.error("session %s: a reply could not be written, and is kept until it can be: %s", stream, error)
                await asyncio.sleep(AGAIN_S)  # the world's time, as it is the database's
                await means.before(study)
                continue
            return


def _outcome(job: PendingTask, attempts: Sequence[Attempt]) -> Action:
    """The reply, or its failure, which is a fact as well, not dated yet; with what all the attempts cost, as far as
    that is known."""
    attempt = attempts[-1]
    result, wanted = attempt.result, job.data["model"]
    costs = [one.cost for one in attempts if one.cost is not None]
    data: dict[str, Any] = {"model": attempt.label, **({"wanted": wanted} if attempt.label != wanted else {})}
    data |= {"slot": job.slot} if job.slot else {}
    data |= {"cost": sum(costs)} if costs else {}
    if result.error is not None:
        if result.error.reason != STOPPED:
            # the reason alone: servers quote the request in their messages; the table `attempt` has the whole
            log.warning("no reply from %s at %s: %s", attempt.label, job.path, result.error.reason)
        data |= {"reason": result.error.reason, "cause": str(result.error)}
        return Action("fail", job.path, data, 0, by="model")
    data |= {
        "text": result.text,
        "finish_reason": result.end.finish_reason,
        "version": result.end.model,
        "prompt_tokens": result.end.prompt_tokens,
        "completion_tokens": result.end.completion_tokens,
        "first_token_us": result.first_token_us,
        "total_us": result.total_us,
    }
    return Action("reply", job.path, data, 0, by="model")
