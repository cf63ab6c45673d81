"""A run: makes the calls of a plan that the database lacks, and stores every request and reply.

    survey    what is there? Nothing of it is asked again, and a sample that was interrupted goes on with its next step.
    feed      for each model, its missing samples go into a queue: one task a model, never a task a sample.
    work      for each model, so many tasks as may call at once take samples from the queue and make their calls.
    keep      the log's thread writes what came, 50 ms at a time.

A sample whose next step asks another model moves to that model's queue. What may be on its way is bounded where samples
begin, so that queues are short and nobody waits in a circle.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from app.backends.model_ref import ModelRef
from app.batch.caller import AttemptWriter, BatchCalls, RunStop
from app.batch.model_queue import ModelQueue
from app.batch.pending import ModelKey, PendingSamples, Sample, find_pending, model_key_of
from app.batch.plan import DONE, INTERRUPTED, STOPPED, RunLimits, RunPlan, RunProgress, RunResult
from app.batch.task import Prompt
from app.calls.caller import Budget, Caller
from app.calls.model_pool import ModelPool
from app.calls.retry import RetryPolicy
from app.clock import SystemClock
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from storage.ai_alone.replies import has_result, texts
from storage.ai_alone.runs import asking, begin_run, end_run
from storage.db.engine import Database

AHEAD = 3
MOST_BEHIND = 1_500
TELL_S = 0.2
SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def run(
    database: Database,
    settings: Settings,
    plan: RunPlan,
    limits: RunLimits,
    tell: Callable[[RunProgress], None],
    stopped: Callable[[], bool] = bool,
) -> RunResult:
    """Ask for what is missing of a plan; `tell` is called with the progress, several times a second and at the end.
    Ctrl-C, SIGTERM and `stopped` end it: what is on its way is waited for, unless the signal comes again. Raises
    SettingsError or BackendRejected if a model cannot be asked here at all, StorageError if another run asks over this
    database."""
    with asking(database):
        found = await asyncio.to_thread(find_pending, database, plan.cells)
        running = _Runner(database, settings, limits, found, tell, stopped)
        try:
            for where, asked in found.asked.items():
                running.lane(where, asked)
            return await running.run(plan)
        finally:
            await running.close()


class _Runner:
    def __init__(
        self,
        database: Database,
        settings: Settings,
        limits: RunLimits,
        pending: PendingSamples,
        tell: Callable[[RunProgress], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._database, self._settings, self._limits, self._pending = database, settings, limits, pending
        self._lanes: dict[ModelKey, ModelQueue] = {}
        self._clock = SystemClock()
        servers = with_saved_servers(settings, database)
        self._pool = ModelPool(servers, self._clock, _at_once, limits.requests_per_minute, limits.tokens_per_minute)
        self._slots: dict[tuple[str, str | None], asyncio.Semaphore] = {}
        self._stop, self._over = RunStop(self._lanes), asyncio.Event()
        self._progress, self._tell = RunProgress(pending.samples, pending.stored), tell
        self._stopped = stopped
        self._feeding = self._open = 0
        self._tasks: list[asyncio.Task[None]] = []

    def lane(self, key: ModelKey, model: ModelRef) -> ModelQueue:
        """The lane of a model, made with the first call to it; raises what its backend raises if it cannot be made."""
        if key not in self._lanes:
            self._pool.prepare(model.model, model.label)
            concurrency = self._limits.concurrency
            slots = self._slots.setdefault((key.backend, key.server), asyncio.Semaphore(concurrency))
            breaker = self._pool.access(model.label, model.model).breaker
            room = asyncio.Semaphore(AHEAD * concurrency)
            queue = self._lanes[key] = ModelQueue(model, breaker, self._limits.patience_s, slots, room)
            if self._stop.why:
                queue.leaving.give()
        return self._lanes[key]

    async def run(self, plan: RunPlan) -> RunResult:
        data = {"study": plan.study, "what": plan.what, **plan.details, "budget": self._limits.budget}
        name, began_s = await asyncio.to_thread(begin_run, self._database, data), time.monotonic()
        settings, patience_s = self._settings, self._limits.patience_s
        waits_s = settings.retry_wait_s, settings.max_retry_wait_s, patience_s
        caller = Caller(
            RetryPolicy(self._limits.tries, *waits_s, patient=True), self._clock, Budget(self._limits.budget)
        )
        self._kept = AttemptWriter(self._database)
        self._calls = BatchCalls(name, plan.study, settings, self._pool, caller, self._stop, self._kept)
        try:
            with self._signals():
                await self._all()
        finally:
            await asyncio.to_thread(self._kept.close)
        self._tell(self._progress)
        used = tuple(lane.used() for lane in self._lanes.values())
        ended = RunResult(name, self._why(), time.monotonic() - began_s, self._progress, used)
        facts = {field: getattr(ended, field) for field in ("why", "asked", "cost")}
        facts |= {field: getattr(self._progress, field) for field in ("reused", "failed", "refused")}
        given_up = {one.label: one.stopped for one in used if one.stopped}
        facts |= {"seconds": round(ended.seconds, 3), **({"given_up": given_up} if given_up else {})}
        await asyncio.to_thread(end_run, self._database, name, facts)
        return ended

    async def close(self) -> None:
        await self._pool.close()

    async def _all(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                ticking = group.create_task(self._tick())
                for where, lane in list(self._lanes.items()):
                    self._feeding += 1
                    self._tasks.append(group.create_task(self._feed(where, lane)))
                    self._work(lane)
                self._check_finished()
                await self._over.wait()
                for task in [*self._tasks, ticking]:
                    task.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    def _work(self, queue: ModelQueue) -> None:
        for _ in range(self._limits.concurrency):
            self._tasks.append(self._group.create_task(self._take(queue)))

    async def _feed(self, key: ModelKey, queue: ModelQueue) -> None:
        for sample in self._pending.missing(key):
            await queue.room.acquire()
            if self._stop.why or queue.stopped:
                break
            if sample.begun:
                sample.texts = await asyncio.to_thread(texts, self._database, sample.key, sample.number)
            self._open += 1
            queue.queue.put_nowait((queue, sample))
        self._feeding -= 1
        self._check_finished()

    async def _take(self, queue: ModelQueue) -> None:
        while True:
            origin, sample = await queue.queue.get()
            if await self._go_on(queue, origin, sample):
                origin.room.release()
                self._open -= 1
                self._check_finished()

    def _check_finished(self) -> None:
        if not self._feeding and not self._open:
            self._over.set()

    async def _go_on(self, queue: ModelQueue, model_queue: ModelQueue, sample: Sample) -> bool:
        """Make a sample's calls as far as they ask this lane; whether it is over, rather than another lane's."""
        asked = False
        while question := sample.cell.next(sample.texts):
            there = queue if question.asked is queue.asked else self._there(question)
            if there is not queue:
                there.queue.put_nowait((model_queue, sample))
                return False
            reply = await self._calls.reply(queue, sample, question)
            if reply is None:
                return True
            asked = True
            if reply.error is not None:
                refused = has_result(reply.error.reason)
                self._progress.refused += refused
                self._progress.failed += not refused
                return True
            sample.texts = (*sample.texts, reply.text)
            while self._kept.behind > MOST_BEHIND and not self._stop.why:
                await asyncio.sleep(TELL_S)
        self._progress.asked += asked
        self._progress.reused += not asked
        return True

    def _there(self, prompt: Prompt) -> ModelQueue:
        """The lane that a question is for; one that no first step asks begins to work with its first question."""
        where = model_key_of(prompt.asked)
        if where not in self._lanes:
            self._work(self.lane(where, prompt.asked))
        return self._lanes[where]

    def _why(self) -> str:
        if self._stop.why:
            return self._stop.why
        return STOPPED if any(lane.stopped for lane in self._lanes.values()) else DONE

    async def _tick(self) -> None:
        while True:
            self._tell(self._progress)
            if not self._stop.why and self._stopped():
                self._interrupt()
            await asyncio.sleep(TELL_S)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # Windows has none of this
            for number in SIGNALS:
                loop.add_signal_handler(number, self._interrupt)
        try:
            yield
        finally:
            with suppress(NotImplementedError):
                for number in SIGNALS:
                    loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        if self._stop.why:
            self._over.set()
        self._stop.set(INTERRUPTED)


async def _at_once(seconds: float) -> None:
    """The wait of backends that simulate typing: no participant watches, so they do not wait."""
    await asyncio.sleep(0)
