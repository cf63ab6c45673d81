"""One call, made until it brings something or is given up: tries, pauses, pace and budget; what came of it is a row.

429 is no try: the pace says how long to wait. What the server cannot help is tried again after pauses that grow, a
reply that is none once at once, and a refusal by the model never: it is an outcome.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.alone.cell import Question
from app.alone.engine.lane import Lane
from app.alone.engine.plan import BUDGET
from app.alone.engine.survey import Sample
from app.alone.engine.wallet import Wallet, most_of
from app.backends.base import End, Request, Whole
from app.backends.whole import whole
from app.errors import BackendBroken, BackendError, BackendUnavailable, PriceUnknown
from app.settings import Settings
from storage.ai_tables import SETTLED
from storage.alone.replies import Replies, Reply

BUSY = "status_429"
BROKEN_TRIES = 2
LONGEST_RETRY_AFTER_S = 120.0
LOOK_S = 0.2
"""How often it is looked whether replies can be kept again."""


class Stop:
    """Whether a run is to end, and why; those who wait hear of it."""

    def __init__(self) -> None:
        self.why: str | None = None
        self._event = asyncio.Event()

    def set(self, why: str) -> None:
        """End the run; the first reason counts."""
        self.why = self.why or why
        self._event.set()

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until the end."""
        if self.why is None:
            try:
                async with asyncio.timeout(seconds):
                    await self._event.wait()
            except TimeoutError:
                return


@dataclass(slots=True)
class _Tries:
    """How often one call was made, and what came of the last time."""

    requests: int = 0
    failed: int = 0
    broken: int = 0
    cost: float | None = 0.0
    began_us: int = 0
    took_us: int = 0


@dataclass(frozen=True, slots=True)
class Caller:
    """What the calls of a run have in common."""

    run: str
    settings: Settings
    tries: int
    wallet: Wallet
    stop: Stop
    replies: Replies
    chance: Callable[[], float] = random.random

    async def call(self, lane: Lane, sample: Sample, question: Question) -> Reply | None:
        """Make a call until it brings something or is given up; None if it was not to be made any more."""
        request = seeded(question.request, sample)
        most = self._most(question, request)
        made = _Tries()
        while await self._may_go(lane, request, most):
            try:
                reply = await self._once(lane, request, made)
            except BackendError as error:
                self._paid(lane, made, most, _cost(question, error.tokens) or 0.0)
                wait_s = self._wait_s(lane, made, error)
                if wait_s is None:
                    lane.gave_up(error, sample.key)
                    return self._row(sample, question, made, error)
                lane.waiting += 1
                await self.stop.sleep(wait_s)
                lane.waiting -= 1
            else:
                cost = _cost(question, (reply.end.prompt_tokens, reply.end.completion_tokens))
                self._paid(lane, made, most, cost)
                lane.replied(reply)
                return self._row(sample, question, made, reply)
        return None

    def _paid(self, lane: Lane, made: _Tries, most: float, cost: float | None) -> None:
        """Count what a try has cost; the budget counts the most where nobody knows."""
        self.wallet.settle(most, most if cost is None else cost)
        made.cost = None if cost is None or made.cost is None else made.cost + cost
        lane.cost += cost or 0.0

    def _most(self, question: Question, request: Request) -> float:
        price = question.asked.model.price
        if price is None and self.wallet.guards:
            raise PriceUnknown(
                f"{question.asked.label}: nobody knows what it costs, so a budget cannot be kept. Give the model its "
                "`price` in the study (`{prompt: 0, completion: 0}` where it costs nothing), or set no budget."
            )
        return most_of(price, request)

    async def _may_go(self, lane: Lane, request: Request, most: float) -> bool:
        """Wait for the pace, the budget, and until what comes can be kept; False if the call is not to be made."""
        tokens = lane.tokens(sum(len(message.text) for message in request.messages), request.max_tokens)
        if lane.gate.locked() or self._over(lane) or (wait_s := lane.pace.wait_s(tokens)) > 0:
            async with lane.gate:
                while not self._over(lane) and (wait_s := lane.pace.wait_s(tokens)) > 0:
                    await self.stop.sleep(wait_s)
        while self.replies.fault and not self._over(lane):
            await self.stop.sleep(LOOK_S)
        if self._over(lane):
            return False
        if not await self.wallet.take(most):
            self.stop.set(BUDGET)
        elif not self._over(lane):
            return True
        else:  # it ended while this one waited for others to bring their money back
            self.wallet.settle(most, 0.0)
        lane.pace.failed()
        return False

    def _over(self, lane: Lane) -> bool:
        return self.stop.why is not None or lane.stopped is not None

    async def _once(self, lane: Lane, request: Request, made: _Tries) -> Whole:
        async with lane.slots:
            made.requests += 1
            lane.requests += 1
            made.began_us, began_ns = time.time_ns() // 1000, time.perf_counter_ns()
            try:
                return await whole(lane.backend, request, self.settings)
            finally:
                made.took_us = (time.perf_counter_ns() - began_ns) // 1000

    def _wait_s(self, lane: Lane, made: _Tries, error: BackendError) -> float | None:
        """How long to wait before the same call is made again; None if it is given up."""
        if error.reason == BUSY and isinstance(error, BackendUnavailable):
            lane.told_to_wait(error)
            return lane.pace.refused(error.retry_after_s, made.took_us / 1e6)
        lane.pace.failed()
        if isinstance(error, BackendBroken) and error.reason not in SETTLED:
            made.broken += 1
            return 0.0 if made.broken < BROKEN_TRIES else None
        if not isinstance(error, BackendUnavailable):
            return None
        made.failed += 1
        if made.failed >= self.tries:
            return None
        if error.retry_after_s is not None:
            return min(error.retry_after_s, LONGEST_RETRY_AFTER_S)
        longest: float = min(self.settings.longest_retry_wait_s, self.settings.retry_wait_s * 2 ** (made.failed - 1))
        return longest * (0.5 + self.chance() / 2)

    def _row(self, sample: Sample, question: Question, made: _Tries, came: Whole | BackendError) -> Reply:
        failed = came if isinstance(came, BackendError) else None
        end = End("", None, *came.tokens) if isinstance(came, BackendError) else came.end
        return Reply(
            cell=sample.key,
            sample=sample.number,
            step=len(sample.texts),
            run=self.run,
            reason=failed.reason if failed else None,
            model=question.asked.label,
            backend=question.asked.model.backend,
            server=question.asked.model.server,
            finish_reason=end.finish_reason or None,
            version=end.model,
            prompt_tokens=end.prompt_tokens,
            completion_tokens=end.completion_tokens,
            cost=made.cost if question.asked.model.price else None,
            started_us=made.began_us,
            total_us=made.took_us,
            tries=made.requests,
            text=None if isinstance(came, BackendError) else came.text,
            cause=str(failed) if failed else None,
            request=came.sent,
            raw=came.raw,
        )


def seeded(request: Request, sample: Sample) -> Request:
    """The request with the chance of its own that backends draw from which play a model."""
    seed = f"{sample.key}:{sample.number}:{len(sample.texts)}"
    asked = request.model, request.messages, request.temperature, request.max_tokens, request.options
    return Request(*asked, seed=seed, schema=request.schema)  # a third of the time of `replace`


def _cost(question: Question, tokens: tuple[int | None, int | None]) -> float | None:
    """What a call cost; None where nobody has said the price, or the server did not count."""
    price, (prompt, completion) = question.asked.model.price, tokens
    return None if price is None or prompt is None or completion is None else price.of(prompt, completion)
