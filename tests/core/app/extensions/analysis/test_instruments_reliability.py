"""Cronbach's alpha and McDonald's omega, by hand and against statsmodels."""

from __future__ import annotations

import warnings
from math import nan, sqrt

import numpy as np
import pandas as pd
import pytest
from statsmodels.multivariate.factor import Factor

from app.extensions.analysis.instruments import (
    cronbach_alpha,
    instrument_scores,
    omega_total,
    one_factor,
    reliabilities,
)

# Covariances of three items. Their sum is 11, their trace 6.
BY_HAND = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 1.0]])


def answers(people: int, loadings: list[float], seed: int = 5) -> np.ndarray:
    """Answers from 1 to 7 of people to items with these loadings on one factor."""
    chance = np.random.default_rng(seed)
    factor = chance.normal(size=(people, 1))
    noise = chance.normal(size=(people, len(loadings))) * np.sqrt(1 - np.square(loadings))
    return np.clip(np.round(4 + 1.3 * (factor * loadings + noise)), 1, 7)


def frame(items: np.ndarray, **columns: object) -> pd.DataFrame:
    about = {
        "path": "end",
        "instrument": "x",
        "title": "X",
        "score": "s",
        "score_title": "S",
        "low": 1,
        "high": 7,
    } | columns
    rows = [{**about, "items": tuple(row), "_session": f"p{number}"} for number, row in enumerate(items)]
    return pd.DataFrame(rows)


def test_alpha_is_that_of_the_formula_by_hand() -> None:
    assert cronbach_alpha(BY_HAND) == pytest.approx(3 / 2 * (1 - 6 / 11), abs=1e-12)


def test_omega_of_three_items_is_that_by_hand() -> None:
    loadings = [sqrt(1 * 0.5 / 1), sqrt(1 * 1 / 0.5), sqrt(0.5 * 1 / 1)]
    common = sum(loadings) ** 2
    unique = 6 - sum(loading**2 for loading in loadings)
    assert omega_total(BY_HAND) == pytest.approx(common / (common + unique), abs=1e-9)
    assert common + unique == pytest.approx(11), "the model reproduces the sum"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_factor_model_is_that_of_statsmodels(seed: int) -> None:
    items = answers(150, [0.8, 0.7, 0.6, 0.75, 0.5], seed)
    correlations = np.corrcoef(items, rowvar=False)
    loadings, unique = (part[0] for part in one_factor(correlations[None]))
    known = Factor(corr=correlations, n_factor=1, method="ml", nobs=len(items))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops at the precision of its numbers, short of the tolerance
        theirs = known.fit(maxiter=2000, opt={"gtol": 1e-12})
    assert np.abs(loadings) == pytest.approx(np.abs(theirs.loadings[:, 0]), abs=1e-6)
    own, best = (known.loglike((np.abs(found), rest)) for found, rest in (
        (loadings[:, None], unique), (theirs.loadings, theirs.uniqueness)
    ))  # fmt: skip
    assert own >= best - 1e-12, "no likelihood is higher"
    implied = np.outer(loadings, loadings) + np.diag(unique)
    inverse = np.linalg.inv(implied)
    score = inverse @ (implied - correlations) @ inverse
    assert score @ loadings == pytest.approx(0, abs=1e-9), "the likelihood's derivative vanishes"
    assert np.diag(score) == pytest.approx(0, abs=1e-9)


def test_there_is_no_omega_without_a_proper_solution() -> None:
    heywood = np.array([[1, 0.9, 0.9], [0.9, 1, 0.5], [0.9, 0.5, 1]])
    assert np.isnan(omega_total(heywood)), "the first loading would be above 1"
    assert np.isnan(omega_total(np.zeros((3, 3))))


def test_who_left_an_item_out_or_was_asked_again_counts_once_or_not_at_all() -> None:
    items = answers(40, [0.8, 0.7])
    items[0, 1] = nan
    rows = frame(items)
    twice = pd.concat([rows, rows.assign(items=[(1.0, 7.0)] * 40)])
    (finding,) = reliabilities(twice)
    (alpha,) = finding.estimates
    assert alpha.n == 39, "two items have no omega"
    assert alpha.value == pytest.approx(float(cronbach_alpha(np.cov(items[1:], rowvar=False))))


def test_sessions_with_another_form_of_the_instrument_are_not_put_together() -> None:
    items = answers(40, [0.8, 0.7])
    earlier = [frame(answers(30, [0.8, 0.7, 0.6]), title="Old"), frame(items - 1, low=0, high=6)]
    every = pd.concat([*earlier, frame(items)]).assign(value=3.0, arms=[{}] * 110)
    every["_session"] = [f"p{number}" for number in range(110)]
    (finding,) = reliabilities(every)
    (alpha,) = finding.estimates
    assert (alpha.n, alpha.label) == (40, "X: S: Cronbach's alpha")
    (means,) = instrument_scores(every)
    assert (means.title, means.axis, means.estimates[0].n) == ("X: S", (1, 7), 40)
    assert "70" in means.note
