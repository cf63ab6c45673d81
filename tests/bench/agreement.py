"""What agreement costs: xRR and alpha of many raters, and the permutation tests of all groups, on one core.

    python -m tests.bench.agreement

Ratings are drawn at random in the sizes of DICES's two editions, each rater with a profile; all axes and all pairs of
them are tested, which is more than a report does. Exits with 1 where a bar is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from app.analysis import alpha, axes, counts_of, family, pool, xrr
from app.analysis.dices.grasp_measures import PERMUTATIONS
from app.analysis.dices.rater_pool import PROFILE
from experiments.instruments.dices_raters import RACES

ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
GENDERS, AGES, EDUCATIONS = ("Man", "Woman"), ("gen z", "millenial", "gen x+"), ("College degree or higher", "Other")
RELIABILITY_S = 2.0
FAMILY_S = 60.0


@dataclass(frozen=True)
class Size:
    """How many conversations and raters there are, and how many of these rate each conversation."""

    items: int
    raters: int
    each: int

    def __str__(self) -> str:
        return f"{self.items:,} conversations, {self.raters} raters, {self.each} ratings of each"


SIZES = (Size(350, 123, 123), Size(990, 173, 173), Size(990, 173, 70))


def drawn(size: Size, seed: int = 1) -> pd.DataFrame:
    """A table as released, of random ratings."""
    chance = np.random.default_rng(seed)
    raters = [f"{296_000_000_000_000 + number}" for number in range(size.raters)]
    kinds = dict(zip(PROFILE, (GENDERS, RACES, AGES, EDUCATIONS, ("IN", "US")), strict=True))
    people = pd.DataFrame({name: chance.choice(values, size.raters) for name, values in kinds.items()}, index=raters)
    who = np.concatenate([chance.permutation(size.raters)[: size.each] for _ in range(size.items)])
    unsafe = np.repeat(chance.beta(1, 2, size.items), size.each)
    answers = np.where(
        chance.random(who.size) < 0.06, "Unsure", np.where(chance.random(who.size) < unsafe, "Yes", "No")
    )
    rows = people.iloc[who].rename_axis("rater_id").reset_index()
    return rows.assign(item_id=np.repeat(np.arange(size.items).astype(str), size.each), Q_overall=answers)


def reliability(ratings: pd.DataFrame) -> None:
    """Alpha of all, nominal and ordinal, and xRR of one half of the raters with the other, from the table's rows."""
    counts = counts_of(ratings["item_id"], ratings["Q_overall"])
    alpha(counts)
    alpha(counts, "ordinal")
    everyone = pool(ratings)
    even = np.arange(len(everyone.profiles)) % 2 == 0
    one, other = everyone.counts(np.stack([even, ~even])).swapaxes(0, 1)
    xrr(one.T, other.T)


def groups(ratings: pd.DataFrame) -> None:
    """All measures of all groups of all axes and of all pairs of them, with their tests."""
    everyone = pool(ratings)
    family(everyone, axes(everyone, tuple(combinations(PROFILE, 2))), PERMUTATIONS)


def timed(task: Callable[[pd.DataFrame], None], ratings: pd.DataFrame) -> float:
    """Seconds."""
    begun = time.perf_counter()
    task(ratings)
    return time.perf_counter() - begun


def main() -> int:
    """Measure and print, in a process whose numpy keeps to one core; 1 if a bar is missed."""
    if not ONE_CORE.items() <= os.environ.items():
        return subprocess.run([sys.executable, "-m", "tests.bench.agreement"], env=os.environ | ONE_CORE).returncode
    table = Table("what", "size", "s", "bar, s", title="Agreement, on one core")
    missed = 0
    for size in SIZES:
        ratings = drawn(size)
        for words, task, bar_s in (
            ("alpha (nominal, ordinal) and xRR", reliability, RELIABILITY_S),
            (f"{PERMUTATIONS:,} permutations of all groups", groups, FAMILY_S),
        ):
            took = timed(task, ratings)
            missed += took >= bar_s
            table.add_row(words, str(size), f"{took:.2f}", f"{bar_s:g}")
    Console(width=120).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
