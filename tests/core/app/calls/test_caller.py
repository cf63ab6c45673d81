"""What all calls of models have in common, for who waits before a screen and for who does not."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.backends.base import PromptMessage, Request, StreamEnd
from app.calls.caller import Attempt, Budget, Call, Caller, Result, StopSignal
from app.calls.model_pool import CircuitBreaker, ModelAccess, RateLimiter
from app.calls.retry import RetryPolicy
from app.clock import VirtualClock
from app.errors import BackendError, BackendRejected, BackendUnavailable
from experiments.study.sections.model_spec import ModelSpec, Price

pytestmark = pytest.mark.anyio
REQUEST = Request("gpt", (PromptMessage("user", "Hello"),), max_tokens=100, seed="1")
BUSY = BackendUnavailable("busy", reason="status_429", retry_after_s=1)
AWAY = BackendUnavailable("away", reason="connection")
WRONG = BackendRejected("what?", reason="status_400")


@dataclass
class Wish:
    """A reply that is wanted; the model fails as it is told, and then replies."""

    fails: list[BackendError] = field(default_factory=list)
    who: str = "one"
    stop: StopSignal = field(default_factory=StopSignal)
    made: list[Attempt] = field(default_factory=list)

    async def ask(self, backend: Any, request: Request, last: bool) -> Result:
        await asyncio.sleep(0)
        error = self.fails.pop(0) if self.fails else None
        return Result("" if error else "Hi.", StreamEnd("" if error else "stop", None, 10, 100), 0, 1, error=error)

    def reasons(self) -> list[str | None]:
        return [one.result.error and one.result.error.reason for one in self.made]


class House:
    """One model, and somebody who calls it."""

    def __init__(self, *, patient: bool = False, limit: float | None = None, per_minute: float | None = None) -> None:
        self.clock = VirtualClock(0)
        model = ModelSpec(backend="openai", price=Price(prompt=0, completion=10_000))
        limiter = RateLimiter(per_minute, now=(lambda: 0.0) if per_minute else time.monotonic)
        nobody: Any = None
        self.access = ModelAccess("gpt", model, lambda: nobody, limiter, CircuitBreaker(self.clock, 2, 30))
        self.budget = Budget(limit)
        self.caller = Caller(RetryPolicy(3, 1, 20, 20, patient=patient), self.clock, self.budget)

    async def call(self, wish: Wish) -> Attempt | None:
        return await self.caller.call(self.access, REQUEST, Call(wish.who, wish.stop, wish.ask, wish.made.append))


async def test_being_told_to_wait_is_a_try_for_who_waits_before_a_screen_alone() -> None:
    for patient, reasons in ((False, ["status_429"] * 3), (True, ["status_429"] * 4 + [None])):
        wish, house = Wish([BUSY] * 4), House(patient=patient)
        await house.call(wish)
        assert wish.reasons() == reasons
        assert house.clock.now_us() == (len(reasons) - 1) * 1_000_000, "as long as the server said"
        assert [one.number for one in wish.made] == list(range(1, len(reasons) + 1))


async def test_an_open_circuit_ends_a_chats_call_and_is_waited_for_by_a_batch() -> None:
    for patient, reasons in ((False, ["circuit_open"]), (True, [None])):
        house = House(patient=patient)
        for who in ("two", "three"):
            house.access.breaker.failed_again(who, AWAY)
        wish = Wish()
        await house.call(wish)
        assert wish.reasons() == reasons
        assert house.clock.now_us() == (30_000_000 if patient else 0)


@pytest.mark.parametrize("patient", [False, True])
async def test_what_a_text_brings_about_opens_no_circuit(patient: bool) -> None:
    house = House(patient=patient)
    for number in range(10):
        wish = Wish([WRONG], who=f"{number}")
        await house.call(wish)
        assert wish.reasons() == ["status_400"]
    assert not house.access.breaker.is_open


@pytest.mark.parametrize("patient", [False, True])
async def test_who_stops_is_let_go_from_the_line_and_holds_up_nobody(patient: bool) -> None:
    house = House(patient=patient, per_minute=600)
    assert await house.call(Wish()) is not None, "takes the one call that may be made now: the limiter's clock stands"
    stops, waits = Wish(who="stops"), Wish(who="waits")
    calls = [asyncio.create_task(house.call(wish)) for wish in (stops, waits)]
    await asyncio.sleep(0.01)
    stops.stop.give()
    assert await asyncio.wait_for(calls[0], 60) is None
    assert not stops.made
    waits.stop.give()
    assert await asyncio.wait_for(calls[1], 60) is None


async def test_a_budget_holds_for_calls_at_once_and_counts_what_they_cost() -> None:
    house = House(patient=True, limit=10.0)  # each costs 1, and can cost that at most
    wishes = [Wish(who=f"{number}") for number in range(20)]
    ended = await asyncio.gather(*(house.call(wish) for wish in wishes))
    assert sum(one is not None for one in ended) == 10
    assert house.budget.exhausted
    assert house.budget.left == pytest.approx(0.0)
