"""Watching a study with a million facts: what each of the console's queries takes, against a tenth of the facts.

`python -m tests.bench.million` simulates some sessions of ChatBench, copies their rows under new names and earlier
times until there are enough facts, and keeps the database in a folder for the next time.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select, text

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.runtime import Runtime
from app.settings import Settings
from experiments.core.funnel import funnel
from storage import tables, usage
from storage.engine import Database, open_database, writer
from storage.erasure import empty_journal
from storage.operations import operations_in
from storage.seats import meant
from storage.watching import Kept, watch
from storage.watching.models import recent, used
from storage.watching.people import crowds, over_time, waiting
from storage.watching.times import typical
from tests.bench import copies
from tests.fakes.sessions import study

FACTS = 1_000_000
WHOLE, LIVE = 160, 40
STUDY = FILE = "chatbench"
ORIGIN = "person"
BAR_MS = 100.0
FOLDER = Path(tempfile.gettempdir()) / "parley-bench"
TOLD = 5
"""Rows of telemetry for each session."""


async def originals(database: Database) -> None:
    """Sessions that are whole, and some that are under way at the end of the simulated time."""
    clock = VirtualClock(START_US)
    runtime = Runtime(database, Settings(), clock)
    runtime.studies.register(study(STUDY))
    end_us = 0
    async for walked in simulate(runtime, clock, study(STUDY), WHOLE, "million"):
        end_us = max(end_us, walked.live.state.events[-1].at_us)
    for number in range(LIVE):
        clock.set(end_us - number * 1_000_000)
        live = await runtime.enrol(study(STUDY), origin="bot", seed=f"live {number}")
        bot = RandomBot(f"live {number}")
        for _ in range(number):
            await runtime.settled(live.stream)
            live = await runtime.live(live.stream) or live
            if live.screen.ended:
                break
            kind, values = bot.act(live.screen)
            seen = live.screen
            live = await runtime.participant(live.stream, kind, seen.path, values, seen=seen.seen)
    await runtime.close()


def multiply(path: Path, facts: int) -> None:
    """Copy all rows of the sessions until there are so many facts; who is copied is a person."""
    with closing(sqlite3.connect(path)) as database:
        (there,) = database.execute("SELECT count(*) FROM event").fetchone()
        streams = [stream for (stream,) in database.execute("SELECT stream FROM session")]
    copies.multiply(path, streams, -(-facts // there) - 1)
    database = open_database(f"sqlite:///{path}")
    with writer(database) as connection, connection.begin():
        connection.execute(text("DELETE FROM session WHERE origin = 'bot'"))
        connection.execute(text("DELETE FROM seat WHERE origin = 'bot'"))
        for number in range(1, TOLD + 1):
            values = f"stream, {number}, NULL, 'consent', last_us, 'here', '{{}}'"
            connection.execute(text(f"INSERT INTO telemetry SELECT {values} FROM seat"))
        usage.recount(connection)
        connection.execute(text("ANALYZE"))
    database.dispose()


def count(connection: Connection, table: Any) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def database_of(folder: Path, facts: int) -> Database:
    """The database with so many facts, made unless it is there."""
    path = folder / file_of(facts)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = path.with_suffix(".making")
        making.unlink(missing_ok=True)
        database = open_database(f"sqlite:///{making}")
        asyncio.run(originals(database))
        database.dispose()
        multiply(making, facts)
        making.rename(path)
    return open_database(f"sqlite:///{path}")


def copy_to(path: Path, facts: int = FACTS) -> None:
    """Put a database with so many facts at a path, to be worked with there."""
    database = database_of(FOLDER, facts)
    with database.connect() as connection:
        empty_journal(connection)
    database.dispose()
    shutil.copyfile(FOLDER / file_of(facts), path)


def file_of(facts: int) -> str:
    return f"facts-{facts}.db"


def queries(database: Database) -> dict[str, Callable[[Connection], Any]]:
    """What is measured, each with an open connection."""
    own = study(STUDY)
    with database.connect() as connection:
        now_us = connection.execute(select(func.max(tables.seats.c.last_us))).scalar_one() + 60_000_000
    known = meant(STUDY, ORIGIN, now_us, own.file.times.lease_s)
    kept = Kept()
    return {
        "watch, for the first time": lambda connection: watch(database, own, ORIGIN, now_us),
        "watch, again": lambda connection: watch(database, own, ORIGIN, now_us, kept),
        "who is where": lambda connection: crowds(connection, known),
        "funnel": lambda connection: funnel(own, [crowd.group for crowd in crowds(connection, known)]),
        "waiting": lambda connection: waiting(connection, known),
        "times of steps": lambda connection: typical(connection, known, {}),
        "over time": lambda connection: over_time(connection, known),
        "operations": lambda connection: operations_in(connection, STUDY),
        "models": lambda connection: used(connection, STUDY),
        "recent latency": lambda connection: recent(connection, STUDY),
    }


def measured(database: Database, runs: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Milliseconds of each query by a clock, in turns."""
    asked, found = queries(database), dict[str, list[float]]()
    with database.connect() as connection:
        for _ in range(runs + 1):
            for name, ask in asked.items():
                begun = clock()
                ask(connection)
                found.setdefault(name, []).append(1e3 * (clock() - begun))
    return {name: sorted(times[1:]) for name, times in found.items()}


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 if watching takes too long."""
    parser = argparse.ArgumentParser(description="Measure what watching a large study takes.")
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    wanted = parser.parse_args(given)
    few, many = (database_of(wanted.folder, facts) for facts in (wanted.facts // 10, wanted.facts))
    with many.connect() as connection:
        sizes = ", ".join(
            f"{count(connection, t):,} of {t.name}" for t in (tables.events, tables.seats, tables.attempts)
        )
    table = Table("what", "p50 ms", "p95 ms", "p50 of processor", "p50 at a tenth", title=f"Watching a study: {sizes}")
    few_ms, many_ms = (measured(one, wanted.runs, time.perf_counter) for one in (few, many))
    worked = measured(many, wanted.runs, time.thread_time)
    for name, times in many_ms.items():
        middle = len(times) // 2
        figures = (times[middle], at(times, 0.95), worked[name][middle], few_ms[name][middle])
        table.add_row(name, *(f"{figure:.1f}" for figure in figures))
    Console(width=120).print(table)
    return int(at(many_ms["watch, again"], 0.95) > BAR_MS)


def at(times: list[float], share: float) -> float:
    return times[int(share * (len(times) - 1))]


if __name__ == "__main__":
    sys.exit(main())
