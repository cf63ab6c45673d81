"""CR2 and Satterthwaite's degrees of freedom: those of the definition, and those that one can compute by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import TrialError
from app.extensions.analysis.intervals import Codes, Values, codes
from app.extensions.trials.estimator import change_of, difference_of
from tests.fakes.clustered import by_definition, indicators

Arrays = tuple[Values, Values, Codes, Codes, Values]


def design(seed: int) -> Arrays:
    """Answers in any order: participants with one answer, questions that one person answered, or the same person
    several times; arms between or within participants; covariates that depend on each other, or mark one person."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(8, 25))
    people = codes(rng.permutation(np.repeat(np.arange(count), rng.integers(1, 7, count))))
    questions = codes(rng.integers(0, (3, 8, 20, 40)[seed % 4], people.size))
    of_people = rng.permutation(np.arange(count) % 2)[people]
    treated = of_people if seed % 3 else rng.integers(0, 2, people.size)
    age = rng.normal(40, 10, count)[people]
    covariates = ((), (age,), (age, rng.normal(size=people.size), 3 * age + 1), (age, people == 0))[seed // 3 % 4]
    table = np.column_stack([np.ones(people.size), *covariates])[:, 1:]
    return rng.normal(size=people.size), treated.astype(float), people, questions, table


def test_it_is_the_definition(soak: bool) -> None:
    compared = 0
    for seed in range(3_000 if soak else 120):
        value, treated, people, questions, covariates = design(seed)
        try:
            found = difference_of(value, treated, people, questions, covariates)
        except TrialError:
            continue
        wanted = by_definition(value, treated, people, np.column_stack([indicators(questions), covariates]))
        assert (found.estimate, found.standard_error**2, found.df) == pytest.approx(wanted, rel=1e-9, abs=1e-10), seed
        compared += 1
    assert compared > 90


def test_without_questions_it_is_the_definition_too() -> None:
    for seed in range(12):
        value, treated, people, _, covariates = design(seed)
        found = difference_of(value, treated, people, None, covariates)
        wanted = by_definition(value, treated, people, np.column_stack([np.ones(people.size), covariates]))
        assert (found.estimate, found.standard_error**2, found.df) == pytest.approx(wanted, rel=1e-10)
        change = change_of(value, people)
        wanted = by_definition(value, np.ones(people.size), people, np.zeros((people.size, 1)))
        assert (change.estimate, change.standard_error**2, change.df) == pytest.approx(wanted, rel=1e-10)


def test_an_estimate_that_rests_on_one_participant_is_refused() -> None:
    value, treated = np.random.default_rng(1).normal(size=9), np.arange(9) == 0
    with pytest.raises(TrialError, match="one participant"):
        difference_of(value, treated.astype(float), np.arange(9))
