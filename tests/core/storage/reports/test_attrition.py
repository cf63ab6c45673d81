"""The test of attrition against SciPy and statsmodels, an enumeration of all permutations, and its false alarms."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.duration.survfunc import survdiff

from storage.reports import attrition
from storage.reports.attrition import DONE, PENDING, attrition_test

Came = list[tuple[str, ...]]


def drawn(chance: np.random.Generator, lost: list[float], size: int, waves: int = 3) -> tuple[list[int], Came]:
    """Participants of each arm, lost in each wave with its probability; some have not come to the last waves yet."""
    arms, came = [], []
    for arm, rate in enumerate(lost):
        for _ in range(size):
            over = int(chance.integers(1, waves + 1))
            went = np.cumsum(chance.random(waves) < rate) == 0
            arms.append(arm)
            states = [DONE if own else "missed" for own in went[:over]]
            came.append((*states, *[PENDING] * (waves - over)))
    return arms, came


def survival(came: Came) -> tuple[list[int], list[bool]]:
    """The wave of loss or the last one that is over, and whether they were lost."""
    lost = ["missed" in own for own in came]
    ends = (own.index("missed") + 1 if "missed" in own else own.count(DONE) for own in came)
    return list(ends), lost


@pytest.mark.parametrize("rates", [[0.2, 0.4], [0.2, 0.3, 0.5]], ids=["two arms", "three arms"])
def test_the_statistic_is_that_of_the_log_rank_test(rates: list[float]) -> None:
    arms, came = drawn(np.random.default_rng(3), rates, 60)
    found = attrition_test(arms, came)
    assert found is not None
    ends, lost = survival(came)
    chi_square, p = survdiff(np.array(ends), np.array(lost, dtype=int), np.array(arms))
    assert found[0] == pytest.approx(chi_square)
    assert found[1] == pytest.approx(p, abs=0.02)
    if len(rates) == 2:
        sides = [
            stats.CensoredData.right_censored([e for e, a in zip(ends, arms, strict=True) if a == arm],
                                              [not o for o, a in zip(lost, arms, strict=True) if a == arm])
            for arm in (0, 1)
        ]  # fmt: skip
        assert found[0] == pytest.approx(stats.logrank(*sides).statistic ** 2)


def test_in_one_wave_of_small_cells_p_is_fishers() -> None:
    arms = [0] * 7 + [1] * 7
    came: Came = [(DONE,)] * 9 + [("missed",)] * 5
    found = attrition_test(arms, came)
    exact = stats.fisher_exact([[7, 0], [2, 5]]).pvalue
    assert found is not None
    assert exact == pytest.approx(0.021, abs=1e-3)
    assert found[1] == pytest.approx(exact, abs=0.01)


def test_p_is_that_of_all_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    came: Came = [
        (DONE, "missed"), ("missed", PENDING), (DONE, DONE), (DONE, PENDING), ("missed", "dropped"), (DONE, DONE),
        (DONE, "missed"),
    ]  # fmt: skip
    arms = [0, 0, 0, 1, 1, 1, 1]
    found = attrition_test(arms, came)
    assert found is not None
    monkeypatch.setattr(attrition, "PERMUTATIONS", 0)
    others = [attrition_test([int(n not in first) for n in range(7)], came) for first in combinations(range(7), 3)]
    share = np.mean([one is not None and one[0] >= found[0] - 1e-9 for one in others])
    assert found[1] == pytest.approx(share, abs=0.04)


def test_without_two_arms_or_a_loss_there_is_nothing_to_test() -> None:
    assert attrition_test([], []) is None
    assert attrition_test([0, 0], [(DONE,), ("missed",)]) is None
    assert attrition_test([0, 1], [(DONE, PENDING), (PENDING, PENDING)]) is None


@pytest.mark.nightly
def test_a_difference_that_is_not_there_is_rarely_found(monkeypatch: pytest.MonkeyPatch, soak: bool) -> None:
    """Ten participants in each of two arms, where the largest p below 0.05 has less than 5 %."""
    monkeypatch.setattr(attrition, "PERMUTATIONS", 99)
    chance, studies = np.random.default_rng(11), 4_000 if soak else 300
    found = [attrition_test(*drawn(chance, [0.25, 0.25], 10)) for _ in range(studies)]
    false = sum(one is not None and one[1] <= 0.05 for one in found)
    assert stats.binomtest(false, studies, 0.05, alternative="greater").pvalue > 0.001
    planted = [attrition_test(*drawn(chance, [0.05, 0.4], 30)) for _ in range(50)]
    assert sum(one is not None and one[1] <= 0.05 for one in planted) > 35
