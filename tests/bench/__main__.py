"""`make bench`: what the engine costs, and then each bench in turn.

Many people at once in load/, the browser's page in page.py, the same load beside many facts in growth.py (here in
short), simulated trials with looks in trials.py, models asked alone in alone.py, imports and exports in exports.py.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from experiments.session.engine import fold
from storage.log.projections import rows_of
from tests.bench import alone, exports, growth, page, trials
from tests.bench.load import __main__ as load
from tests.fakes.sessions import play, study, whole

SESSIONS = 30
GROWTH = ["--facts", "1000000", "--rounds", "1"]
"""A tenth of what growth.py measures by itself: the whole takes 10 GB of disk."""


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    into.append(time.perf_counter() - begun)


def engine() -> tuple[float, float]:
    """Microseconds for a fact (decide, fold, screen, as bots play ChatBench) and for all rows of a session."""
    played: list[float] = []
    with timed(played):
        facts = sum(len(events) for n in range(SESSIONS) for _, events in play(study("chatbench"), f"bench {n}"))
    state = fold(whole("chatbench", "bench"))
    projected: list[float] = []
    for _ in range(SESSIONS):
        with timed(projected):
            rows_of(study("chatbench"), state)
    return 1e6 * played[0] / facts, 1e6 * statistics.median(projected)


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    fact_us, rows_us = engine()
    Console().print(f"Engine: {fact_us:.0f} us for a fact with its screen, {rows_us:.0f} us for all rows of a session")
    return max(
        load.main([]), page.main([]), growth.main(GROWTH), trials.main([]), alone.main(["--rivals"]), exports.main([])
    )


if __name__ == "__main__":
    sys.exit(main())
