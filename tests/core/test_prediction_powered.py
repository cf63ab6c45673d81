"""The mean by people and a model: by hand, by ppi-python, and how often its interval holds the true mean."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.intervals import Interval, codes, mean_of, student
from app.analysis.prediction_powered import CorrectedMean, corrected_mean, tuned_weight

SHARE = (0.0, 1.0)


def drawn(seed: int, n: int = 200, others: int = 1000) -> tuple[Any, Any, Any]:
    """Human labels, the model's of the same, and the model's of others: numbers around 3 that are half the same."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(3, 1, n + others)
    model = truth + chance.normal(0.5, 0.7, n + others)
    return truth[:n], model[:n], model[n:]


def corrected(human: Any, paired: Any, others: Any, **more: Any) -> CorrectedMean:
    """The estimate where each conversation is of another participant."""
    whole = np.concatenate([human, np.full(len(others), nan)])
    return corrected_mean(whole, np.concatenate([paired, others]), codes(range(whole.size)), **more)


def ends(found: Interval) -> tuple[float, float]:
    """Both ends of an interval that there is."""
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def test_an_example_by_hand() -> None:
    """Four labels 1, 1, 0, 0; the model says 1, 1, 1, 0, and 1, 0, 0, 0 about the others.

    cov = mean of Y f - mean Y mean f = 2/4 - 1/2 * 3/4 = 1/8; var of all eight f (four ones) = 8/7 * 1/4 = 2/7;
    lam = (1/8) / (2 * 2/7) = 7/32; estimate = 1/2 + 7/32 * (1/4 - 3/4) = 25/64.
    """
    found = corrected(np.array([1.0, 1, 0, 0]), np.array([1.0, 1, 1, 0]), np.array([1.0, 0, 0, 0]))
    assert found.weight == pytest.approx(7 / 32, abs=1e-12)
    assert found.corrected.value == pytest.approx(25 / 64, abs=1e-12)
    # r = 1 - 7/32, 1 - 7/32, -7/32, 0; its squares about their mean 43/128 sum to 0.846...; f of the others to 3/4
    differences = np.array([25 / 32, 25 / 32, -7 / 32, 0])
    variance = np.sum((differences - differences.mean()) ** 2) / 16 + (7 / 32) ** 2 * 0.75 / 16
    half = student(3) * sqrt(4 / 3 * variance)
    assert ends(found.corrected)[1] == pytest.approx(25 / 64 + half, abs=1e-12)
    assert found.effective == pytest.approx(4 * (1 / 16) / variance, abs=1e-12)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=30).filter(lambda them: np.ptp(them) > 1e-3))
def test_a_model_that_says_nothing_leaves_the_humans_mean(values: list[float]) -> None:
    human = np.array(values)
    found = corrected(human, np.zeros(human.size), np.zeros(50))
    usual = mean_of(human, codes(range(human.size)))
    assert (found.weight, found.effective) == (0, pytest.approx(human.size))
    assert (found.corrected.low, found.corrected.high) == pytest.approx((usual.low, usual.high), abs=1e-6)
    assert found.people == found.corrected


def test_the_model_alone_is_wrong_and_the_correction_is_not() -> None:
    found = corrected(*drawn(3))
    (low, _), (corrected_low, corrected_high) = ends(found.model), ends(found.corrected)
    assert low > 3.2, "the model says half a point too much"
    assert corrected_low < 3 < corrected_high
    assert (found.effective or 0) > 1.5 * found.labelled


def test_labels_of_few_participants_count_for_less() -> None:
    """Ten conversations each of people who differ: as independent ones they would seem to be worth far more."""
    chance = np.random.default_rng(2)
    people = np.repeat(np.arange(60), 10)
    truth = chance.normal(0, 1, 60)[people] + chance.normal(0, 0.3, 600)
    model = truth + chance.normal(0, 0.3, 600)
    human = np.where(chance.permutation(600) < 120, truth, nan)
    both = (ends(corrected_mean(human, model, clusters).corrected) for clusters in (people, np.arange(600)))
    widths = [high - low for low, high in both]
    assert widths[0] > 1.8 * widths[1]


def test_labels_that_never_differ_from_the_models_are_no_proof() -> None:
    human = np.repeat([1.0, 0.0], [6, 14])
    found = corrected(human, human, np.repeat([1.0, 0.0], [300, 700]), scale=SHARE)
    low, high = ends(found.corrected)
    assert (low < 0.22, high > 0.38) == (True, True), "20 labels cannot exclude 8 % of errors"


def test_where_there_is_no_interval_a_reason_says_why() -> None:
    alone = corrected_mean(np.array([1.0, 0.0, nan]), np.array([1.0, 0.0, 1.0]), np.array([0, 0, 1]), SHARE)
    assert alone.corrected.low is None
    assert alone.corrected.why
    whole = corrected(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([]), scale=SHARE)
    assert (whole.others, whole.weight, whole.corrected) == (0, 0.0, whole.people)


@pytest.mark.parametrize(("share", "right", "alike"), [(0.5, 0.9, 0.0), (0.2, 0.5, 0.2), (0.2, 0.95, 0.2)])
def test_the_interval_holds_the_true_share(share: float, right: float, alike: float) -> None:
    from tests.bench.prediction_powered import Design, coverage

    held = coverage(Design(share=share, right=right, alike=alike, labelled=60), 300)
    assert held.corrected >= 0.92
    assert held.model < 0.8, "the model alone errs, and its interval does not know"


@pytest.mark.parametrize("seed", range(5))
def test_the_values_are_those_of_ppi_python(seed: int) -> None:
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is installed only to compare")
    human, paired, others = drawn(seed)
    found = corrected(human, paired, others)
    assert found.weight == pytest.approx(tuned_weight(human, paired, others), abs=0)
    assert found.corrected.value == pytest.approx(ppi.ppi_mean_pointestimate(human, paired, others).item(), abs=1e-9)
    low, high = ppi.ppi_mean_ci(human, paired, others, alpha=0.05)
    n = human.size
    wider = student(n - 1) / 1.959963984540054 * sqrt(n / (n - 1))  # t for z, and s^2/n for the biased variance
    half = ends(found.corrected)[1] - found.corrected.value
    assert half == pytest.approx(wider * (high.item() - low.item()) / 2, abs=1e-9)
