"""Importing and exporting a large release of ChatBench: how fast, in how much memory, against the fastest we know.

`make bench` runs this after the rest; `python -m tests.bench.exports --rows 100000` is a short form. Every measurement
is a process of its own (`tests.bench.engines`), ours and the rivals' take turns, and the best of each counts: a ratio
within one run can be compared, absolute figures cannot.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from storage.schemas.chatbench import FULL_STUDY, QUESTIONS
from tests.bench import release, report

ROWS = 1_000_000
RUNS = 3
WIDTH = 120
SHARE = 10
"""What the smaller release is a tenth of, to see whether memory grows."""
BAR = 0.5
FLAT_MB = 16
"""By how much the peak may differ at ten times the rows: what allocators and page caches do by themselves."""
ENOUGH = 10_000
"""From how many rows on the smaller file is many batches, so that its peak is what a large one's should be."""
FILES = {"answers": f"{FULL_STUDY}/user_answers.csv", "conversations": f"{FULL_STUDY}/conversations.json"}


@dataclass(frozen=True, slots=True)
class Run:
    """What a task took."""

    rows: int
    seconds: float
    mb: float

    @property
    def speed(self) -> float:
        return self.rows / self.seconds


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the result: ours, its peak at a tenth of the rows, and the rival, where there is one."""

    what: str
    ours: Run
    small: Run
    against: str = ""
    rival: Run | None = None
    barred: bool = True

    @property
    def ratio(self) -> float | None:
        return self.ours.speed / self.rival.speed if self.rival else None

    @property
    def missed(self) -> bool:
        """Whether it is too slow, or its memory grows with the data; a short form's tenth is too small to tell."""
        grows = self.ours.mb - self.small.mb > FLAT_MB and self.small.rows >= ENOUGH
        return (self.barred and self.ratio is not None and self.ratio < BAR) or grows

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        rival = "" if self.rival is None else f"{self.rival.speed:,.0f} ({self.rival.mb:.0f})"
        memory = f"{self.small.mb:.0f} → {self.ours.mb:.0f}"
        word = "MISSED" if self.missed else "ok" if self.barred else "no bar"
        return self.what, f"{self.ours.speed:,.0f}", memory, self.against, rival, ratio, word


HEADER = ("what", "rows/s", "peak MB at N/10 → N", "against", "rows/s (peak MB)", "ratio", "")


def run(task: str, *given: object) -> Run:
    command = [sys.executable, "-m", "tests.bench.engines", task, *map(str, given)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def best(tasks: dict[str, tuple[object, ...]], runs: int = RUNS) -> dict[str, Run]:
    found: dict[str, list[Run]] = {name: [] for name in tasks}
    for _ in range(runs):
        for name, (task, *given) in tasks.items():
            found[name].append(run(str(task), *given))
    return {
        name: Run(runs[0].rows, min(one.seconds for one in runs), max(one.mb for one in runs))
        for name, runs in found.items()
    }


def imports(folder: Path, rows: int) -> dict[str, Run]:
    """Import each file of a release of so many answers, and make the database with live-like rows."""
    made = folder / f"release-{rows}"
    release.write(made, rows)
    database = folder / f"imported-{rows}.db"
    run("import", database, made / QUESTIONS.file)
    found = {name: run("import", database, made / file) for name, file in FILES.items()}
    run("live", folder / f"live-{rows}.db", database)
    return found


def exports(folder: Path, rows: int, runs: int = RUNS) -> dict[str, Run]:
    out = folder / "out"
    found: dict[str, Run] = {}
    for origin, database in (("import", folder / f"imported-{rows}.db"), ("person", folder / f"live-{rows}.db")):
        answers: dict[str, tuple[object, ...]] = {
            "ours": ("ours", database, origin, FILES["answers"], out),
            "ordered": ("adbc", database, origin, out),
            "plain": ("adbc", database, "plain", out),
        }
        talks: dict[str, tuple[object, ...]] = {
            "talks": ("ours", database, origin, FILES["conversations"], out),
            "lines": ("lines", database, origin, out),
        }
        found |= {f"{origin} {name}": one for name, one in {**best(answers, runs), **best(talks, runs)}.items()}
    out.unlink()
    return found


def lines(folder: Path, rows: int) -> list[Line]:
    few_in, few_out = imports(folder, rows // SHARE), exports(folder, rows // SHARE, 1)
    many_in, many_out = imports(folder, rows), exports(folder, rows)
    found = [Line(f"import, {name}", many_in[name], few_in[name]) for name in FILES]
    for origin, word in (("import", "imported"), ("person", "live")):
        own, small = many_out[f"{origin} ours"], few_out[f"{origin} ours"]
        what = f"export, {word} answers (csv)"
        found += [
            Line(what, own, small, "ADBC + pyarrow, ordered", many_out[f"{origin} ordered"]),
            Line(what, own, small, "ADBC + pyarrow, unordered", many_out[f"{origin} plain"], barred=origin == "import"),
        ]
        own, small = many_out[f"{origin} talks"], few_out[f"{origin} talks"]
        rival = many_out[f"{origin} lines"]
        found.append(Line(f"export, {word} conversations (JSON)", own, small, "orjson a row, ordered", rival))
    return found


def page(found: list[Line], rows: int) -> str:
    return f"""Measured on {report.measured_on()}, SQLite on a local disk:
a made-up release of ChatBench with {rows:,} answers of workers with 13 to 22 answers each, and
{rows // release.ROWS_A_CONVERSATION:,} conversations of {release.MESSAGES} messages with as many words as real ones.

{report.drawn(HEADER, (line.cells() for line in found))}

- Each figure is a process of its own; exports are the best of {RUNS} runs, in turns with their rivals. Imports include
  reading, checking, the log and the released tables, in one transaction, and ran once.
- The bar is a ratio of {BAR} to the fastest way we know (pyarrow's csv writer over an ADBC stream of the same columns
  and rows, which quotes every text), and a peak of memory that differs by no more than {FLAT_MB} MB at ten times the
  rows. The bench exits with 1 where one is missed. Imports have no bar of speed.
- For live rows the rival without order has no bar: it reads the table as it lies, and skips the work of bringing the
  sessions' rows together.
- Checksums, the scan for formulas and the zip of a whole export are not counted.
- *Imported* rows are exported in the order of their files, *live* ones by session in the order of arrival.
- The conversations' rival writes the same objects, one on a line, by orjson and a buffered file.
"""


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description="Measure imports and exports of a large release.")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"how many answers ({ROWS:,} unless given)")
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    with TemporaryDirectory() as folder:
        found = lines(Path(folder), wanted.rows)
    table = Table(*HEADER, title=f"Import and export, {wanted.rows:,} answers")
    for line in found:
        table.add_row(*line.cells())
    Console(width=WIDTH).print(table)
    if wanted.docs:
        report.write("exports", page(found, wanted.rows))
    return int(any(line.missed for line in found))


if __name__ == "__main__":
    sys.exit(main())
