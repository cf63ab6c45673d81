"""How often simulated trials with looks err: type I error, and how often their intervals hold the true effect.

    python -m tests.bench.trials [--runs 1000]

Each row is a design of four answers to twelve questions with random effects of both, drop-out, and looks at 25, 50, 75
and 100 % of the participants. A trial stops at the first look that shows its hypothesis; its interval is that of the
look: a repeated confidence interval, or a confidence sequence. Type I error is the share of trials without an effect
that show one; coverage is that of trials with an effect. The last rows look without a plan: each look as if it were the
only one. Exits with 1 if a planned design errs more often than its alpha, or misses more often than it may, by more
than three Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from rich.console import Console
from rich.table import Table

from app.analysis.trial.sequential import Monitor
from app.analysis.trial.simulation import Assumptions, Design, SimulatedTrial, monitor_of, simulate_with
from experiments.study.sections.plan import Looks, Spending

ALPHA, PEOPLE, EFFECT = 0.05, 160, 0.12
AT = (0.25, 0.5, 0.75, 1.0)
PLAIN = Design("between", "different", ALPHA, answers=4, questions=12)
ANSWERS = Assumptions(0.55, None, icc_participant=0.12, icc_question=0.1, dropout=0.1)
SCORES = Assumptions(3.0, 1.5, icc_participant=0.3, icc_question=0.1, dropout=0.1)


@dataclass(frozen=True, slots=True)
class Row:
    """A design, and what its trials did."""

    name: str
    planned: bool
    type_one: float
    coverage: float
    power: float
    participants: float
    """The mean number at the end, with an effect."""


def trials(assumed: Assumptions, design: Design, judge: Monitor, effect: float, runs: int) -> list[SimulatedTrial]:
    random = np.random.default_rng(20261126)
    return [simulate_with(random, assumed, design, PEOPLE, effect, judge) for _ in range(runs)]


def measure(name: str, assumed: Assumptions, design: Design, judge: Monitor, runs: int, *, planned: bool = True) -> Row:
    effect = EFFECT * (1 if assumed.sd is None else 4)
    null = trials(assumed, design, judge, 0.0, runs)
    there = trials(assumed, design, judge, effect, runs)
    return Row(
        name,
        planned,
        float(np.mean([one.rejected for one in null])),
        float(np.mean([one.low <= effect <= one.high for one in there])),
        float(np.mean([one.rejected for one in there])),
        float(np.mean([one.participants for one in there])),
    )


def unplanned(judge: Monitor) -> Monitor:
    bounds = judge.bounds
    assert bounds is not None
    return replace(judge, bounds=replace(bounds, nominal=(ALPHA,) * len(AT)))


def rows(runs: int) -> list[Row]:
    found = []
    for outcome, assumed in (("yes or no", ANSWERS), ("numbers", SCORES)):
        found.append(measure(f"{outcome}, one look", assumed, PLAIN, monitor_of(PLAIN, PEOPLE), runs))
        spendings: tuple[Spending, ...] = ("obrien-fleming", "pocock", "always-valid")
        for spending in spendings:
            design = replace(PLAIN, looks=Looks(at=AT, spending=spending))
            found.append(measure(f"{outcome}, {spending}", assumed, design, monitor_of(design, PEOPLE), runs))
        design = replace(PLAIN, looks=Looks(at=AT))
        judge = unplanned(monitor_of(design, PEOPLE))
        found.append(measure(f"{outcome}, looks without a plan", assumed, design, judge, runs, planned=False))
    return found


def kept(row: Row, runs: int) -> bool:
    """Whether a planned design errs and misses as rarely as it must, within Monte Carlo error."""
    slack = 3 * sqrt(ALPHA * (1 - ALPHA) / runs)
    return not row.planned or (row.type_one <= ALPHA + slack and row.coverage >= 1 - ALPHA - slack)


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 if a planned design errs too often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args(given).runs
    begun = time.perf_counter()
    found = rows(runs)
    table = Table("design", "type I error", "coverage", "power", "mean participants", "")
    for row in found:
        shares = (f"{100 * share:.1f} %" for share in (row.type_one, row.coverage, row.power))
        mark = "" if not row.planned else "kept" if kept(row, runs) else "MISSED"
        table.add_row(row.name, *shares, f"{row.participants:.0f} of {PEOPLE}", mark)
    console = Console()
    console.print(table)
    error = 100 * sqrt(ALPHA * (1 - ALPHA) / runs)
    console.print(
        f"{runs:,} simulated trials each, {time.perf_counter() - begun:.0f} s; the Monte Carlo standard error of 5 % "
        f"is {error:.1f} points."
    )
    return 0 if all(kept(row, runs) for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
