"""Load Parley with so many at once, and print what came of it.

The server runs on the machine's first core, those who load it and the model server on the second. What is served is
the shipped server with the shipped `openai` backend, its gate and its limits of rates as they are by default, but for
one: the driver has one address, so the limit of an address is that of as many people.
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from tests.bench import report
from tests.bench.load import servers
from tests.bench.load.run import Run, measure, table_of

BARS = {"click": 100, "first token": 100}
"""Milliseconds at p95 that may not be exceeded."""
MOST_MB = 350
PEOPLE, REPORTED = 300, (300, 600)


def missed(run: Run) -> list[str]:
    told = [f"{what} p95" for what, most in BARS.items() if run.found.p(what, 0.95) > most]
    return told + ["memory"] * (run.mb > MOST_MB) + ["errors"] * bool(run.found.errors)


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="*", default=REPORTED)
    parser.add_argument("--seconds", type=float, default=40)
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    out = Console(width=160)
    runs: list[Run] = []
    for people in wanted.people:
        run = measure(people, wanted.seconds)
        runs.append(run)
        out.print(table_of([run]))
        for error, often in run.found.errors.most_common(3):
            out.print(f"  {often} x {error}", markup=False)
    table = table_of(runs)
    amiss = [what for run in runs if run.people == PEOPLE for what in missed(run)]
    told = f"- Bars for {PEOPLE} at once: {'missed: ' + ', '.join(amiss) if amiss else 'kept'}"
    out.print(table, told)
    if wanted.docs:
        where = f"Measured on {report.measured_on(servers.served_by())}:"
        report.write("load", f"{where}\n\n{report.drawn_as(table)}\n\n{told}")
    return int(bool(amiss))


if __name__ == "__main__":
    sys.exit(main())
