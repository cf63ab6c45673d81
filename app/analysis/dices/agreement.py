"""Krippendorff's alpha of DICES's ratings: how far raters agree beyond chance, however many rated each conversation.

    alpha = 1 - d_o/d_e     (coincidence_matrix.py; DICES: Aroyo et al. 2023)

A conversation with one rating has no pairs. Nominal: two values differ or not. Ordinal (No < Unsure < Yes): the
distance of two values is the number of ratings between them. Yes against the rest: No and Unsure are one value.

The interval is a percentile bootstrap over conversations, with a fixed seed. Conversations with equal counts of values
are interchangeable, so samples are drawn by distinct counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.analysis.bootstrap import central
from app.analysis.dices.coincidence_matrix import Metric, Sums, alphas, pairs
from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import FEWEST, Interval

Counts: TypeAlias = npt.NDArray[np.int64]
"""How many raters gave each value (columns) to each conversation (rows)."""
ORDER = ("No", "Unsure", "Yes")
SAMPLES = 1000
SEED = 1
ENOUGH = 0.95
"""The share of samples that must have an alpha; otherwise there is no interval."""
METHODS = {
    "nominal": "with No, Unsure and Yes as unordered categories",
    "ordinal": "with No, Unsure and Yes as ordered categories",
    "yes": "Yes against the rest, with No and Unsure as one value",
}
TITLES = {"nominal": "nominal", "ordinal": "ordinal", "yes": "Yes against the rest"}


def counts_of(items: npt.ArrayLike, values: npt.ArrayLike, order: tuple[str, ...] = ORDER) -> Counts:
    """The number of ratings of each value for each item; values not in `order` are left out."""
    place = pd.Index(order).get_indexer(pd.Index(np.asarray(values, dtype=object)))
    known = place >= 0
    item = pd.factorize(np.asarray(items, dtype=object)[known])[0]
    size = int(item.max(initial=-1)) + 1
    flat = np.bincount(item * len(order) + place[known], minlength=size * len(order))
    return flat.reshape(size, len(order)).astype(np.int64)


def alpha(counts: Counts, metric: Metric = "nominal") -> float:
    """Krippendorff's alpha = 1 - d_o/d_e, at most 1; NaN where all ratings are equal or none can be paired.

    d_o is the disagreement within items, each pair of ratings of an item with m of them counting 1/(m - 1), and d_e
    that of all pairs of ratings; two values disagree by 1 (nominal), or by the square of how many ratings lie between
    them (ordinal), or of how many places they are apart (interval). No unit. Krippendorff: Content Analysis, 2018.
    """
    return float(alphas(pairs(_planes(counts)).sum(axis=-1), metric))


def alpha_interval(counts: Counts, metric: Metric, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """Alpha with a percentile bootstrap interval over conversations."""
    paired = counts[counts.sum(axis=1) > 1]
    value = alpha(paired, metric)
    if len(paired) < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} conversations that several people rated.")
    kinds, often = np.unique(paired, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(paired), often / len(paired), size=samples)
    found = alphas(pairs(_planes(kinds)) @ drawn.T.astype(float), metric)
    return sampled(value, found, "Too few ratings differ for an interval.")


def agreement(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str) -> tuple[Finding, ...]:
    """Nominal and ordinal alpha of columns (`Q_overall`, ...) of a DICES table; a note lists columns without an alpha.

    Names: `dices.alpha_nominal.<column>`, `dices.alpha_ordinal.<column>`.
    """
    return _findings(ratings, columns, edition, ("nominal", "ordinal"))


def dichotomy(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str) -> tuple[Finding, ...]:
    """Alpha of `Yes` against the rest (No and Unsure alike). Names: `dices.alpha_yes.<column>`."""
    return _findings(ratings, columns, edition, ("yes",))


def counted(ratings: pd.DataFrame, column: str, method: str = "nominal") -> Counts:
    """The counts of a column of a DICES table by conversation: of No, Unsure and Yes; by `yes`, of the rest and Yes."""
    counts = counts_of(ratings["item_id"], ratings[column])
    return np.stack([counts[:, 0] + counts[:, 1], counts[:, 2]], axis=1) if method == "yes" else counts


def sampled(value: float, found: Sums, why: str) -> Interval:
    """The interval of the middle 95 % of the samples' values, or the reason why there is none."""
    known = found[~np.isnan(found)]
    if known.size < ENOUGH * found.size:
        return Interval(value, why=why)
    if np.ptp(known) < 1e-12:
        return Interval(value, why="It is the same in all samples, so its variance is not known.")
    return Interval(value, *central(known))


def _findings(
    ratings: pd.DataFrame, columns: tuple[str, ...], edition: str, methods: tuple[str, ...]
) -> tuple[Finding, ...]:
    function = "dichotomy" if "yes" in methods else "agreement"
    code = f'{function}(frame(database, study, "{edition.replace("-", "_")}", origin), {columns!r}, "{edition}")'
    found = [
        Finding(
            f"dices.alpha_{method}", f"Agreement: Krippendorff's alpha, {TITLES[method]} ({edition})", "ratings",
            NUMBER, (-0.2, 1), tuple(_estimates(ratings, columns, edition, method)),
            f"Krippendorff's alpha, {METHODS[method]}; 1 is full agreement, 0 is agreement by chance. The number of "
            "raters may differ between conversations. The 95 % interval is a percentile bootstrap over conversations "
            f"({SAMPLES:,} samples, seed {SEED}); the raters are treated as fixed.",
            code, reference=0.0, note=_without(ratings, columns, method),
        )
        for method in methods
    ]  # fmt: skip
    return tuple(finding for finding in found if finding.estimates or finding.note)


def _without(ratings: pd.DataFrame, columns: tuple[str, ...], method: str) -> str:
    """Which columns with ratings have no alpha, and why."""
    alone: list[str] = []
    equal: list[str] = []
    for column in columns:
        counts = counted(ratings, column, method)
        if counts.size and np.isnan(alpha(counts)):
            (equal if (counts.sum(axis=1) > 1).any() else alone).append(column)
    said = [f"All ratings are equal, so there is no alpha: {', '.join(equal)}."] if equal else []
    said += [f"No conversation has two ratings, so there is no alpha: {', '.join(alone)}."] if alone else []
    return " ".join(said)


def _estimates(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str, method: str) -> Iterator[Estimate]:
    for column in columns:
        given = ratings[ratings[column].isin(ORDER)]
        counts = counted(given, column, method)
        found = alpha_interval(counts, "ordinal" if method == "ordinal" else "nominal")
        if np.isnan(found.value):
            continue
        groups = {"column": column, "edition": edition, "conversations": f"{len(counts)}"}
        raters = given["rater_id"].nunique()
        group = EstimateGroup(f"dices.alpha_{method}.{column}", column, len(given), raters, groups)
        said = f"Raters agreed on {column} with an alpha ({TITLES[method]}) of {{}} over {len(counts):,} conversations"
        yield estimate(group, found, said, NUMBER, "ratings")


def _planes(counts: Counts) -> Sums:
    return counts.T.astype(np.float64)
