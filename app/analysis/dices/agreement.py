"""Krippendorff's alpha of DICES's ratings: how far raters agree beyond chance, however many rated each conversation.

    alpha = 1 - d_o/d_e     (Krippendorff: Content Analysis, 4th ed. 2018, chapter 12; DICES: Aroyo et al. 2023)

d_o is the disagreement within conversations and d_e what chance would give, both from the coincidences of values: each
pair of ratings of one conversation that m people rated counts 1/(m - 1). A conversation with one rating has no pairs.
Nominal: two values differ or not. Ordinal (No < Unsure < Yes): as many ranks apart as ratings lie between.

The interval is a percentile bootstrap over conversations, from a fixed seed. Conversations with the same counts of
values are alike, so whole samples are drawn at once by kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.analysis.estimates import NUMBER, Estimate, Finding, Group, estimate
from app.analysis.intervals import FEWEST, LEVEL, Interval

Metric = Literal["nominal", "ordinal"]
Counts: TypeAlias = npt.NDArray[np.int64]
"""How many raters gave each value (columns) to each conversation (rows)."""
ORDER = ("No", "Unsure", "Yes")
SAMPLES = 1000
SEED = 1
ENOUGH = 0.95
"""So many of the samples must have an alpha, or there is no interval."""
METHODS: dict[Metric, str] = {
    "nominal": "differences between No, Unsure and Yes counting alike",
    "ordinal": "No, Unsure and Yes taken in this order",
}


def counts_of(items: npt.ArrayLike, values: npt.ArrayLike, order: tuple[str, ...] = ORDER) -> Counts:
    """How many ratings of each value each item has; what is no value of `order` is left out."""
    place = pd.Index(order).get_indexer(pd.Index(np.asarray(values, dtype=object)))
    known = place >= 0
    item = pd.factorize(np.asarray(items, dtype=object)[known])[0]
    size = int(item.max(initial=-1)) + 1
    flat = np.bincount(item * len(order) + place[known], minlength=size * len(order))
    return flat.reshape(size, len(order)).astype(np.int64)


def alpha(counts: Counts, metric: Metric = "nominal") -> float:
    """Krippendorff's alpha, at most 1; NaN where it has none, as all ratings are equal or none can be paired."""
    return float(_alphas(_coincidences(counts).sum(axis=0)[None], metric)[0])


def alpha_interval(counts: Counts, metric: Metric, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """Alpha with the middle 95 % of what samples of as many conversations, drawn with replacement, have."""
    paired = counts[counts.sum(axis=1) > 1]
    value = alpha(paired, metric)
    if len(paired) < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} conversations that several people rated.")
    kinds, often = np.unique(paired, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(paired), often / len(paired), size=samples)
    coincidences = np.tensordot(drawn.astype(float), _coincidences(kinds), axes=1)
    found = _alphas(coincidences, metric)
    found = found[~np.isnan(found)]
    if found.size < ENOUGH * samples:
        return Interval(value, why="Too few ratings differ for an interval.")
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def agreement(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str) -> tuple[Finding, ...]:
    """Nominal and ordinal alpha of some columns (`Q_overall`, ...) of a DICES table; none for what has no alpha yet.

    Names: `dices.alpha_nominal.<column>`, `dices.alpha_ordinal.<column>`.
    """
    code = f'agreement(frame(database, study, "{edition.replace("-", "_")}", origin), {columns!r}, "{edition}")'
    found = [
        Finding(
            f"dices.alpha_{metric}", f"Agreement: Krippendorff's alpha, {metric} ({edition})", "ratings", NUMBER,
            (-0.2, 1), tuple(_estimates(ratings, columns, edition, metric)),
            f"Krippendorff's alpha, {words}; 1 is full agreement, 0 what chance gives. Raters may differ in number. "
            f"The 95 % interval is a percentile bootstrap over conversations ({SAMPLES:,} samples, seed {SEED}); the "
            "raters are taken as they are.",
            code, reference=0.0, note=_equal(ratings, columns),
        )
        for metric, words in METHODS.items()
    ]  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _equal(ratings: pd.DataFrame, columns: tuple[str, ...]) -> str:
    """Which columns have no alpha because nobody differs in them."""
    same = [column for column in columns if ratings[column].nunique() == 1]
    return f"All ratings are equal, so there is no alpha: {', '.join(same)}." if same else ""


def _estimates(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str, metric: Metric) -> Iterator[Estimate]:
    for column in columns:
        given = ratings[ratings[column].isin(ORDER)]
        counts = counts_of(given["item_id"], given[column])
        found = alpha_interval(counts, metric)
        if np.isnan(found.value):
            continue
        groups = {"column": column, "edition": edition, "conversations": f"{len(counts)}"}
        raters = given["rater_id"].nunique()
        group = Group(f"dices.alpha_{metric}.{column}", column, len(given), raters, groups)
        said = f"Raters agreed on {column} with an alpha ({metric}) of {{}} over {len(counts):,} conversations"
        yield estimate(group, found, said, NUMBER, "ratings")


def _coincidences(counts: Counts) -> npt.NDArray[np.float64]:
    """Of each conversation: the pairs of values, each weighted by 1/(m - 1)."""
    sizes = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1], dtype=np.int64)
    return np.asarray(pairs / np.maximum(sizes - 1, 1)[:, None, None] * (sizes > 1)[:, None, None], dtype=np.float64)


def _alphas(coincidences: npt.NDArray[np.float64], metric: Metric) -> npt.NDArray[np.float64]:
    """The alpha of each of several tables of coincidences."""
    totals = coincidences.sum(axis=2)
    apart = _apart(totals, metric)
    size = totals.sum(axis=1)
    observed = (coincidences * apart).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * apart).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (size - 1) * observed / expected, np.nan), dtype=np.float64)


def _apart(totals: npt.NDArray[np.float64], metric: Metric) -> npt.NDArray[np.float64]:
    """How far each two values are apart, squared."""
    if metric == "nominal":
        return np.asarray(1 - np.eye(totals.shape[1]))[None]
    place = totals.cumsum(axis=1) - totals / 2  # the ratings up to the middle of each value
    return np.asarray((place[:, :, None] - place[:, None, :]) ** 2, dtype=np.float64)
