"""The budget of a judge, which several processes spend at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from storage.db.engine import open_database
from storage.registers.judge_budgets import add_judge_cost


def test_no_number_of_processes_passes_a_budget(database_url: str) -> None:
    processes = [open_database(database_url) for _ in range(3)]
    with ThreadPoolExecutor(12) as pool:
        reserved = [*pool.map(add_judge_cost, processes * 8, repeat("s"), repeat("r"), repeat(1.0), repeat(5.0))]
    assert sum(reserved) == 5
    first, second, _ = processes
    assert add_judge_cost(first, "s", "r", 0.25 - 1.0), "a call that is over has cost less than was reserved"
    assert [add_judge_cost(second, "s", "r", cost, 5.0) for cost in (1.0, 0.75)] == [False, True]
    assert [add_judge_cost(first, "s", "other", cost, 5.0) for cost in (6.0, 5.0, 0.1)] == [False, True, False]
    for process in processes:
        process.dispose()
