"""`kill -9` in a run of models alone: what was stored is not asked for again, and every cell gets its count.

The long form, with its bars, is in tests/bench/alone.py.
"""

import random
from pathlib import Path

import pytest

from tests.fakes.asker import Told, killed
from tests.fakes.fast_server import fast_server

pytestmark = pytest.mark.slow
CONCURRENCY = 8
LATE_MS = 1_000.0
"""On a busy machine a commit may take its time; the bench says what it takes on a quiet one."""


def test_a_run_that_is_killed_three_times_asks_for_what_is_missing_and_nothing_else(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    faults = {"busy": 0.05, "broken": 0.02, "dropped": 0.02, "seed": seed}
    with fast_server(**faults) as server:
        plan = Told(f"sqlite:///{tmp_path}/parley.db", server.base_url, 6, 50, CONCURRENCY, cap_s=0.2)
        found = killed(plan, server, 3, random.Random(seed))
        answered = len(server.ledger())
    assert sorted(found.samples.values()) == [50] * 6
    assert found.twice == 0
    assert answered == found.stored + found.lost, "each answer is stored, or was lost at a kill"
    assert found.oldest_lost_ms < LATE_MS
