"""Krippendorff's alpha: equal to its definition, to published figures, and blind to what must not matter."""

from __future__ import annotations

import csv
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.dices.agreement import (
    ORDER,
    Metric,
    agreement,
    alpha,
    alpha_interval,
    counts_of,
    dichotomy,
    sampled,
)

Ratings = list[list[int]]
"""The ratings (0, 1 or 2) of each item."""
RELIABILITY = [  # Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C: observers by units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
items = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=12)


def by_definition(ratings: Ratings, metric: Metric, values: int = 3) -> float | None:
    """Alpha from the definition, pair by pair; None where there is none."""
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


def test_alpha_of_the_published_ratings_is_the_slow_one(shared: Path, soak: bool) -> None:
    rows = list(csv.reader((shared / "dices350_q_overall_part.csv").read_text().splitlines()))[1:]
    flat = [(row[0], cell) for row in rows for cell in row[2:] if cell]
    counts = counts_of([item for item, _ in flat], [cell for _, cell in flat])
    assert counts.sum() == len(flat)
    ratings = [[place for place, many in enumerate(row) for _ in range(many)] for row in counts.tolist()]
    sample = ratings[: 20 if soak else 8]
    for metric in ("nominal", "ordinal"):
        assert alpha(counted(sample), metric) == pytest.approx(by_definition(sample, metric), abs=1e-9)
    assert 0.1 < alpha(counts) < 0.25  # of all 350 items it is 0.161


@given(ratings=items, seed=st.integers(0, 99))
def test_alpha_does_not_depend_on_the_order_of_items(ratings: Ratings, seed: int) -> None:
    counts = counted(ratings)
    shuffled = np.random.default_rng(seed).permutation(counts)
    assert alpha(counts) == pytest.approx(alpha(shuffled), nan_ok=True)


def test_full_agreement_is_one_and_chance_about_nothing() -> None:
    chance = np.random.default_rng(5)
    agreed = counted([[value] * 4 for value in (0, 1, 2) * 20])
    by_chance = counted(chance.integers(0, 3, (2000, 5)).tolist())
    for metric in ("nominal", "ordinal"):
        assert alpha(agreed, metric) == 1
        assert abs(alpha(by_chance, metric)) < 0.02


def test_the_interval_is_the_same_for_the_same_seed_and_holds_alpha() -> None:
    counts = _rated(np.random.default_rng(3), 60)
    one, other = (alpha_interval(counts, "nominal") for _ in range(2))
    assert one == other
    assert one.low is not None
    assert one.high is not None
    assert one.low < alpha(counts) < one.high
    assert alpha_interval(counts, "nominal", seed=2) != one


def test_one_conversation_has_no_interval_and_equal_ratings_no_alpha() -> None:
    assert "needs 2 conversations" in alpha_interval(counted([[0, 1, 1], [2]]), "nominal").why
    mixed = {"item_id": ["1", "1", "2", "2"], "rater_id": list("abab"), "Q_overall": ["No"] * 4}
    mixed |= {"Q3_bias_overall": ["No", "No", "Yes", "Yes"]}
    found = agreement(pd.DataFrame(mixed), ("Q_overall", "Q3_bias_overall"), "dices-350")
    assert found[0].note == "All ratings are equal, so there is no alpha: Q_overall."
    assert [one.label for one in found[0].estimates] == ["Q3_bias_overall"]
    equal = pd.DataFrame({"item_id": ["1", "1", "2", "2"], "rater_id": list("abab"), "Q_overall": ["No"] * 4})
    for finding in (*agreement(equal, ("Q_overall",), "dices-350"), *dichotomy(equal, ("Q_overall",), "dices-350")):
        assert finding.estimates == ()
        assert finding.note == "All ratings are equal, so there is no alpha: Q_overall."
    unsure = equal.assign(Q_overall=["No", "Unsure", "No", "No"])
    assert agreement(unsure, ("Q_overall",), "dices-350")[0].estimates
    assert "All ratings are equal" in dichotomy(unsure, ("Q_overall",), "dices-350")[0].note
    once = equal[::2]
    assert "No conversation has two ratings" in agreement(once, ("Q_overall",), "dices-350")[0].note
    assert agreement(equal[:0], ("Q_overall",), "dices-350") == ()


def test_what_is_the_same_in_all_samples_has_no_interval() -> None:
    assert sampled(0.5, np.array([0.5, 0.5, np.nan]), "few").why == "few"
    assert "the same in all samples" in sampled(0.5, np.full(100, 0.5), "few").why
    assert sampled(0.5, np.array([0.5] * 99 + [0.6]), "few").low == 0.5


def test_blank_ratings_count_nowhere() -> None:
    rows = [("1", "a", "No"), ("1", "b", "Yes"), ("1", "c", None), ("2", "a", "Yes"), ("2", "b", "Yes")]
    data = pd.DataFrame(rows, columns=["item_id", "rater_id", "Q_overall"])
    nominal, ordinal = agreement(data, ("Q_overall",), "dices-350")
    (estimate,) = nominal.estimates
    assert (estimate.name, estimate.n, estimate.participants) == ("dices.alpha_nominal.Q_overall", 4, 2)
    assert estimate.value == pytest.approx(by_definition([[0, 2], [2, 2]], "nominal"))
    assert ordinal.estimates[0].name == "dices.alpha_ordinal.Q_overall"
    assert ORDER == ("No", "Unsure", "Yes")


def _rated(chance: np.random.Generator, number: int) -> np.ndarray:
    """Items that differ in how many say Yes, each rated by three to eight people."""
    size = chance.integers(3, 9, number)
    yes = chance.binomial(size, chance.beta(1, 2, number))
    return np.stack([size - yes, np.zeros(number, int), yes], axis=1)
