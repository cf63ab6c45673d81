"""Intervals of means: equal to what their definition says, known cases, and how often they cover the truth."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist, fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.intervals import codes, mean_of, one_way, share_of, student, two_way

# Student's t at 97.5 %, from printed tables.
TABLE = {1: 12.7062047364, 2: 4.30265272991, 3: 3.18244630528, 9: 2.26215716280, 30: 2.04227245630, 120: 1.97993040505}
answers = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda rows: len({p for p, _, _ in rows}) > 1 and len({q for _, q, _ in rows}) > 1
)


def left_out_by_hand(values: list[float], of: list[object]) -> float:
    """The jackknife as it is defined: a mean without each cluster in turn."""
    names = sorted(set(of), key=str)
    means = [fmean(v for v, name in zip(values, of, strict=True) if name != left) for left in names]
    return (len(names) - 1) / len(names) * sum((mean - fmean(values)) ** 2 for mean in means)


@given(answers)
def test_the_variance_is_what_leaving_out_each_cluster_gives(rows: list[tuple[int, int, int]]) -> None:
    people, questions, values = ([row[n] for row in rows] for n in range(3))
    by_person = left_out_by_hand(values, people)
    by_question = left_out_by_hand(values, questions)
    both = left_out_by_hand(values, list(zip(people, questions, strict=True)))
    found = two_way(np.array(values, float), codes(people), codes(questions))
    assert one_way(np.array(values, float), codes(people)) == pytest.approx(by_person, abs=1e-12)
    assert found == pytest.approx(max(by_person + by_question - both, by_person, by_question), abs=1e-12)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=40).filter(lambda values: variance(values) > 1e-6))
def test_answers_that_stand_alone_have_the_usual_interval(values: list[float]) -> None:
    found = mean_of(np.array(values), codes(range(len(values))))
    half = student(len(values) - 1) * sqrt(variance(values) / len(values))
    assert found.low == pytest.approx(fmean(values) - half, abs=1e-9)
    assert found.high == pytest.approx(fmean(values) + half, abs=1e-9)


@given(st.integers(3, 200), st.data())
def test_a_share_of_answers_that_stand_alone_is_wilsons(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(1, n - 1))
    found = share_of(np.repeat([1.0, 0.0], [hits, n - hits]), codes(range(n)))
    share, t, worth = hits / n, student(n - 1), n - 1  # V is p(1 - p)/(n - 1)
    for end in (found.low, found.high):
        assert end is not None
        assert (share - end) ** 2 == pytest.approx(t * t * end * (1 - end) / worth, abs=1e-9)


@pytest.mark.parametrize(("freedom", "t"), TABLE.items())
def test_students_t_is_that_of_printed_tables(freedom: int, t: float) -> None:
    assert student(freedom) == pytest.approx(t, abs=1e-9)


def test_the_interval_of_a_share_covers_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(11)
    truth = NormalDist().cdf(0.4 / sqrt(1 + 0.6**2 + 0.6**2))
    covered = naive = 0
    for _ in range(300):
        people = np.repeat(np.arange(30), chance.integers(6, 10, 30))
        order = chance.permuted(np.tile(np.arange(40), (30, 1)), axis=1)
        questions = np.concatenate([order[p][: np.sum(people == p)] for p in range(30)])
        ability, ease = chance.normal(0, 0.6, 30), chance.normal(0, 0.6, 40)
        hits = (0.4 + ability[people] + ease[questions] + chance.normal(size=people.size) > 0).astype(float)
        found = share_of(hits, codes(people), codes(questions))
        alone = share_of(hits, codes(range(hits.size)))
        assert found.low is not None
        assert found.high is not None
        assert alone.low is not None
        assert alone.high is not None
        covered += found.low <= truth <= found.high
        naive += alone.low <= truth <= alone.high
    assert 0.92 <= covered / 300 <= 0.985
    assert naive < covered - 15  # who takes the answers for independent claims too much
