"""The rate limiter against simulated servers on a clock of its own: limits, bursts, latencies, noise, reports."""

import asyncio
import heapq
import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import StreamEnd
from app.calls.model_pool import ModelPool
from app.calls.rate_limit import RateLimiter
from app.clock import SystemClock
from app.config.model_servers import Server as Server_
from app.config.settings import Settings
from app.errors import BackendUnavailable
from experiments.study.sections.model_spec import ModelSpec
from tests.fakes.examples import examples

TOKENS = 100


@dataclass
class Server:
    """Serves as many calls a second as it may, and says 429 to others, and now and then for no reason."""

    limit: float | None = None
    burst: float = 1.0
    latency_s: float = 0.05
    retry_after_s: float | None = None
    noise: float = 0.0
    headers: bool = False
    level: float = 0.0
    at_s: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.burst

    def serves(self, now_s: float, chance: random.Random) -> bool:
        if chance.random() < self.noise:
            return False
        if self.limit is None:
            return True
        self.level = min(self.burst, self.level + self.limit * (now_s - self.at_s))
        self.at_s = now_s
        if self.level < 1:
            return False
        self.level -= 1
        return True

    def told(self) -> Mapping[str, str]:
        if not self.headers or self.limit is None:
            return {}
        return {
            "x-ratelimit-limit-requests": f"{60 * self.limit:.0f}",
            "x-ratelimit-remaining-requests": f"{self.level:.0f}",
        }


@dataclass
class Play:
    """Callers who ask a server at a pace: as the engine does, one of them at the gate, the rest in line."""

    server: Server
    answers: int
    at_once: int = 128
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    seed: int = 0
    stall_s: float = 0.0
    """For how long the client is busy elsewhere, now and then: what comes meanwhile is seen late."""
    now_s: float = 0.0
    sent: int = 0
    refused: int = 0
    most_on_way: int = 0

    def __post_init__(self) -> None:
        self.limiter = RateLimiter(self.requests_per_minute, self.tokens_per_minute, lambda: self.now_s)
        self.chance = random.Random(self.seed)
        self.came_s: list[float] = []
        self.events: list[tuple[float, int, str, float]] = []
        self.on_way = 0
        self.waiting = False
        self.stalls_s = 0.0
        self.order = count()
        self.line = min(3 * self.at_once, self.answers)
        self.left = self.answers - self.line

    def later(self, seconds: float, what: str) -> None:
        heapq.heappush(self.events, (self.now_s + seconds, next(self.order), what, self.now_s))

    def run(self) -> "Play":
        self.go()
        while len(self.came_s) < self.answers:
            at_s, _, what, sent_s = heapq.heappop(self.events)
            self.now_s = max(at_s, self.now_s)
            if self.stall_s and self.now_s >= self.stalls_s:
                self.now_s += self.stall_s
                self.stalls_s = self.now_s + self.chance.uniform(0, 0.5)
            if what == "replied":
                self.came_s.append(self.now_s)
                self.on_way -= 1
                self.line, self.left = self.line + bool(self.left), max(0, self.left - 1)
                self.limiter.replied(StreamEnd("stop", None, 0, TOKENS, self.server.told()), TOKENS)
            elif what == "refused":
                self.on_way -= 1
                self.refused += 1
                self.limiter.refused(sent_s, self.server.retry_after_s)
                self.later(self.server.retry_after_s or 1.0, "again")
            elif what == "again":
                self.line += 1
            self.waiting = self.waiting and what != "gate"
            self.go()
        return self

    def go(self) -> None:
        """Send what may be sent; whoever is at the gate waits as it was told, and a little longer, as clocks are."""
        while self.line and not self.waiting and self.on_way < self.at_once:
            if (wait_s := self.limiter.wait_s(TOKENS)) > 0:
                self.waiting = True
                self.later(wait_s + self.chance.uniform(0, 0.001), "gate")
                return
            self.line, self.on_way, self.sent = self.line - 1, self.on_way + 1, self.sent + 1
            self.most_on_way = max(self.most_on_way, self.on_way)
            served = self.server.serves(self.now_s, self.chance)
            self.later(self.server.latency_s if served else 0.005, "replied" if served else "refused")

    @property
    def refusals(self) -> float:
        return self.refused / self.answers

    def rate(self, first: float = 0.0) -> float:
        skipped = int(first * len(self.came_s))
        begun = self.came_s[skipped - 1] if skipped else 0.0
        return (len(self.came_s) - skipped) / (self.came_s[-1] - begun)


BURSTS_S, LATENCIES_S = (0.25, 1.0, 10.0), (0.05, 1.0, 5.0)
KINDS = [*product(BURSTS_S, LATENCIES_S, (None, 1.0))]
SOME = [(0.25, 5.0, None), (1.0, 0.05, 1.0), (10.0, 1.0, None), (10.0, 5.0, 1.0)]
"""Kinds of servers among which is each burst, each latency and each way to refuse."""


def servers(limit: int) -> list[Any]:
    """Servers of some kinds with a limit, and of the others in a soak."""
    return [pytest.param(limit, *kind, marks=() if kind in SOME else pytest.mark.soak) for kind in KINDS]


@pytest.mark.parametrize(
    ("limit", "burst_s", "latency_s", "retry_after_s"), [server for n in (2, 5, 20, 100, 500) for server in servers(n)]
)
def test_any_limit_is_found_and_kept_whatever_burst_is_let_through(
    limit: int, burst_s: float, latency_s: float, retry_after_s: float | None
) -> None:
    server = Server(limit, max(2, limit * burst_s), latency_s, retry_after_s)
    answers = int(limit * (60 + burst_s))
    play = Play(server, answers, max(128, int(2 * limit * latency_s))).run()
    assert play.rate(first=0.5) >= 0.9 * limit, "once it is found"
    assert play.refused <= 0.2 * answers + 60, "some before it is found"


@pytest.mark.parametrize(("limit", "retry_after_s"), [(20, None), (20, 1.0), (100, None), (100, 1.0)])
def test_noise_beside_a_limit_does_not_let_it_collapse(limit: int, retry_after_s: float | None) -> None:
    server = Server(limit, limit, 0.05, retry_after_s, noise=0.05)
    play = Play(server, limit * 60, seed=limit).run()
    assert play.rate(first=0.5) >= 0.7 * limit
    assert play.refusals <= 0.2


@examples(8)
@given(seed=st.integers(0, 10_000), noise=st.floats(0, 0.05), latency_s=st.sampled_from([0.05, 0.5]))
def test_odd_refusals_slow_nobody_down(seed: int, noise: float, latency_s: float) -> None:
    play = Play(Server(None, latency_s=latency_s, noise=noise), 12_000, seed=seed).run()
    ideal = 128 / latency_s * (1 - noise)
    taken = play.came_s[8_000:11_500]  # at the end only those are left who wait
    assert 3_500 / (taken[-1] - taken[0]) >= 0.85 * ideal, "chance is taken for no limit"
    assert play.refusals <= noise / (1 - noise) + 0.03


def test_limits_that_the_server_tells_are_kept_without_a_refusal() -> None:
    play = Play(Server(20, 1_200, headers=True), 3_000).run()
    assert play.refusals <= 0.01
    assert play.rate(first=0.5) >= 0.95 * 20


def test_what_is_set_for_a_server_holds_for_each_of_its_models_unless_a_run_says_otherwise() -> None:
    lab = Server_(url="http://lab/v1", requests_per_minute=1)
    settings = Settings(_env_file=None, model_servers={"lab": lab})
    models = [
        ModelSpec(backend="openai", server=server, model=name)
        for server, name in (("lab", "a"), ("lab", "b"), (None, "a"))
    ]

    def waits(pool: ModelPool) -> list[bool]:
        limiters = [pool.access("only", model).limiter for model in models]
        return [limiter.wait_s(1) > 1 for _ in range(2) for limiter in limiters]

    assert waits(ModelPool(settings, SystemClock(), asyncio.sleep))[3:] == [True, True, False]
    assert waits(ModelPool(settings, SystemClock(), asyncio.sleep, 6_000)) == [False] * 6


@pytest.mark.anyio
async def test_who_may_not_wait_long_is_told_at_once_and_holds_nobody_up() -> None:
    limiter = RateLimiter(requests_per_minute=1, now=lambda: 0.0)
    assert limiter.at_once(1) == 0.0
    assert limiter.at_once(1) is None
    with pytest.raises(BackendUnavailable) as refused:
        await limiter.admit(1, longest_s=20)
    assert refused.value.reason == "rate_limit"
    waiting = asyncio.create_task(limiter.admit(1, longest_s=100))
    await asyncio.sleep(0)
    with pytest.raises(BackendUnavailable):
        await limiter.admit(1, longest_s=100)
    waiting.cancel()


def test_limits_that_are_set_are_kept_from_the_beginning() -> None:
    play = Play(Server(20, 2), 400, requests_per_minute=1_170).run()
    assert play.refused == 0
    assert play.rate() >= 0.95 * 19.5


def test_tokens_are_counted_too_by_what_replies_took() -> None:
    play = Play(Server(None), 300, tokens_per_minute=60 * 10 * TOKENS).run()
    assert 9 <= play.rate() <= 11
