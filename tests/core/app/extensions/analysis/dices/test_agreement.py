"""Krippendorff's alpha: equal to its definition, to published figures, and blind to what must not matter."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.dices.agreement import ORDER, Metric, alpha, alpha_interval, counts_of, marks_of
from app.extensions.analysis.intervals import student

# The ratings (0, 1 or 2) of each item.
Ratings = list[list[int]]
RELIABILITY = [  # Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C: observers by units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
items = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=12)


def by_definition(ratings: Ratings, metric: Metric, values: int = 3) -> float | None:
    paired = [given for given in ratings if len(given) > 1]
    every = [value for given in paired for value in given]
    often = [every.count(value) for value in range(values)]

    def apart(one: int, other: int) -> float:
        if metric == "nominal":
            return float(one != other)
        low, high = sorted((one, other))
        return (sum(often[low : high + 1]) - (often[low] + often[high]) / 2) ** 2

    observed = sum(apart(a, b) / (len(given) - 1) for given in paired for a, b in permutations(given, 2))
    expected = sum(apart(a, b) for a, b in permutations(every, 2))
    n = len(every)
    return None if expected == 0 else 1 - (observed / n) / (expected / (n * (n - 1)))


def counted(ratings: Ratings, values: int = 3) -> np.ndarray:
    return np.array([[given.count(value) for value in range(values)] for given in ratings])


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@given(ratings=items)
def test_alpha_is_what_its_definition_says(metric: Metric, ratings: Ratings) -> None:
    expected, found = by_definition(ratings, metric), alpha(counted(ratings), metric)
    assert np.isnan(found) if expected is None else found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "value"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_alpha_is_that_of_krippendorffs_own_example(metric: Metric, value: float) -> None:
    units = [[row[n] - 1 for row in RELIABILITY if row[n] is not None] for n in range(12)]
    assert alpha(counted(units, 5), metric) == pytest.approx(value, abs=5e-4)


# Rows of rater, item and value.
rated = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 2)),
    min_size=6, max_size=30, unique_by=lambda row: row[:2],
)  # fmt: skip


def alpha_of(rows: list[tuple[int, int, int]]) -> float:
    counts = counts_of([item for _, item, _ in rows], [ORDER[value] for *_, value in rows])
    return alpha(counts)


@given(rows=rated)
def test_the_interval_is_the_jackknife_over_raters_and_over_items(rows: list[tuple[int, int, int]]) -> None:
    often = Counter(item for _, item, _ in rows)
    rows = [row for row in rows if often[row[1]] > 1]
    raters, items_, values = zip(*rows, strict=True) if rows else ([], [], [])
    found = alpha_interval(marks_of(items_, raters, [ORDER[value] for value in values])[0], "nominal")
    variance, sizes = 0.0, []
    for place, names in ((0, {*raters}), (1, {*items_})):
        without = np.array([alpha_of([row for row in rows if row[place] != name]) for name in names])
        sizes.append(len(names))
        if len(names):
            variance += (len(names) - 1) / len(names) * float(((without - without.mean()) ** 2).sum())
    if sizes[0] < 3 or sizes[1] < 2 or np.isnan(variance) or variance < 1e-15:
        assert found.low is None
        assert found.why
        return
    half = student(min(sizes) - 1) * variance**0.5
    assert (found.low, found.high) == pytest.approx((found.value - half, min(1, found.value + half)), abs=1e-6)
    assert found.value == pytest.approx(alpha_of(rows), abs=1e-9)


def test_the_interval_of_the_published_alpha_counts_raters(shared: Path) -> None:
    wide = pd.read_csv(shared / "dices350_q_overall_part.csv", dtype=str)
    rows = wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")
    marks, _, _ = marks_of(rows["item_id"], rows["rater_id"], rows["Q_overall"])
    both, given_ = alpha_interval(marks, "nominal"), alpha_interval(marks, "nominal", raters_vary=False)
    errors = [(one.high - one.low) / 2 / student(122 if one is both else 149) for one in (both, given_)]
    assert errors == pytest.approx([(0.0127**2 + 0.0176**2) ** 0.5, 0.0176], abs=1e-4)
