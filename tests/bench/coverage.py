"""`python -m tests.bench.coverage`: how often intervals cover the truth, over studies whose effects were planted.

Studies of ChatBench's design (tests/fakes/planted.py), participants and questions drawn anew for each. The truth is the
mean accuracy over all participants and questions there could be, for each of the 30 groups of dataset, model and way of
answering. The mixed model takes seconds for a study, so it has fewer and smaller ones; its truths are the planted
effects. Ctrl-C tells what is known so far.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.analysis import mixed_model
from app.analysis.chatbench.over_questions import CODE, PRINTED, TOTAL, of_people
from app.analysis.intervals import codes
from tests.fakes.planted import DATASETS, MODELS, Planted, drawn

SEED = 5
Z = 1.959964
CORRECTED, MIXED, LIBRARY = "corrected", "mixed model, curvature", "mixed model, the library's own"
WORDS = {
    CORRECTED: "corrected: two-way jackknife over questions",
    PRINTED: "as printed: E[SE_q] + Var(p_q)",
    TOTAL: "with E[SE_q^2] + Var(p_q)",
    CODE: "as in the authors' code: std(p_q)/sqrt(Q)",
}
Covered = Iterator[tuple[str, str, bool]]
"""An interval's kind, of what it is, and whether it covers the truth."""


def intervals(planted: Planted, chance: np.random.Generator, datasets: Sequence[str] = DATASETS) -> Covered:
    """The intervals of one study's accuracies."""
    answers, truths = drawn(planted, chance), planted.accuracy()
    answers = answers[answers["dataset"].isin(datasets)]
    hits, people, questions = (answers[name].to_numpy() for name in ("acc", "worker_id", "question_id"))
    for cell, rows in answers.groupby(["dataset", "model", "way"], observed=True).indices.items():
        found = of_people(hits[rows], codes(people[rows]), codes(questions[rows]))
        interval, truth, name = found.interval, truths[cell], ", ".join(cell)
        if interval.low is not None and interval.high is not None:
            yield CORRECTED, name, interval.low <= truth <= interval.high
        for kind in (PRINTED, TOTAL, CODE):
            yield kind, name, abs(interval.value - truth) <= Z * found.further[kind]


def effects(planted: Planted, chance: np.random.Generator) -> Covered:
    """The mixed model's intervals of one study's effects of the way of answering and of the model."""
    found = mixed_model(drawn(planted, chance))
    assert found is not None
    truths = dict(zip(("user-AI.answer-first", "user-AI.direct-to-AI"), planted.ways[1:], strict=True))
    truths[MODELS[1]] = planted.models[1] - planted.models[0]
    for one in found.effects:
        if one.level in truths:
            for kind, error in ((MIXED, one.standard_error), (LIBRARY, one.sd_library)):
                yield kind, one.level, abs(one.value - truths[one.level]) <= Z * error


class Counts:
    """How often each kind of interval covered what it is of."""

    def __init__(self) -> None:
        self.studies: Counter[str] = Counter()
        self._all: Counter[tuple[str, str]] = Counter()
        self._covered: Counter[tuple[str, str]] = Counter()

    def add(self, study: Iterable[tuple[str, str, bool]]) -> None:
        """Count a study."""
        told = list(study)
        self.studies.update({kind for kind, _, _ in told})
        for kind, of, covers in told:
            self._all[kind, of] += 1
            self._covered[kind, of] += covers

    def shares(self, kind: str) -> dict[str, float]:
        """The share that covers the truth, of each group."""
        return {of: self._covered[kind, of] / n for (its, of), n in self._all.items() if its == kind}


def table(counts: Counts) -> Table:
    """What was counted."""
    found = Table(title="Truths covered by 95 % intervals, per cent")
    found.add_column("interval")
    for name in ("studies", "mean", "fewest", "most"):
        found.add_column(name, justify="right")
    for kind, studies in counts.studies.items():
        shares = counts.shares(kind).values()
        numbers = (sum(shares) / len(shares), min(shares), max(shares))
        found.add_row(WORDS.get(kind, kind), f"{studies:,}", *(f"{100 * share:.1f}" for share in numbers))
    return found


def main() -> None:
    """Simulate and tell."""
    parser = argparse.ArgumentParser(description="How often intervals cover the truth.")
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--mixed", type=int, default=50, help="how many studies for the mixed model")
    parser.add_argument("--participants", type=int, default=150, help="how many each of those has")
    asked = parser.parse_args()
    out, counts, planted = Console(), Counts(), Planted()
    small = replace(planted, participants=asked.participants)
    try:
        chance = np.random.default_rng(SEED)
        for _ in track(range(asked.studies), "Accuracies", console=out):
            counts.add(intervals(planted, chance))
        for _ in track(range(asked.mixed), "Mixed model", console=out):
            counts.add(effects(small, chance))
    except KeyboardInterrupt:
        out.print("Stopped; this is what there is so far.")
    out.print(table(counts))


if __name__ == "__main__":
    main()
