"""The answers to survey questions, against values computed by hand, by pandas and by SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.estimates import Estimate
from app.extensions.analysis.survey import COLUMNS, survey_results
from experiments.study.fields import Field, LongText, MultipleChoiceField, Number, Scale, SingleChoice, Slider
from tests.fakes.figures import named

COLOURS = SingleChoice(name="colour", text="Which colour?", options={"r": "Red", "b": "Blue", "g": "Green"})
TRUST = Scale(type="scale", name="trust", text="I trust it.", options=[str(n) for n in range(1, 6)])
SECRET = "the words of one person"


def rows(field: Field | None, values: Sequence[Any], path: str = "survey", **arms: Sequence[str]) -> pd.DataFrame:
    name = field.name if field else "passed"
    given = [
        (path, name, field, value, {factor: some[n] for factor, some in arms.items()}, f"s{n}")
        for n, value in enumerate(values)
    ]
    return pd.DataFrame(given, columns=[*COLUMNS, SESSION], dtype="object")


def figures(*frames: pd.DataFrame) -> Mapping[str, Estimate]:
    return named(survey_results(pd.concat(frames)))


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval with Student's t, whose bounds solve (p - q)^2 = t^2 q(1 - q)/n' for the effective n' of n - 1
    degrees of freedom."""
    t, p = stats.t.ppf(0.975, n - 1), hits / n
    effective = n if hits in (0, n) else p * (1 - p) / (p * (1 - p) / (n - 1))
    middle, scale = p + t * t / (2 * effective), 1 + t * t / effective
    half = t * (p * (1 - p) / effective + t * t / (4 * effective**2)) ** 0.5
    return (middle - half) / scale, (middle + half) / scale


def test_a_choice_has_the_share_of_each_option_also_by_condition() -> None:
    values = ["r", "r", "b", "r", "b", "r", None, "b", "r", "r"]
    found = figures(rows(COLOURS, values, arm=list("aabbaabbab")))
    red = found["survey.share.colour.r"]
    assert (red.value, red.n, red.participants) == (6 / 9, 9, 9)
    assert (red.low, red.high) == pytest.approx(wilson(6, 9))
    assert (found["survey.share.colour.b"].value, found["survey.share.colour.g"].value) == (3 / 9, 0)
    assert (found["survey.share.colour.g"].low, found["survey.share.colour.g"].high) == pytest.approx(wilson(0, 9))
    a, b = found["survey.share.colour.r.arm.a"], found["survey.share.colour.r.arm.b"]
    assert (a.value, a.n, b.value, b.n) == (4 / 5, 5, 2 / 4, 4)
    assert (a.label, a.groups) == ("Red (arm: a)", {"option": "Red", "arm": "a"})


@pytest.mark.parametrize("field", [TRUST, Slider(name="trust"), Number(name="trust", minimum=0, integer=False)])
def test_numbers_have_their_mean_with_the_interval_of_t(field: Field) -> None:
    values = [4, 5, 2, 3, 3, 4, 1, 5]
    (one,) = figures(rows(field, values)).values()
    known = pd.Series(values)
    assert (one.name, one.value, one.n) == ("survey.mean.trust", known.mean(), 8)
    assert one.further["sd"] == pytest.approx(known.std())
    assert (one.low, one.high) == pytest.approx(stats.t.interval(0.95, 7, known.mean(), known.sem()))


def test_an_option_of_several_counts_in_each_answer_that_has_it() -> None:
    field = MultipleChoiceField(name="tools", options=["Pen", "Paper", "Phone"])
    found = figures(rows(field, [["Pen"], ["Pen", "Paper"], None, ["Phone", "Paper"], ["Pen"]]))
    assert {name.rpartition(".")[2]: one.value for name, one in found.items()} == {
        "Pen": 3 / 4, "Paper": 2 / 4, "Phone": 1 / 4,
    }  # fmt: skip
    assert {one.n for one in found.values()} == {4}


def test_free_texts_are_counted_and_appear_nowhere() -> None:
    findings = survey_results(rows(LongText(name="why"), [SECRET, None, f"{SECRET}, too"]))
    (one,) = findings[0].estimates
    assert (one.name, one.value, one.n) == ("survey.answers.why", 2, 2)
    assert SECRET not in repr(findings)


def test_a_check_has_the_share_that_passed_and_its_questions_their_answers() -> None:
    found = figures(rows(None, [True, True, False, True], "part/attention"), rows(COLOURS, ["b", "b", "r", "b"]))
    assert found["survey.passed.attention"].value == 3 / 4
    assert (found["survey.passed.attention"].low, found["survey.passed.attention"].high) == pytest.approx(wilson(3, 4))
    assert found["survey.share.colour.b"].value == 3 / 4


def test_answers_in_turns_of_a_loop_are_clustered_in_participants() -> None:
    first, second = [1, 5, 4, 2], [2, 5, 3, 1]
    (one,) = figures(rows(TRUST, first), rows(TRUST, second)).values()
    means = pd.Series([(a + b) / 2 for a, b in zip(first, second, strict=True)])
    assert (one.n, one.participants) == (8, 4)
    low, high = stats.t.interval(0.95, 3, means.mean(), means.sem())
    assert (one.low, one.high) == pytest.approx((max(1, low), min(5, high)))


def test_titles_and_options_show_no_markdown() -> None:
    field = SingleChoice(name="sure", text="**How** sure & `calm`?", options={"y": "*Very*", "n": "Not"})
    (finding,) = survey_results(rows(field, ["y", "y"]))
    assert (finding.title, finding.estimates[0].label) == ("How sure & calm?", "Very")
