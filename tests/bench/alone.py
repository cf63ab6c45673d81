"""AI alone: how fast the engine asks, what it costs, and what a `kill -9` can take from it.

    python -m tests.bench.alone [--rivals] [--short]

Each run is a process of its own beside a model server of its own (tests/fakes/fast_server.py), over a SQLite file with
every request and reply in it. `--rivals` lets inspect-ai and lm-eval do the same work in the same run (harnesses.py).
Where a bar is missed the bench exits with 1; calls a second and the processor's time belong to the machine, and say
nothing on one that is busy: what a bare client needs is measured beside.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from storage.schemas.chatbench import ALONE, METHODS
from tests.bench import bare_client, harnesses
from tests.fakes.asker import Told, ask, killed
from tests.fakes.fast_server import FastServer, fast_server

ROOT = Path(__file__).parents[2]
IDEAL = 128 / 0.05
RATE = 350
"""Calls a second on one core, end to end, with everything stored (DESIGN.md, "Capacity")."""
LIMIT = 20
COMMAND = """
import resource, sys
from app.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
sys.exit(code)
"""
"""`parley`, and at the end the most memory it had, in MB."""


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
    with fast_server() as server:
        bare_rate, bare_ms = bare_client.measure(server.base_url, calls)
    with TemporaryDirectory() as folder, fast_server() as server:
        took = ask(told(folder, server, calls))
    rate, cpu_ms = took.asked / took.seconds, 1e3 * took.cpu_s / took.asked
    found = (
        f"{rate:,.0f} calls/s ({rate / IDEAL:.0%} of the ideal), {cpu_ms:.2f} CPU-ms a call, "
        f"peak {took.peak_mb:.0f} MB ({took.late_mb - took.early_mb:+.0f} from a fifth to the end); "
        f"aiohttp alone, storing nothing: {bare_rate:,.0f} calls/s, {bare_ms:.2f} CPU-ms"
    )
    flat = took.peak_mb <= 160 and took.late_mb - took.early_mb <= 40
    kept = rate >= RATE and flat
    bars = f">= {RATE} calls/s, <= 160 MB, flat"
    return Row(f"{calls:,} calls", found, bars, kept and took.asked == calls), rate


def rivals(rate: float, short: bool) -> list[Row]:
    """Other harnesses doing this work; our speed is given as a multiple of theirs."""
    rows = []
    for name, (measure, calls, bar) in harnesses.HARNESSES.items():
        try:
            theirs = measure(calls // 10 if short else calls)
        except harnesses.NotThere as missing:
            rows.append(Row(name, f"skipped: {missing}", "", True))
            continue
        ratio = rate / theirs
        rows.append(
            Row(name, f"{theirs:,.0f} calls/s; ours is {ratio:.1f} times that", f">= {bar} times", ratio >= bar)
        )
    return rows


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


def limited(answers: int, retry_after_s: int | None) -> Row:
    """A server that allows 20 calls a second and says so by 429 alone."""
    with TemporaryDirectory() as folder, fast_server(limit=LIMIT, retry_after_s=retry_after_s) as server:
        took = ask(told(folder, server, answers))
        refused = server.counts()["limited"]
    rate, refusals = took.asked / took.seconds, refused / took.asked
    name = f"20 calls/s, {'without' if retry_after_s is None else 'with'} Retry-After"
    found = f"{rate:.1f} calls/s ({rate / LIMIT:.0%}), {refusals:.3f} refusals an answer"
    return Row(name, found, ">= 90 %, <= 0.2", rate >= 0.9 * LIMIT and refusals <= 0.2)


def noisy(calls: int) -> Row:
    """5 % of 429 for no reason, each with `Retry-After: 1`: they concern whom they meet, and slow down no other."""
    rates = []
    for faults in ({}, {"busy": 0.05, "retry_after_s": 1}):
        with TemporaryDirectory() as folder, fast_server(**faults) as server:
            ask(told(folder, server, calls, concurrency=32))
            at_s = [given_s for _, _, given_s in server.ledger()][
                : int(0.9 * calls)
            ]  # at the end only the late ones wait
            rates.append(len(at_s) / (at_s[-1] - at_s[0]))
    share = rates[1] / (0.95 * rates[0])
    found = f"{rates[1]:,.0f} calls/s, and {rates[0]:,.0f} without: {share:.0%} of what is possible"
    return Row("5 % of 429, 32 at once", found, ">= 80 %", share >= 0.8)


def whole(repeats: int) -> Row:
    """ChatBench: 396 questions by its three methods, by the command line, to the released csv."""
    calls = 396 * 4 * repeats
    with TemporaryDirectory() as folder, fast_server() as server:
        study = harnesses.questions(Path(folder), 396)
        environment = {
            **os.environ,
            "PARLEY_DATABASE_URL": f"sqlite:///{folder}/bench.db",
            "PARLEY_OPENAI_BASE_URL": server.base_url,
            "PARLEY_OPENAI_API_KEY": "sk-none",
        }
        run = ["ai-alone", "run", str(study), "--repeats", str(repeats), "--concurrency", "128"]
        begun, used = time.perf_counter(), _children_s()
        ran = _parley(run, environment)
        seconds, cpu_s = time.perf_counter() - begun, _children_s() - used
        exported = _parley(["export", "chatbench", "--schema", "chatbench", "--out", f"{folder}/out"], environment)
        requests = int(server.counts()["answered"])
        lines = sum(valid_rows(path, repeats) for path in Path(folder, "out").rglob(ALONE.file))
    for done in (ran, exported):
        if done.returncode:
            return Row(f"ChatBench, {' '.join(done.args[3:5])}", (done.stderr + done.stdout)[-600:], "", False)
    peak_mb = float(ran.stderr.split()[-1])
    found = f"{requests:,} calls in {seconds:.0f} s ({cpu_s:.0f} of a processor), peak {peak_mb:.0f} MB, {lines} rows"
    kept = requests == calls and peak_mb < 100 and lines == 396
    return Row(f"{396 * 3 * repeats:,} answers", found, "< 100 MB, csv validates", kept)


def valid_rows(path: Path, repeats: int) -> int:
    """How many rows are as ChatBench's: its columns, the counts that were wanted, shares between 0 and 1."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        names = [column.name for column in ALONE.columns if not column.theirs]
        if list(rows.fieldnames or ()) != names:
            raise ValueError(f"the columns are {rows.fieldnames}, and not {names}")
        return sum(
            all(int(row[f"{method}_count"]) == repeats and 0 <= float(row[f"{method}_acc"]) <= 1 for method in METHODS)
            for row in rows
        )


def _parley(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMMAND, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(words: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rivals", action="store_true", help="also inspect-ai and lm-eval; takes minutes")
    parser.add_argument("--short", action="store_true", help="a tenth of everything")
    told_so = parser.parse_args(words)
    part = 10 if told_so.short else 1
    first, rate = speed(10_000 // part)
    rows = [first, *(rivals(rate, told_so.short) if told_so.rivals else [])]
    rows += [survived(max(3, 20 // part), 5_000 // part), limited(600, None), limited(600, 1), noisy(10_000 // part)]
    rows.append(whole(50 // part))
    table = Table("what", "measured", "bars", "", title="AI alone on this machine")
    for row in rows:
        table.add_row(row.what, row.found, row.bars, "ok" if row.kept else "MISSED")
    Console(width=150).print(table)
    return int(not all(row.kept for row in rows))


if __name__ == "__main__":
    sys.exit(main())
