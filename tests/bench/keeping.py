"""What keeps a study's data safe and its arms even: how long a beginning takes, and a backup of 1 GB.

`python -m tests.bench.keeping` (`--gb 0.1 --bursts 5` is a short form). People begin one after another, and then fifty
at the same moment, again and again, in a study of four arms on SQLite and PostgreSQL; then a database of 1 GB is made
of a few sessions' copies, and backed up as `parley backup` does it. It exits with 1 where a bar is missed: 50 ms at p95
for a beginning, with its commit and without HTTP, where they come one after another; 60 s for the backup. Of fifty the
last one waits for all before it, so their times are shown and have no bar.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.library import load_study
from app.runtime import Runtime
from app.settings import Settings
from storage.backups import back_up
from storage.engine import open_database
from tests.bench.copies import multiply
from tests.fakes import studies
from tests.fakes.databases import fill
from tests.fakes.postgres import fresh, postgres

PEOPLE = 50
BAR_MS, BAR_S = 50.0, 60.0
GB = 10**9


async def beginnings(url: str, folder: Path, bursts: int) -> tuple[list[float], list[float]]:
    """Milliseconds of a beginning, one after another and fifty at once."""
    flow = [{"step": "consent", "text": "Do you agree?"}, {"step": "finish"}]
    raw = {"study": "arms", "title": "Arms", "factors": {"arm": ["a", "b", "c", "d"]}, "flow": flow}
    study = load_study(str(studies.write(folder, raw)))
    database = open_database(url)
    runtime = Runtime(database, Settings(_env_file=None), VirtualClock(START_US))
    runtime.prepare(study)

    async def one() -> float:
        begun = time.perf_counter()
        await runtime.enrol(study, origin="person")
        return 1e3 * (time.perf_counter() - begun)

    alone = [await one() for _ in range(PEOPLE * bursts)]
    together = [ms for _ in range(bursts) for ms in await asyncio.gather(*(one() for _ in range(PEOPLE)))]
    await runtime.close()
    database.dispose()
    return alone, together


def backup(folder: Path, gb: float) -> tuple[float, float]:
    """How many GB a database has, and how many seconds its backup takes."""
    file = folder / "large.db"
    database = open_database(f"sqlite:///{file}")
    asyncio.run(fill(database, ["chatbench"], 20, "large"))
    with database.connect() as connection:
        streams = list(connection.execute(text("SELECT stream FROM session")).scalars())
    database.dispose()
    small = file.stat().st_size
    multiply(file, streams, max(1, round(gb * GB / small)))
    begun = time.perf_counter()
    made = back_up(file, folder / "backup.db")
    return made.bytes / GB, time.perf_counter() - begun


def quantile(found: Sequence[float], share: float) -> float:
    """What that share lies below."""
    return sorted(found)[min(len(found) - 1, int(share * len(found)))]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bursts", type=int, default=100)
    parser.add_argument("--gb", type=float, default=1.0)
    wanted = parser.parse_args(words)
    table, missed = Table("what", "p50", "p95", "bar"), False
    with TemporaryDirectory() as name, postgres(Path(name) / "postgres") as server:
        folder = Path(name)
        for kind, url in (("SQLite", f"sqlite:///{folder}/arms.db"), ("PostgreSQL", fresh(server, "arms"))):
            alone, together = asyncio.run(beginnings(url, folder, wanted.bursts))
            for what, found, bar in (("a beginning", alone, f"{BAR_MS:g}"), ("the same, 50 at once", together, "")):
                p95 = quantile(found, 0.95)
                table.add_row(f"{what}, {kind}, ms", f"{quantile(found, 0.5):.1f}", f"{p95:.1f}", bar)
                missed |= bool(bar) and p95 > BAR_MS
        size, seconds = backup(folder, wanted.gb)
        table.add_row(f"a backup of {size:.2f} GB, s", f"{seconds:.1f}", "", f"{BAR_S:g}")
        missed |= seconds > BAR_S
    Console().print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
