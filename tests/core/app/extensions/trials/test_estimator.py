"""The trial's estimator and tests: equal to statsmodels and scipy, to CR2's definition, and to cases by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind

from app.errors import TrialError
from app.extensions.analysis.intervals import Codes, Values, benjamini_hochberg, codes, holm
from app.extensions.trials.estimator import change_of, difference, difference_of, level_of, p_of, paired, shown
from experiments.study.sections.plan import Direction
from tests.fakes.clustered import by_definition, indicators


def trial(seed: int, people: int = 30, answers: int = 4) -> pd.DataFrame:
    """Answers to questions drawn unequally often, with a covariate of people and one of answers."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.integers(1, answers + 1, people))
    ability, age = rng.normal(size=people), rng.normal(40, 10, people)
    arm = rng.permutation(np.arange(people) % 2)
    question = rng.integers(0, 5, person.size)
    value = arm[person] * 0.4 + ability[person] + question * 0.3 + 0.02 * age[person] + rng.normal(size=person.size)
    return pd.DataFrame({
        "participant": [f"p{one}" for one in person],
        "arm": np.where(arm[person] == 1, "treatment", "control"),
        "value": value,
        "question": [f"q{one}" for one in question],
        "age": age[person],
        "device": rng.choice(["desk", "phone", "tablet"], person.size),
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("terms", "covariates"), [("", ()), ("+ C(question)", ()), ("+ C(question) + age + C(device)", ("age", "device"))]
)
def test_it_is_statsmodels_least_squares_with_an_error_for_few_clusters(
    seed: int, terms: str, covariates: tuple[str, ...]
) -> None:
    rows = trial(seed)
    used = rows if "question" in terms else rows.drop(columns="question")
    found = difference(used, covariates=covariates)
    model, name = OLS.from_formula(f"value ~ C(arm) {terms}", rows), "C(arm)[T.treatment]"
    at, people = model.exog_names.index(name), pd.factorize(rows["participant"])[0]
    _, variance, df = by_definition(model.endog, model.exog[:, at], people, np.delete(model.exog, at, axis=1))
    assert found.estimate == pytest.approx(model.fit().params[name], abs=1e-9)
    assert (found.standard_error**2, found.df) == pytest.approx((variance, df), rel=1e-10)
    t = found.estimate / found.standard_error
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), found.df), abs=1e-9)
    assert p_of(found, "greater") == pytest.approx(stats.t.sf(t, found.df), abs=1e-9)


def test_one_row_for_each_of_equally_many_is_the_t_test() -> None:
    values = {"treatment": [3.0, 5.0, 4.0, 8.0], "control": [1.0, 2.0, 6.0, 3.0]}  # means 5 and 3
    rows = pd.DataFrame([(f"{arm}{n}", arm, v) for arm, of in values.items() for n, v in enumerate(of)])
    found = difference(rows.set_axis(["participant", "arm", "value"], axis=1))
    theirs = stats.ttest_ind(values["treatment"], values["control"])
    assert (found.n, found.participants) == (8, {"treatment": 4, "control": 4})
    assert found.estimate == pytest.approx(2.0)
    assert found.standard_error == pytest.approx(((14 / 3 + 14 / 3) / 4) ** 0.5)  # variances 14/3 and 14/3 of four each
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert found.interval() == pytest.approx(tuple(theirs.confidence_interval()), abs=1e-9)
    assert found.raw == (5.0, 3.0)


def test_a_change_is_the_paired_t_test() -> None:
    before, after = [1.0, 2.0, 4.0, 3.0], [2.0, 4.0, 4.0, 6.0]
    wide = pd.DataFrame({"participant": list("abcd"), "before": before, "after": after})
    found = paired(wide.melt("participant", var_name="moment"))
    theirs = stats.ttest_rel(after, before)
    assert (found.estimate, found.participants) == (1.5, {"all": 4})
    assert found.df == pytest.approx(3)
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(("change", "part"), [({"arm": "control"}, "treatment"), ({"value": 1.0}, "equal")])
def test_what_cannot_be_estimated_is_refused(change: dict[str, object], part: str) -> None:
    with pytest.raises(TrialError, match=part):
        difference(trial(2).assign(**change))


def test_equivalence_and_non_inferiority_are_the_two_one_sided_tests() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.1, 1, 50), rng.normal(0, 1, 50)
    rows = pd.DataFrame({
        "participant": range(100), "arm": ["treatment"] * 50 + ["control"] * 50, "value": [*a, *b],
    })  # fmt: skip
    found = difference(rows)
    p, (_, p1, _), (_, p2, _) = ttost_ind(a, b, -0.5, 0.5)
    assert p_of(found, "equivalent", 0.5) == pytest.approx(p, abs=1e-9)
    assert level_of("equivalent", 0.05) == pytest.approx(0.9)
    assert p_of(found, "not_worse", 0.5) == pytest.approx(p1, abs=1e-9)
    assert max(p1, p2) == p
    assert p_of(found, "different") == pytest.approx(found.p, abs=1e-12)
    greater = stats.ttest_ind(a, b, alternative="greater").pvalue
    assert p_of(found, "greater") == pytest.approx(greater, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_corrections_are_those_of_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).uniform(0, 0.2, 7).round(2)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-9)
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1], abs=1e-9)


@pytest.mark.parametrize("direction", ["greater", "less", "different", "equivalent", "not_worse"])
def test_an_interval_of_the_tests_level_shows_what_the_test_shows(direction: Direction) -> None:
    ends, rows = set(), trial(4, 60)
    for shift in np.linspace(-2, 2, 9):
        found = difference(rows.assign(value=rows["value"] + shift * (rows["arm"] == "treatment")))
        rejected = p_of(found, direction, 1.0) <= 0.05
        assert shown(*found.interval(level_of(direction, 0.05)), direction, 1.0) == rejected
        ends.add(rejected)
    assert ends == {False, True}


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
