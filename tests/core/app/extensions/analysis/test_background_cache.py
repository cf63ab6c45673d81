"""Slow results: shown as they were, computed anew one at a time and not too often, and no failure swallowed."""

from __future__ import annotations

import pytest

from app.clock import VirtualClock
from app.extensions.analysis.background_cache import CachedResult, StaleWhileRevalidate
from tests.fakes.workers import Held

START_US = 1_000_000_000


class Study:
    """Something whose facts are counted, and the latest of them."""

    def __init__(self) -> None:
        self.facts = 1
        self.workers = Held()
        self.clock = VirtualClock(START_US)
        self.latest = StaleWhileRevalidate(
            self.compute, lambda key: self.facts, self.clock.now_us, self.workers, every_s=30
        )

    def compute(self, key: str) -> str:
        if self.facts < 0:
            raise ValueError("no facts")
        return f"{key}: {self.facts}"

    def look(self, key: str = "demo") -> CachedResult[str]:
        return self.latest.get(key)


def test_however_many_look_it_is_computed_once() -> None:
    study = Study()
    for _ in range(5):
        study.look()
    assert study.workers.work() == 1
    for _ in range(5):
        study.look()
    assert study.workers.work() == 0


def test_while_it_is_computed_anew_the_last_result_is_shown_with_its_time() -> None:
    study = Study()
    study.look()
    study.workers.work()
    study.facts = 2
    study.clock.advance(31)
    assert study.look() == CachedResult("demo: 1", START_US, True)
    study.workers.work()
    assert study.look() == CachedResult("demo: 2", START_US + 31_000_000, False)


def test_what_fails_is_raised_once_and_tried_again_later() -> None:
    study = Study()
    study.facts = -1
    study.look()
    study.workers.work()
    with pytest.raises(ValueError, match="no facts"):
        study.look()
    assert study.look() == CachedResult(None, None, False)
    study.facts = 3
    study.clock.advance(31)
    study.look()
    study.workers.work()
    assert study.look().value == "demo: 3"
