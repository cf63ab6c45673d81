"""Position bias against values by SciPy, and how often its test finds one that is not there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.intervals import beyond_f
from app.extensions.analysis.option_positions import (
    COLUMNS,
    chosen_positions,
    equality_test,
    position_tests,
    right_by_position,
)
from experiments.session.seeded_random import shuffled
from experiments.study.option_order import Order, drawn
from tests.fakes.figures import named


def answers(given: Sequence[tuple[str, int, int]], options: int = 4) -> pd.DataFrame:
    """An answer for each participant, chosen place and right place."""
    order = json.dumps(list("ABCDEFGH")[:options])
    rows = [
        ("answer", "submitted", order, chosen, right, int(chosen == right), person) for person, chosen, right in given
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, SESSION])


def test_each_place_has_its_share_and_the_right_answers_by_place() -> None:
    frame = answers([("p", 1, 1), ("p", 1, 2), ("q", 3, 3), ("q", 1, 1), ("r", 4, 2), ("r", 2, 2), ("s", 2, 4)])
    frame.loc[6, "status"] = "missed"
    found = named((*chosen_positions(frame), *right_by_position(frame)))
    shares = [found[f"position.chosen.4.{place}"].value for place in (1, 2, 3, 4)]
    assert shares == [3 / 6, 1 / 6, 1 / 6, 1 / 6]
    assert found["position.chosen.4.1"].participants == 3
    assert (found["position.right.4.1"].value, found["position.right.4.2"].value) == (1, 1 / 3)


def test_the_test_is_an_analysis_of_variance_with_the_participant_as_the_unit() -> None:
    chance = np.random.default_rng(5)
    people, places = np.repeat(np.arange(30), 4), chance.integers(0, 3, 120)
    found = equality_test(places, people, 3)
    assert found is not None
    counts = pd.crosstab(people, places).to_numpy(dtype=float)
    errors = counts - counts.mean(0) - counts.mean(1, keepdims=True) + counts.mean()
    between = 30 * np.sum((counts.mean(0) - counts.mean()) ** 2) / 2
    assert found[0] == pytest.approx(between / (np.sum(errors**2) / 58))
    assert found[1] == pytest.approx(stats.f.sf(found[0], 2, 58))
    two = equality_test(places[places < 2], people[places < 2], 2)
    counts = pd.crosstab(people[places < 2], places[places < 2]).to_numpy(dtype=float)
    paired = stats.ttest_rel(counts[:, 0], counts[:, 1])
    assert two == pytest.approx((paired.statistic**2, paired.pvalue))
    (finding,) = position_tests(answers([(f"p{p}", place + 1, 1) for p, place in zip(people, places, strict=True)], 3))
    assert [finding.estimates[0].value, finding.estimates[0].further["p"]] == pytest.approx(list(found))
    for f, above, below in ((0.2, 3, 7), (3.0, 1, 1), (9.5, 4, 300), (0.0, 2, 9)):
        assert beyond_f(f, above, below) == pytest.approx(stats.f.sf(f, above, below))
    assert equality_test(np.zeros(30, dtype=np.int64), np.arange(30), 4) is None


def by_seed(seed: str, items: Sequence[str], label: str) -> Sequence[str]:
    return shuffled(items, seed, label)


def study(chance: np.random.Generator, people: int, options: int, how: Order, lean: float) -> float | None:
    """The p of a study in which some options are liked more and some participants know the answer, and a share `lean`
    takes what is first; the orders are those that sessions draw."""
    codes, places = [], []
    for person in range(people):
        draw, knows = partial(by_seed, str(chance.random())), chance.beta(2, 2)
        for item in range(int(chance.integers(1, 9))):
            order = drawn(how, [str(o) for o in range(options)], f"q{item}", draw)
            source = 0 if chance.random() < knows else int(chance.integers(0, options)) * (item % 2)
            places.append(0 if chance.random() < lean else order.index(str(source)))
            codes.append(person)
    found = equality_test(np.array(places), np.array(codes), options)
    return found and found[1]


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["shuffled", "shuffled_once"])
@pytest.mark.parametrize(("people", "options"), [(12, 2), (20, 4), (60, 4)])
def test_without_bias_five_of_a_hundred_studies_seem_to_have_one(people: int, options: int, how: Order) -> None:
    chance, runs = np.random.default_rng(17), 1_000
    found = [study(chance, people, options, how, 0) for _ in range(runs)]
    p_values = [p for p in found if p is not None]
    false = sum(p < 0.05 for p in p_values) / len(p_values)
    assert len(p_values) > 0.95 * runs
    assert abs(false - 0.05) <= 3 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.nightly
def test_a_planted_bias_is_found() -> None:
    chance = np.random.default_rng(18)
    found = [study(chance, 60, 4, "shuffled", 0.2) for _ in range(100)]
    assert sum(p is not None and p < 0.05 for p in found) >= 95
