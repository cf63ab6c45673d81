"""What growth costs those who take part: one load on an empty database and on one with millions of facts, in turns.

`python -m tests.bench.growth`; `--facts 200000 --seconds 10 --rounds 1` is a short form. The facts are of the study
that is loaded, as its sessions have left them: a first load is recorded, and those of its sessions that ended are
copied until there are enough. The grown database is kept for the next time (10,000,000 facts: about 9 GB).
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from rich.console import Console
from rich.table import Table

from app.studies.loader import load_study
from storage.db.engine import open_database, writer
from storage.log import usage
from tests.bench import report
from tests.bench.copies import multiply
from tests.bench.load import servers
from tests.bench.load.run import Run, measure, measure_in

FOLDER = Path(gettempdir()) / "parley-bench"
FACTS = 10_000_000
PEOPLE = 60
SECONDS, ROUNDS, RECORDED_S = 40.0, 3, 60.0
PART, LEAST_MS = 0.1, 5.0
"""By how much more a figure may be: the larger of both for what somebody waits for, and the part alone for work."""
NO_BAR = float("inf")
FIGURES: dict[str, tuple[Callable[[Run], float], float]] = {
    "click p50, ms": (lambda run: run.found.p("click", 0.5), LEAST_MS),
    "click p95, ms": (lambda run: run.found.p("click", 0.95), LEAST_MS),
    "first token p95, ms over": (lambda run: run.found.p("first token", 0.95), LEAST_MS),
    "CPU a request, ms": (lambda run: run.request_ms, 0),
    "CPU a click, ms": (lambda run: run.click_ms, 0),
    "errors": (lambda run: sum(run.found.errors.values()), 0),
    "memory, MB": (lambda run: run.mb, NO_BAR),
}
"""What is compared, and how much more is nothing at all."""


def grown(facts: int, people: int) -> Path:
    """The folder of a database with so many facts of the study that is loaded, made unless it is there."""
    with TemporaryDirectory() as at:
        edition = load_study(str(servers.study_file(Path(at)))).hash[:8]
    folder = FOLDER / f"growth-{facts}-{edition}"
    if not folder.exists():
        making = folder.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        measure_in(making, people, RECORDED_S)
        multiply_to(making / "parley.db", facts)
        making.rename(folder)
    return folder


def multiply_to(path: Path, facts: int) -> None:
    with closing(sqlite3.connect(path)) as file:
        ended = [stream for (stream,) in file.execute("SELECT stream FROM seat WHERE outcome IS NOT NULL")]
        asked = "SELECT count(*) FROM event JOIN seat USING (stream) WHERE outcome IS NOT NULL"
        (there,) = file.execute(asked).fetchone()
    multiply(path, ended, -(-facts // there))
    database = open_database(f"sqlite:///{path}")
    with writer(database) as connection, connection.begin():
        usage.recount(connection)
        connection.exec_driver_sql("ANALYZE")
    database.dispose()


def sizes(folder: Path) -> str:
    path = folder / "parley.db"
    with closing(sqlite3.connect(path)) as database:
        facts, sessions = (database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("event", "seat"))
    return f"{facts:,} facts of {sessions:,} sessions ({path.stat().st_size / 1e9:.1f} GB)"


def compared(empty: list[Run], many: list[Run]) -> list[tuple[str, float, float, str]]:
    lines = []
    for what, (figure, least) in FIGURES.items():
        little, much = (statistics.median(map(figure, runs)) for runs in (empty, many))
        kept = much - little <= max(PART * little, least)
        lines.append((what, little, much, "" if least == NO_BAR else "kept" if kept else "MISSED"))
    return lines


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    out = Console(width=120)
    folder = grown(wanted.facts, wanted.people)
    there = sizes(folder)
    empty, many = list[Run](), list[Run]()
    for _ in range(wanted.rounds):
        empty.append(measure(wanted.people, wanted.seconds))
        many.append(measure_in(folder, wanted.people, wanted.seconds))
    lines = compared(empty, many)
    table = Table("what", "empty", "grown", "", title=f"{wanted.people} at once beside\n{there}")
    for what, little, much, word in lines:
        table.add_row(what, f"{little:.2f}", f"{much:.2f}", word)
    out.print(table)
    for error, often in (many[-1].found.errors + empty[-1].found.errors).most_common(3):
        out.print(f"  {often} x {error}", markup=False)
    if wanted.docs:
        turns = f"{wanted.rounds} x {wanted.seconds:.0f} s each, medians"
        where = (
            f"Measured on {report.measured_on(servers.served_by())}: {wanted.people} at once beside {there}; {turns}."
        )
        report.write("growth", f"{where}\n\n{report.drawn_as(table)}")
    return int(any(word == "MISSED" for *_, word in lines))


if __name__ == "__main__":
    sys.exit(main())
