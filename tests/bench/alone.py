"""AI alone: how fast the engine asks, what it costs, and what a `kill -9` can take from it.

    python -m tests.bench.alone [--rivals] [--short]

Each run is a process of its own beside a model server of its own (tests/fakes/fast_server.py), over a SQLite file with
every request and reply in it. `--rivals` lets inspect-ai do the same work in the same run (harnesses.py). Where a bar
is missed the bench exits with 1; calls a second and the processor's time say nothing on a machine that is busy.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from tests.bench import harnesses
from tests.fakes.asker import Told, ask, killed
from tests.fakes.fast_server import FastServer, fast_server

ROOT = Path(__file__).parents[2]
IDEAL = 128 / 0.05
RATE = 350
"""Calls a second on one core, end to end, with everything stored (DESIGN.md, "Capacity")."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one thing, and whether its bars are kept."""

    what: str
    found: str
    bars: str
    kept: bool


def told(folder: str, server: FastServer, calls: int, concurrency: int = 128) -> Told:
    """A plan of so many calls, 50 of each question."""
    return Told(f"sqlite:///{folder}/bench.db", server.base_url, calls // 50, 50, concurrency)


def speed(calls: int) -> tuple[Row, float]:
    """Calls at 50 ms, 128 at once, each stored durably; with the calls a second."""
    with TemporaryDirectory() as folder, fast_server() as server:
        took = ask(told(folder, server, calls))
    rate, cpu_ms = took.asked / took.seconds, 1e3 * took.cpu_s / took.asked
    found = (
        f"{rate:,.0f} calls/s ({rate / IDEAL:.0%} of the ideal), {cpu_ms:.2f} CPU-ms a call, "
        f"peak {took.peak_mb:.0f} MB ({took.late_mb - took.early_mb:+.0f} from a fifth to the end)"
    )
    flat = took.peak_mb <= 160 and took.late_mb - took.early_mb <= 40
    kept = rate >= RATE and flat
    bars = f">= {RATE} calls/s, <= 160 MB, flat"
    return Row(f"{calls:,} calls", found, bars, kept and took.asked == calls), rate


def rival(rate: float, calls: int) -> Row:
    try:
        theirs = harnesses.inspect_ai(calls)
    except harnesses.NotThere as missing:
        return Row("inspect-ai", f"skipped: {missing}", "", True)
    ratio, found = rate / theirs, f"{theirs:,.0f} calls/s; ours is {rate / theirs:.1f} times that"
    return Row("inspect-ai", found, ">= 3 times", ratio >= 3)


def survived(kills: int, calls: int) -> Row:
    """A run that is killed again and again, against a server with faults.

    Four calls at once: what is on its way at a kill is asked again, and 20 times more of them would be the better part
    of the 1.15 requests an answer.
    """
    faults = {"busy": 0.05, "broken": 0.02, "dropped": 0.02}
    with TemporaryDirectory() as folder, fast_server(**faults) as server:
        plan = told(folder, server, calls, concurrency=4)
        found = killed(plan, server, kills, random.Random(calls))
    exact = len(found.samples) == plan.cells and set(found.samples.values()) == {plan.samples}
    requests = found.requests / calls
    kept = exact and found.twice == 0 and found.oldest_lost_ms <= 100 and requests <= 1.15
    told_of = (
        f"{found.kills} kills: {'each cell has its count' if exact else 'WRONG COUNTS'}, {found.twice} twice, "
        f"{found.lost} answers lost (the oldest {found.oldest_lost_ms:.0f} ms before its kill), "
        f"{requests:.3f} requests an answer"
    )
    return Row(f"kill -9 in {calls:,} calls", told_of, "exact, nothing older than 100 ms, <= 1.15", kept)


def main(words: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rivals", action="store_true", help="also inspect-ai; takes minutes")
    parser.add_argument("--short", action="store_true", help="a tenth of everything")
    told_so = parser.parse_args(words)
    part = 10 if told_so.short else 1
    first, rate = speed(10_000 // part)
    rows = [first, *([rival(rate, 2_000 // part)] if told_so.rivals else [])]
    rows.append(survived(max(3, 20 // part), 5_000 // part))
    table = Table("what", "measured", "bars", "", title="AI alone on this machine")
    for row in rows:
        table.add_row(row.what, row.found, row.bars, "ok" if row.kept else "MISSED")
    Console(width=150).print(table)
    return int(not all(row.kept for row in rows))


if __name__ == "__main__":
    sys.exit(main())
