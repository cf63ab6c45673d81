"""The GRASP family and its tests: equal to the definitions, rating by rating, on drawn and on published ratings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import log, sqrt
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.dices.agreement import MEASURES, ORDER, Metric, RaterPool, marks_of
from app.extensions.analysis.dices.grasp import interval, interval_of_largest, p_above
from app.extensions.analysis.public import (
    alpha,
    axes,
    axis,
    family,
    gai,
    negentropy,
    normalised_xrr,
    p_value,
    plurality,
    pool,
    voting_agreement,
    xrr,
)  # fmt: skip

# The ratings (0, 1 or 2) of each conversation.
Ratings = list[list[int]]
METRICS: tuple[Metric, ...] = ("nominal", "interval")
both = st.lists(st.tuples(*[st.lists(st.integers(0, 2), max_size=5)] * 2), min_size=1, max_size=8)


def apart(one: int, other: int, metric: Metric) -> float:
    return float(one != other) if metric == "nominal" else float((one - other) ** 2)


def slow_xrr(one: Ratings, other: Ratings, metric: Metric = "nominal") -> float:
    shared = [(xs, ys) for xs, ys in zip(one, other, strict=True) if xs and ys]
    xs, ys = ([value for pair in shared for value in pair[side]] for side in (0, 1))
    observed = 0.0
    for here, there in shared:
        weight = (len(here) + len(there)) / (len(here) * len(there))
        observed += weight * sum(apart(x, y, metric) for x in here for y in there)
    often = product(Counter(xs).items(), Counter(ys).items())
    expected = sum(apart(x, y, metric) * many * also for (x, many), (y, also) in often)
    if not expected:
        return float("nan")
    return 1 - (observed / (len(xs) + len(ys))) / (expected / (len(xs) * len(ys)))


def slow_alpha(ratings: Ratings, metric: Metric = "nominal") -> float:
    widest = max(map(len, ratings))
    table = [[given[place] if place < len(given) else np.nan for given in ratings] for place in range(widest)]
    return float(krippendorff.alpha(np.asarray(table, float), level_of_measurement=metric, value_domain=[0, 1, 2]))


def counted(ratings: Ratings) -> np.ndarray:
    return np.array([[given.count(value) for value in range(3)] for given in ratings])


def first_of_most(given: Sequence[int]) -> int:
    return max(range(3), key=lambda value: (given.count(value), -value))


def published(shared: Path) -> pd.DataFrame:
    wide = pd.read_csv(shared / "dices350_q_overall_part.csv", dtype=str)
    long = wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")
    number = long["rater_id"].str[-3:].astype(int)
    genders, races = np.array(["Man", "Woman"]), np.array(["White", "Asian", "Black"])
    return long.assign(rater_gender=genders[number % 2], rater_race=races[number * 7 % 11 % 3])


def columns(rows: pd.DataFrame, wanted: Sequence[bool]) -> Ratings:
    kept = rows[np.asarray(wanted)]
    found = {item: [] for item in sorted(rows["item_id"].unique())}
    for item, answer in zip(kept["item_id"], kept["Q_overall"], strict=True):
        found[item].append(ORDER.index(answer))
    return list(found.values())


@pytest.mark.parametrize("metric", METRICS)
@given(pairs=both)
def test_xrr_is_what_its_definition_says(metric: Metric, pairs: list[tuple[list[int], list[int]]]) -> None:
    one, other = map(list, zip(*pairs, strict=True))
    found = xrr(counted(one), counted(other), metric)
    assert found == pytest.approx(slow_xrr(one, other, metric), abs=1e-9, nan_ok=True)
    assert found == pytest.approx(xrr(counted(other), counted(one), metric), abs=1e-9, nan_ok=True)


@given(pairs=both)
def test_cohesion_is_what_its_definitions_say(pairs: list[tuple[list[int], list[int]]]) -> None:
    one, other = map(list, zip(*pairs, strict=True))
    rated = [given for given in one if given]
    shares = [[given.count(value) / len(given) for value in set(given)] for given in rated]
    entropies = [-sum(share * log(share) for share in some) for some in shares]
    size = sum(map(max, shares)) / len(rated) if rated else float("nan")
    order = sum(log(3) - entropy for entropy in entropies) / len(rated) if rated else float("nan")
    assert plurality(counted(one)) == pytest.approx(size, abs=1e-9, nan_ok=True)
    assert negentropy(counted(one)) == pytest.approx(order, abs=1e-9, nan_ok=True)
    votes = [[first_of_most(x), first_of_most(y)] for x, y in zip(one, other, strict=True) if x and y]
    expected = alpha(counted(votes)) if votes else float("nan")
    assert voting_agreement(counted(one), counted(other)) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_groups_of_the_published_ratings_are_measured_against_all_others(shared: Path) -> None:
    rows = published(shared)
    raters = pool(rows)
    found = {(one.measure, one.axis, one.group): one.found.value for one in family(raters, axes(raters), 0)}
    men, black_women = (
        rows["rater_gender"] == "Man",
        (rows["rater_gender"] == "Woman") & (rows["rater_race"] == "Black"),
    )
    cases = [("gender", ("Man",), men), ("race_x_gender", ("Black", "Woman"), black_women)]
    for axis_, group, wanted in cases:
        one, other = columns(rows, wanted), columns(rows, ~wanted)
        here, there = counted(one), counted(other)
        irr, cross = slow_alpha(one), slow_xrr(one, other)
        votes = voting_agreement(here, there)
        reliable = sqrt(irr * slow_alpha(other))
        assert normalised_xrr(here, there, "nominal") == pytest.approx(cross / reliable, abs=1e-9)
        expected = (irr, plurality(here), negentropy(here), cross, votes, irr / cross)
        for measure, value in zip(MEASURES, expected, strict=True):
            assert found[measure, axis_, group] == pytest.approx(value, abs=1e-9), measure
    genders = [found["gai", "gender", (gender,)] for gender in ("Man", "Woman")]
    assert found["dsi", "gender", ()] == max(genders)


@given(st.integers(0, 20), st.lists(st.integers(0, 6), min_size=3, max_size=30))
def test_p_is_twice_the_share_at_least_as_far_out_on_its_side(observed: int, permuted: list[int]) -> None:
    above, below = (sum(side(value) for value in permuted) for side in (observed.__le__, observed.__ge__))
    expected = (min(above, below) + 1) / (len(permuted) + 1)
    assert p_value(observed, np.asarray(permuted, float)) == pytest.approx(min(1, 2 * expected))
    assert p_above(observed, np.asarray(permuted, float)) == pytest.approx((above + 1) / (len(permuted) + 1))


@given(st.floats(-1, 4), st.lists(st.floats(-1, 3), min_size=1, max_size=400), st.sampled_from([1, 37, 40, 199, 999]))
def test_an_interval_holds_1_where_the_test_finds_nothing_and_always_its_value(
    observed: float, some: list[float], number: int
) -> None:
    permuted = np.resize(np.asarray(some), number)
    found, p = interval(observed, permuted), p_value(observed, permuted)
    assert (found.low is None) == (number < 40)
    if found.low is not None and found.high is not None:
        assert (found.low <= 1 <= found.high) == (p >= 0.05)
        if np.ptp(permuted) < 1e-6 and abs(permuted[0] - 1) < 1e-6:
            assert found.low == pytest.approx(observed) == found.high
    largest, p = interval_of_largest(observed, np.maximum(permuted, 1), observed + 1), p_above(observed, permuted)
    if largest.low is not None and largest.high is not None:
        assert largest.low <= observed <= largest.high
        if observed > 1:
            assert (largest.low <= 1) == (p >= 0.05)


def test_permutations_are_those_of_whole_profiles_one_by_one() -> None:
    rows = sparse(8, 15, seed=3)
    raters, deals, seed = pool(rows), 40, 7
    ids = list(raters.profiles.index)
    found = {one.group: one for one in family(raters, (axis(raters, ["rater_gender"]),), deals, seed)}
    dealt = np.random.default_rng(seed).permuted(np.tile(np.arange(8), (deals, 1)), axis=1)
    for gender in ("Man", "Woman"):
        chance = []
        for deal in dealt:
            whose = {rater: raters.profiles["rater_gender"].iloc[deal[n]] for n, rater in enumerate(ids)}
            wanted = rows["rater_id"].map(whose) == gender
            chance.append(gai(counted(columns(rows, wanted)), counted(columns(rows, ~wanted))))
        tests = [one for one in family(raters, (axis(raters, ["rater_gender"]),), deals, seed) if one.measure == "gai"]
        (test,) = (one for one in tests if one.group == (gender,))
        assert test.p == p_value(test.found.value, np.asarray(chance))
    assert found[()].measure == "dsi"


GROUP_SIZES = {"rater_gender": (61, 62), "rater_race": (10, 24, 40, 49)}


def deals(path: Path, numbers: Iterable[int], permutations: int) -> Iterator[tuple[str, bool]]:
    """Deal the raters of the published matrix into random groups, whose GAI and DSI are 1; give each measure with its
    size, and whether its interval holds 1."""
    wide = pd.read_csv(path, dtype=str)
    rows = wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")
    marks, raters, _ = marks_of(rows["item_id"], rows["rater_id"], rows["Q_overall"])
    for seed in numbers:
        chance, profiles = np.random.default_rng(seed), pd.DataFrame(index=raters)
        for column, sizes in GROUP_SIZES.items():
            profiles[column] = chance.permutation(np.repeat([str(size) for size in sizes], sizes))
        dealt = RaterPool(marks, profiles)
        for one in family(dealt, [axis(dealt, [column]) for column in GROUP_SIZES], permutations):
            if one.measure in ("gai", "dsi"):
                size = one.group[0] if one.group else str(len(GROUP_SIZES[f"rater_{one.axis}"]))
                low, high = one.found.low, one.found.high
                yield f"{one.measure} {size}", low is not None and high is not None and low <= 1 <= high


def test_where_groups_are_random_intervals_hold_1_as_often_as_they_say(shared: Path, soak: bool) -> None:
    held = defaultdict[str, list[bool]](list)
    for measure, holds in deals(shared / "dices350_q_overall_part.csv", range(100 if soak else 10), 200):
        held[measure].append(holds)
    assert held.keys() >= {"gai 10", "gai 24", "gai 40", "gai 61", "dsi 2", "dsi 4"}
    assert all(np.mean(several) >= (0.85 if soak else 0.8) for several in held.values()), held


def sparse(raters: int, items: int, seed: int) -> pd.DataFrame:
    """Ratings of which a third are missing, by raters of three ages and two genders."""
    chance = np.random.default_rng(seed)
    unsafe = chance.beta(1, 1, items)
    rows = [
        (f"r{rater}", f"{item}", "Yes" if chance.random() < unsafe[item] else "No", "Man" if rater % 2 else "Woman",
         ("gen z", "millenial", "gen x+")[rater % 3])
        for rater, item in product(range(raters), range(items)) if chance.random() < 2 / 3
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["rater_id", "item_id", "Q_overall", "rater_gender", "rater_age"])
