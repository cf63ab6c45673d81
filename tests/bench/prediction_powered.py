"""How often intervals of `parley annotate estimate` hold the true share, beside those of either kind of label alone.

    python -m tests.bench.prediction_powered [--samples 400]

Conversations are drawn with participants who differ, labels by people who are right, and a model that errs towards one
value. Exits with 1 where a corrected interval, or that of people alone, holds the true share in fewer than 91 % of
samples.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from math import nan
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from app.analysis.intervals import Interval
from app.analysis.prediction_powered import CorrectedMean, corrected_mean

LEAST = 0.91


@dataclass(frozen=True)
class Design:
    """Conversations and their labels."""

    share: float
    """The true share."""
    right: float
    """How often the model says what people say; otherwise it says yes in 70 % of conversations."""
    labelled: int
    alike: float = 0.0
    """How alike a participant's conversations are: the intraclass correlation."""
    participants: int = 200
    each: int = 5

    def found(self, chance: np.random.Generator) -> CorrectedMean:
        """The estimate from one sample."""
        people, total = np.repeat(np.arange(self.participants), self.each), self.participants * self.each
        rates = np.full(self.participants, self.share)
        if self.alike:
            size = 1 / self.alike - 1
            rates = chance.beta(self.share * size, (1 - self.share) * size, self.participants)
        truth = (chance.random(total) < rates[people]).astype(float)
        errs = (chance.random(total) < 0.7).astype(float)
        model = np.where(chance.random(total) < self.right, truth, errs)
        human = np.where(chance.permutation(total) < self.labelled, truth, nan)
        return corrected_mean(human, model, people, (0, 1))


class Coverage(NamedTuple):
    """How often each interval holds the true share, and the median effective number of labels."""

    corrected: float
    people: float
    model: float
    effective: float


def coverage(design: Design, number: int, seed: int = 5) -> Coverage:
    """The coverage over a number of samples."""
    chance = np.random.default_rng(seed)
    several = [design.found(chance) for _ in range(number)]
    kinds = [(one.corrected, one.people, one.model) for one in several]
    corrected, people, model = np.mean([[_holds(one, design.share) for one in row] for row in kinds], axis=0)
    effective = np.median([one.effective or nan for one in several])
    return Coverage(float(corrected), float(people), float(model), float(effective))


def _holds(found: Interval, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    number = parser.parse_args(arguments).samples
    table = Table(
        "share", "model right", "alike", "labels", "corrected, %", "people, %", "model, %", "effective labels"
    )
    missed = 0
    for share, right, alike, labelled in product((0.5, 0.2, 0.05), (0.98, 0.9, 0.5), (0.0, 0.2), (20, 50, 100)):
        held = coverage(Design(share, right, labelled, alike), number)
        missed += min(held.corrected, held.people) < LEAST
        shares = (f"{100 * one:.1f}" for one in held[:3])
        table.add_row(f"{share}", f"{right}", f"{alike}", f"{labelled}", *shares, f"{held.effective:.0f}")
    Console(width=120).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
