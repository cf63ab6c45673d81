"""The rate limits that are set for models, on a clock that only moves when somebody waits."""

import asyncio

import pytest

from app.backends.base import StreamEnd
from app.calls.model_pool import ModelPool, RateLimiter
from app.clock import SystemClock
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendUnavailable
from experiments.study.sections.model_spec import ModelSpec

TOKENS = 100


def sent_in(seconds: float, latency_s: float = 0.05, **limits: float) -> int:
    """How many calls go within a time, by callers who ask as soon as they may."""
    now_s = 0.0
    limiter = RateLimiter(**limits, now=lambda: now_s)
    sent, replies = 0, list[float]()
    while now_s < seconds:
        while replies and replies[0] <= now_s:
            replies.pop(0)
            limiter.replied(StreamEnd("stop", None, TOKENS, TOKENS), TOKENS)
        if wait_s := limiter.wait_s(TOKENS):
            now_s += wait_s + 0.001  # as late as clocks are
        else:
            sent += 1
            replies.append(now_s + latency_s)
    return sent


def test_requests_are_kept_to_their_limit_from_the_beginning() -> None:
    assert 1_130 <= sent_in(60, requests_per_minute=1_170) <= 1_173


def test_tokens_are_counted_by_what_replies_took() -> None:
    assert sent_in(60, tokens_per_minute=600 * 2 * TOKENS) == pytest.approx(600, rel=0.02)


def test_what_is_set_for_a_server_holds_for_each_of_its_models_unless_a_run_says_otherwise() -> None:
    lab = Server(url="http://lab/v1", requests_per_minute=1)
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
    assert [limiter.at_once(1), limiter.at_once(1)] == [True, False]
    with pytest.raises(BackendUnavailable) as refused:
        await limiter.admit(1, longest_s=20)
    assert refused.value.reason == "rate_limit"
    waiting = asyncio.create_task(limiter.admit(1, longest_s=100))
    await asyncio.sleep(0)
    with pytest.raises(BackendUnavailable):
        await limiter.admit(1, longest_s=100)
    waiting.cancel()
