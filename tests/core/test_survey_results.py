"""The answers to survey questions, against values computed by hand, by pandas and by SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from app.analysis.data_frames import SESSION
from app.analysis.estimates import Estimate, Finding
from app.analysis.figure_names import patterns
from app.analysis.report.arrangement import sections
from app.analysis.report.grid import grid
from app.analysis.results import NAMES
from app.analysis.survey.survey_results import COLUMNS, survey_results
from experiments.study.fields import (
    KINDS,
    Checkbox,
    Field,
    LongText,
    MultipleChoiceField,
    Number,
    Scale,
    ShortText,
    SingleChoice,
    Slider,
)
from experiments.study.instrument import ItemOnLine, ItemOnPoints

COLOURS = SingleChoice(name="colour", text="Which colour?", options={"r": "Red", "b": "Blue", "g": "Green"})
TRUST = Scale(type="scale", name="trust", text="I trust it.", options=[str(n) for n in range(1, 6)])
ITEM = {"instrument": "x", "item": "1"}
SECRET = "the words of one person"


def rows(field: Field | None, values: Sequence[Any], path: str = "survey", **arms: Sequence[str]) -> pd.DataFrame:
    """One answer of each person, in the arms given."""
    name = field.name if field else "passed"
    given = [
        (path, name, field, value, {factor: some[n] for factor, some in arms.items()}, f"s{n}")
        for n, value in enumerate(values)
    ]
    return pd.DataFrame(given, columns=[*COLUMNS, SESSION], dtype="object")


def figures(*frames: pd.DataFrame) -> Mapping[str, Estimate]:
    found = [one for finding in survey_results(pd.concat(frames)) for one in finding.estimates]
    assert len({one.name for one in found}) == len(found)
    assert all(len(patterns(one.name, NAMES)) == 1 for one in found)
    return {one.name: one for one in found}


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


def test_a_box_that_is_not_ticked_is_an_answer() -> None:
    (one,) = figures(rows(Checkbox(name="news", required=False), [True, None, True, None, None])).values()
    assert (one.name, one.value, one.n) == ("survey.share.news.ticked", 2 / 5, 5)


def test_free_texts_are_counted_and_appear_nowhere() -> None:
    findings = survey_results(rows(LongText(name="why"), [SECRET, None, f"{SECRET}, too"]))
    (one,) = findings[0].estimates
    assert (one.name, one.value, one.n) == ("survey.answers.why", 2, 2)
    assert SECRET not in repr(findings)


def test_a_text_of_an_earlier_version_does_not_become_an_option() -> None:
    frame = pd.concat([rows(ShortText(name="colour"), [SECRET]), rows(COLOURS, ["r", "b"])])
    (finding,) = survey_results(frame)
    assert {one.n for one in finding.estimates} == {2}
    assert "colour 1" in finding.note
    assert SECRET not in repr(finding)


def test_options_of_earlier_versions_follow_the_newest_ones() -> None:
    older = SingleChoice(name="colour", options={"y": "Yellow", "r": "RED"})
    found = figures(rows(older, ["y", "r"]), rows(COLOURS, ["b", "r"]))
    assert [one.label for one in found.values()] == ["Red", "Blue", "Green", "Yellow"]
    assert sum(one.value for one in found.values()) == 1


def test_a_check_has_the_share_that_passed_and_its_questions_their_answers() -> None:
    found = figures(rows(None, [True, True, False, True], "part/attention"), rows(COLOURS, ["b", "b", "r", "b"]))
    assert found["survey.passed.attention"].value == 3 / 4
    assert (found["survey.passed.attention"].low, found["survey.passed.attention"].high) == pytest.approx(wilson(3, 4))
    assert found["survey.share.colour.b"].value == 3 / 4


def test_questions_of_one_name_have_their_path_in_theirs() -> None:
    found = figures(rows(TRUST, [1, 2], "before"), rows(TRUST, [4, 5], "turn[*]/after"))
    assert {name: one.value for name, one in found.items()} == {
        "survey.mean.before_trust": 1.5, "survey.mean.turn_after_trust": 4.5,
    }  # fmt: skip


def test_answers_in_turns_of_a_loop_are_clustered_in_participants() -> None:
    """With as many answers of each, the interval is that of the participants' means."""
    first, second = [1, 5, 4, 2], [2, 5, 3, 1]
    (one,) = figures(rows(TRUST, first), rows(TRUST, second)).values()
    means = pd.Series([(a + b) / 2 for a, b in zip(first, second, strict=True)])
    assert (one.n, one.participants) == (8, 4)
    low, high = stats.t.interval(0.95, 3, means.mean(), means.sem())
    assert (one.low, one.high) == pytest.approx((max(1, low), min(5, high)))


def check_places(findings: Sequence[Finding]) -> None:
    """Each estimate is in one cell of a table."""
    for section in sections(findings):
        for finding in section.findings:
            if table := grid(finding):
                cells = [one.name for row in table.rows for one in row.cells if one]
                assert sorted(cells) == sorted(one.name for one in finding.estimates)


def test_factors_and_options_with_equal_texts_share_no_cell() -> None:
    same = SingleChoice(name="same", options={"1": "Yes", "2": "Yes"})
    arms = {"hint": ["yes", "no", "yes", "no"], "timer": ["yes", "yes", "no", "no"]}
    findings = survey_results(pd.concat([rows(same, list("1212"), **arms), rows(TRUST, [1, 2, 3, 4], **arms)]))
    check_places(findings)
    assert {len(finding.estimates) for finding in findings} == {2 * 5, 5}


def test_questions_on_one_scale_in_one_survey_are_one_figure() -> None:
    other = TRUST.model_copy(update={"name": "like", "text": "I trust it."})
    findings = survey_results(
        pd.concat([rows(TRUST, [1, 2]), rows(other, [3, 3]), rows(Slider(name="feel"), [50, 60])])
    )
    assert [[one.name for one in finding.estimates] for finding in findings] == [
        ["survey.mean.trust", "survey.mean.like"], ["survey.mean.feel"],
    ]  # fmt: skip
    check_places(findings)


def test_a_question_that_nobody_answered_has_no_figure_but_a_note() -> None:
    (finding,) = survey_results(rows(COLOURS, [None, None]))
    assert finding.estimates == ()
    assert "colour 2 of 2" in finding.note
    assert survey_results(rows(COLOURS, [])) == ()


def test_a_survey_has_no_main_result() -> None:
    (section,) = sections(survey_results(rows(TRUST, [1, 2, 3] * 10)))
    assert section.main == ()


SUMMARISED: Mapping[type[Field], tuple[Field, Sequence[Any], Sequence[str]]] = {
    SingleChoice: (COLOURS, ["r", "b"], ["share.colour.r", "share.colour.b", "share.colour.g"]),
    MultipleChoiceField: (
        MultipleChoiceField(name="x", options=["1", "2"]),
        [["1"], ["2"]],
        ["share.x.1", "share.x.2"],
    ),
    Scale: (TRUST, [1, 2], ["mean.trust"]),
    Number: (Number(name="x"), [1, 2], ["mean.x"]),
    Slider: (Slider(name="x"), [1, 2], ["mean.x"]),
    ShortText: (ShortText(name="x"), ["a", "b"], ["answers.x"]),
    LongText: (LongText(name="x"), ["a", "b"], ["answers.x"]),
    Checkbox: (Checkbox(name="x"), [True, True], ["share.x.ticked"]),
    ItemOnPoints: (ItemOnPoints(name="x", options=["1", "2"], **ITEM), ["1", "2"], ["mean.x"]),
    ItemOnLine: (ItemOnLine(name="x", **ITEM), [1, 2], ["mean.x"]),
}
"""How each type of field is summarised: a field, answers as the log has them, and the names of its figures."""


def test_every_type_of_field_that_can_be_asked_is_summarised() -> None:
    """A further type needs a decision here, or it would only be counted."""
    assert SUMMARISED.keys() == {*KINDS, ItemOnPoints, ItemOnLine}


@pytest.mark.parametrize("kind", SUMMARISED)
def test_a_field_has_the_figures_of_its_type(kind: type[Field]) -> None:
    field, values, names = SUMMARISED[kind]
    assert list(figures(rows(field, values))) == [f"survey.{name}" for name in names]


def test_points_in_words_have_shares() -> None:
    words = Scale(type="scale", name="often", options=["never", "always"])
    assert list(figures(rows(words, ["never", "always"]))) == ["survey.share.often.never", "survey.share.often.always"]
