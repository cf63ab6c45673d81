"""Load Parley and the bare server with so many at once, and print what came of it.

The server runs on the machine's first core, those who load it and the model server on the second. What is served is
the shipped server with the shipped `openai` backend, its gate and its limits of rates as they are by default, but for
one: the driver has one address, so the limit of an address is that of as many people.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from rich.console import Console

from tests.bench import report
from tests.bench.load import servers
from tests.bench.load.run import Run, measure, table_of, times_bare


@dataclass(frozen=True)
class Bars:
    """Milliseconds that may not be exceeded, by what and which share; how much memory, and how many times the processor
    that the bare server takes for a participant, who makes as many requests there."""

    of: tuple[tuple[str, float, float], ...]
    mb: float = float("inf")
    times: float = float("inf")


BARS = {400: Bars((("click", 0.95, 100), ("first token", 0.95, 100)), mb=350, times=2)}
REPORTED = (*BARS, 600)


def missed(run: Run, times: float | None) -> list[str]:
    """Which bars were; `times` is the processor that a request takes, as a multiple of the bare server's."""
    bars = BARS.get(run.people)
    if bars is None:
        return []
    told = [f"{what} p{100 * share:.0f}" for what, share, most in bars.of if run.found.p(what, share) > most]
    told += ["memory"] if run.mb > bars.mb else []
    told += ["processor"] if times and times > bars.times else []
    return told + (["errors"] if run.found.errors else [])


def judged(run: Run, times: float | None) -> str:
    amiss = missed(run, times)
    beside = (
        f"; {times:.2f} times the bare server's processor, with half of the people at each at once" if times else ""
    )
    return f"- Bars for {run.people} at once: {'missed: ' + ', '.join(amiss) if amiss else 'kept'}{beside}"


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="*", default=REPORTED)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--servers", nargs="*", default=["bare", "parley"])
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    out = Console(width=160)
    runs: list[Run] = []
    for people in wanted.people:
        for server in wanted.servers:
            run = measure(server, people, wanted.seconds)
            runs.append(run)
            out.print(table_of([run]))
            for error, often in run.found.errors.most_common(3):
                out.print(f"  {often} x {error}", markup=False)
    table = table_of(runs)
    barred = [run for run in runs if run.server == "parley" and run.people in BARS]
    compared = "bare" in wanted.servers
    times = {run.people: times_bare(run.people, wanted.seconds) if compared else None for run in barred}
    told = "\n".join(judged(run, times[run.people]) for run in barred)
    out.print(table, told)
    if wanted.docs:
        report.write(
            "load", f"Measured on {report.measured_on(servers.served_by())}:\n\n{report.drawn_as(table)}\n\n{told}"
        )
    return int(any(missed(run, times[run.people]) for run in barred))


if __name__ == "__main__":
    sys.exit(main())
