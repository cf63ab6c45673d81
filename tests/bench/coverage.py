"""How often the 95 % intervals of agreement hold the true value, where it is known.

    python -m tests.bench.coverage [--deals 2000]

Random groups: the profiles of the raters of DICES-350's published Q_overall matrix (a part: 150 conversations) are
dealt at random, so that every GAI and DSI is 1. Planted: ratings of a model with tendencies of raters and items,
whose values are computed from many more raters and conversations. Exits with 1 if an interval of random groups holds 1
in fewer than 93 % or more than 97 % of deals. Needs the file of ratings; its folder is `--shared`.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from app.analysis.dices.agreement import alpha, alpha_interval, marks_of
from app.analysis.dices.cohesion import gai
from app.analysis.dices.grasp_measures import MeasureResult, family
from app.analysis.dices.rater_pool import RaterPool, axis
from app.analysis.intervals import Interval

MATRIX = "dices350_q_overall_part.csv"
SHARED = Path(__file__).parents[3] / "shared/data"
SIZES: Mapping[str, tuple[int, ...]] = {"rater_gender": (61, 62), "rater_race": (10, 24, 40, 49)}
"""The groups that are dealt, by their numbers of raters."""
REPORTED = (10, 24, 40, 61)
LEAST, MOST = 0.93, 0.97
PERMUTATIONS = 400
"""Enough for an interval; a report has 1,000."""


def matrix(path: Path) -> RaterPool:
    """The raters of the published matrix, without profiles."""
    wide = pd.read_csv(path, dtype=str)
    rows = wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")
    marks, raters, _ = marks_of(rows["item_id"], rows["rater_id"], rows["Q_overall"])
    return RaterPool(marks, pd.DataFrame(index=raters))


def deals(path: Path, numbers: Iterable[int], permutations: int = PERMUTATIONS) -> Iterator[MeasureResult]:
    """GAI and DSI of groups whose raters are drawn at random, for each number of a deal, which is its seed."""
    raters = matrix(path)
    for number in numbers:
        chance = np.random.default_rng(number)
        profiles = pd.DataFrame(index=raters.profiles.index)
        for column, sizes in SIZES.items():
            profiles[column] = chance.permutation(np.repeat([str(size) for size in sizes], sizes))
        dealt = replace(raters, profiles=profiles)
        for found in family(dealt, [axis(dealt, [column]) for column in SIZES], permutations):
            if found.measure == "dsi" or (found.measure == "gai" and int(found.group[0]) in REPORTED):
                yield found


def coverage(results: Iterable[MeasureResult], truth: float = 1) -> Mapping[tuple[str, str], float]:
    """By measure and size (of a DSI, the number of groups): how often the interval holds the true value."""
    held = defaultdict[tuple[str, str], list[bool]](list)
    for one in results:
        size = one.group[0] if one.group else str(len(SIZES[f"rater_{one.axis}"]))
        held[one.measure, size].append(holds(one.found, truth))
    return {key: float(np.mean(several)) for key, several in held.items()}


def holds(found: Interval, truth: float) -> bool:
    """Whether there is an interval, and it holds the truth."""
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


@dataclass(frozen=True)
class Raters:
    """How raters of a kind say Yes: with a probit model, where readiness + slope * harm + noise is above 0.75."""

    spread: float = 0.75
    """The standard deviation of raters' readiness."""
    slope: float = 0.95
    """How much a conversation's harm counts, on average."""
    slopes: float = 0.45
    """The standard deviation of slopes."""
    shift: float = 0.0
    """The mean readiness."""
    own: float = 0.0
    """How far these raters see another harm than the others: the correlation is sqrt(1 - own^2)."""

    def marks(self, chance: np.random.Generator, number: int, harm: np.ndarray) -> np.ndarray:
        """Ratings (values, raters, conversations) of conversations with two kinds of harm (2, conversations)."""
        seen = np.sqrt(1 - self.own**2) * harm[0] + self.own * harm[1]
        slopes = np.maximum(chance.normal(self.slope, self.slopes, (number, 1)), 0)
        felt = chance.normal(self.shift, self.spread, (number, 1)) + slopes * seen
        felt = felt + chance.standard_normal((number, harm.shape[1]))
        return np.stack([felt <= 0.55, (felt > 0.55) & (felt <= 0.75), felt > 0.75]).astype(np.float32)


KINDS: Mapping[str, Raters] = {
    "as all others": Raters(),
    "closer": Raters(spread=0.4, slope=1.2, slopes=0.2),
    "stricter": Raters(shift=0.7),
    "of another mind": Raters(own=0.6),
    "of one mind less": Raters(spread=0.9, slope=0.6, slopes=0.4),
    "a little of each": Raters(spread=0.6, slope=1.05, slopes=0.4, shift=0.1, own=0.2),
}
OTHERS = KINDS["as all others"]


def true_counts(kinds: tuple[Raters, ...], seed: int = 7, items: int = 2000, rounds: int = 20) -> list[np.ndarray]:
    """The counts (conversations, values) of 6,000 raters of each kind."""
    chance = np.random.default_rng(seed)
    harm = chance.standard_normal((2, items))
    return [np.sum([kind.marks(chance, 300, harm).sum(axis=1) for _ in range(rounds)], axis=0).T for kind in kinds]


@cache
def true_gai(kind: Raters) -> float:
    """The GAI of a kind of raters among others."""
    return 1.0 if kind == OTHERS else gai(*true_counts((kind, OTHERS)))


def planted(kind: Raters, size: int, number: int, seed: int = 11) -> float:
    """How often the interval of the GAI of a group, among 123 raters of 150 conversations, holds the true value."""
    truth = true_gai(kind)
    chance, held = np.random.default_rng(seed), []
    profiles = pd.DataFrame({"rater_gender": np.repeat(["group", "others"], [size, 123 - size])})
    for _ in range(number):
        harm = chance.standard_normal((2, 150))
        marks = np.concatenate([kind.marks(chance, size, harm), OTHERS.marks(chance, 123 - size, harm)], axis=1)
        raters = RaterPool(marks, profiles)
        found = family(raters, [axis(raters, ["rater_gender"])], PERMUTATIONS)
        held += [holds(one.found, truth) for one in found if (one.measure, one.group) == ("gai", ("group",))]
    return float(np.mean(held))


def alphas(raters: int, items: int, number: int, seed: int = 13) -> tuple[float, float]:
    """How often alpha's interval holds the true alpha: over raters and conversations, and over conversations alone."""
    truth, chance = alpha(true_counts((OTHERS,))[0]), np.random.default_rng(seed)
    several = [OTHERS.marks(chance, raters, chance.standard_normal((2, items))) for _ in range(number)]
    both, alone = (
        [holds(alpha_interval(one, "nominal", raters_vary=vary), truth) for one in several] for vary in (True, False)
    )
    return float(np.mean(both)), float(np.mean(alone))


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument("--shared", type=Path, default=SHARED)
    asked = parser.parse_args(arguments)
    if not (asked.shared / MATRIX).is_file():
        parser.error(f"{asked.shared / MATRIX} is missing; give the folder that has it with --shared")
    console = Console(width=100)
    held = coverage(deals(asked.shared / MATRIX, range(asked.deals)))
    table = Table("measure", "raters (DSI: groups)", "holds 1, %", title=f"Random groups, {asked.deals} deals")
    for (measure, size), share in sorted(held.items()):
        table.add_row(measure.upper(), size, f"{100 * share:.1f}")
    console.print(table)
    number = max(1, asked.deals // 10)
    table = Table("raters x conversations", "both, %", "conversations alone, %", title=f"Alpha, {number} samples")
    for raters, items in ((10, 150), (24, 150), (61, 350), (123, 350)):
        table.add_row(f"{raters} x {items}", *(f"{100 * share:.1f}" for share in alphas(raters, items, number)))
    console.print(table)
    number = max(1, asked.deals // 20)
    sizes = [f"{size} raters, %" for size in REPORTED]
    table = Table("planted group", "GAI", *sizes, title=f"Groups that differ, {number} samples")
    for words, kind in KINDS.items():
        found = (f"{100 * planted(kind, size, number):.1f}" for size in REPORTED)
        table.add_row(words, f"{true_gai(kind):.2f}", *found)
    console.print(table)
    return int(not all(LEAST <= share <= MOST for share in held.values()))


if __name__ == "__main__":
    sys.exit(main())
