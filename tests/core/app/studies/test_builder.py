"""The console's builder: whatever its form allows gives a sound study, or faults that name a field of the form."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.backends.providers import PROVIDERS
from app.backends.registry import names as backend_names
from app.bots.dry_run import estimate_by_simulation
from app.studies import builder_choices as choices
from app.studies.builder import (
    MOST_FACTORS,
    MOST_MODELS,
    MOST_QUESTIONS,
    RESERVED,
    Across,
    Answers,
    Confidence,
    FactorAnswers,
    ItemsFrom,
    ModelAnswers,
    QuestionAnswers,
    Use,
    build,
    check_answers,
    field_keys,
)
from app.studies.loader import PROTOCOLS, read_yaml
from app.studies.yaml_loader import parse_yaml
from experiments.study.base_model import AsTyped
from experiments.study.sections.recruitment import Bonus, OutcomeName, Recruiter
from problems.registry import names as source_names
from problems.text import clean

NOWHERE = Path("/nowhere")
SOUND = Answers(name="mine", title="Mine", consent="You agree.", take=2)
TABLE = "Question\tA\tB\tCorrect\tTopic\nWhat is 2 + 2?\t4\t5\tA\tsums\nWhat is 3 + 3?\t5\t6\t6\tsums\n"
TEXT = st.one_of(
    st.sampled_from(
        ["", "mine", "tone", "warm\ncold", "{{tone}} and {{model}}", "a: b # c", "yes", "1.10", "- x\n\n  y"]
    ),
    st.text(max_size=30).map(clean),
)
NAMES = st.one_of(st.sampled_from(["", "a", "a.b", "tone", "gpt-4.1", *RESERVED]), st.text(max_size=12).map(clean))
COUNTS = st.none() | st.integers(-1, 4) | st.integers()
MONEY = st.none() | st.sampled_from([0.1, 1, 0.001]) | st.floats(allow_nan=False, allow_infinity=False)


def one_of(found: tuple[choices.Choice, ...], *more: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*(one.value for one in found), *more])


ACROSS: st.SearchStrategy[Across] = st.sampled_from(get_args(Across))
MODELS = st.builds(ModelAnswers, NAMES, one_of(choices.server_choices(["lab"])), NAMES, TEXT)
FACTORS = st.builds(FactorAnswers, NAMES, TEXT, ACROSS)
QUESTIONS = st.builds(
    QuestionAnswers,
    use=st.sampled_from(get_args(Use)),
    type=st.sampled_from(sorted(choices.QUESTIONS)),
    text=TEXT,
    options=TEXT,
    correct=TEXT | st.sampled_from(["18-99", "18-", "-", "warm", "99-18"]),
    name=NAMES,
)
ANSWERS = st.builds(
    Answers,
    name=st.just("mine") | NAMES,
    protocols=st.lists(st.sampled_from(sorted(choices.protocols())), unique=True, max_size=3).map(tuple),
    protocols_across=ACROSS,
    confidence=st.sampled_from(get_args(Confidence)),
    items=st.sampled_from(get_args(ItemsFrom)),
    source=one_of(choices.sources()),
    path=TEXT,
    table=st.just(TABLE) | TEXT,
    take=COUNTS,
    order=one_of(choices.orders()),
    models=st.lists(MODELS, max_size=MOST_MODELS).map(tuple),
    models_across=ACROSS,
    system=TEXT,
    factors=st.lists(FACTORS, max_size=MOST_FACTORS).map(tuple),
    questions=st.lists(QUESTIONS, max_size=MOST_QUESTIONS).map(tuple),
    recruiter=one_of(choices.recruiters(), ""),
    places=COUNTS,
    reward=MONEY,
    currency=TEXT,
    bonus_per=one_of(choices.bonuses(), ""),
    bonus=MONEY,
    bonus_most=MONEY,
    codes=st.fixed_dictionaries({one.value: TEXT for one in choices.outcomes()}),
    title=TEXT,
    contact=TEXT,
    consent=TEXT,
    instructions=TEXT,
    finish=TEXT,
)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return float(value) if isinstance(value, AsTyped) else value


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(ANSWERS)
def test_any_answers_give_a_study_or_faults_of_fields(answers: Answers) -> None:
    found = check_answers(answers, NOWHERE)
    assert (found.study is None) == bool(found.issues)
    assert {issue.field for issue in (*found.issues, *found.advice)} <= field_keys(answers)
    built = build(answers)
    assert plain(parse_yaml(built.text).value) == plain(built.file), "the text says what was meant"


CHANGES: dict[str, dict[str, Any]] = {
    "as it begins": {},
    "between": {"protocols": ("answer-first", "direct-to-AI")},
    "within": {"protocols": ("answer-first", "direct-to-AI"), "protocols_across": "within"},
    "models between": {"models": (ModelAnswers("a"), ModelAnswers("b"))},
    "models within": {"models": (ModelAnswers("a"), ModelAnswers("b")), "models_across": "within"},
    "no model": {"protocols": ("user-alone",), "models": ()},
    "no items": {"protocols": ("side-by-side",), "items": "none", "models": (ModelAnswers("a"), ModelAnswers("b"))},
    "conversations": {"protocols": ("label-turns",), "source": "dices", "models": ()},
    "typed": {"items": "typed", "table": TABLE},
    "factors": {
        "factors": (FactorAnswers("tone", "warm\ncold"), FactorAnswers("effort", "low\nhigh", "within")),
        "system": "Be {{tone}}, with {{effort}} effort.",
    },
    "questions": {
        "questions": (
            QuestionAnswers("screening", "number", "How old are you?", correct="18-99"),
            QuestionAnswers("comprehension", text="How many items are there?", options="1\n2", correct="2"),
            QuestionAnswers("before", "scale", "How well do you know the topic?", "Not\nSomewhat\nWell", name="known"),
            QuestionAnswers("attention", "multiple_choice", "Choose both.", "A\nB", "A\nB"),
            QuestionAnswers("after", "long_text", "What did you think of it?"),
            QuestionAnswers("after", text="Would you do it again?", options="Yes\nNo", name="again"),
        )
    },
    "confidence after": {"confidence": "after", "protocols": ("answer-first", "direct-to-AI")},
    "confidence before and after": {"confidence": "both"},
    "confidence before": {"confidence": "before"},
    "paid": {
        "recruiter": "prolific",
        "places": 60,
        "reward": 5.0,
        "bonus_per": "correct_answer",
        "bonus": 0.1,
        "codes": {"complete": "C1"},
    },
}


COMPARED: dict[str, Any] = {"protocols": ("side-by-side",), "models": CHANGES["models between"]["models"]}


def with_(**changes: Any) -> Answers:
    return Answers(**{**{name: getattr(SOUND, name) for name in ("name", "title", "consent", "take")}, **changes})


@pytest.mark.parametrize("case", CHANGES)
def test_each_design_is_sound_and_can_be_finished(case: str) -> None:
    found = check_answers(with_(**CHANGES[case]), NOWHERE)
    assert found.issues == ()
    assert found.study
    assert asyncio.run(estimate_by_simulation(found.study, 2, 300)).typical_minutes > 0


def test_a_model_has_the_prompt_of_all_or_one_of_its_own() -> None:
    models = (ModelAnswers("a", system="Be brief."), ModelAnswers("b"))
    study = check_answers(with_(models=models, system="Be kind."), NOWHERE).study
    assert study
    assert {name: model.system for name, model in study.file.models.items()} == {"a": "Be brief.", "b": "Be kind."}


def test_what_varies_within_participants_is_met_by_each() -> None:
    study = check_answers(with_(**CHANGES["within"]), NOWHERE).study
    assert study
    assert study.factors == {}
    loop = study.file.flow[1]
    assert loop.vary == {"condition": ("answer-first", "direct-to-AI")}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "no name!"}, "name"),
        ({"protocols": ()}, "protocols"),
        ({"items": "file", "path": "mine.csv"}, "path"),
        ({"items": "typed", "table": "Question,A,B,Correct\nWhy?,x,y,z"}, "table"),
        ({"take": 0}, "take"),
        ({"models": (ModelAnswers("a"), ModelAnswers("a"))}, "models.1.name"),
        ({"models": (ModelAnswers("a"), ModelAnswers("b", system="Be {{kind}}."))}, "models.1.system"),
        ({"factors": (FactorAnswers("model", "a\nb"),)}, "factors.0.name"),
        ({"places": -1}, "places"),
        ({"confidence": "before", **COMPARED}, "confidence"),
        ({"questions": (QuestionAnswers(options="a\nb"),)}, "questions.0.text"),
        ({"questions": (QuestionAnswers(type="long_text", text="Why?", name="a b"),)}, "questions.0.name"),
        ({"questions": (QuestionAnswers("attention", text="1?", options="1\n2"),)}, "questions.0.correct"),
        ({"questions": (QuestionAnswers(type="long_text", text="Why?", name="a"),) * 2}, "questions.1.name"),
        ({"bonus_per": "completion", "bonus": 0.001}, "bonus"),
        ({"instructions": "Hello {{name}}"}, "instructions"),
        ({"instructions": "x" * 300_000}, "instructions"),
    ],
)
def test_a_fault_names_its_field(changes: dict[str, Any], field: str) -> None:
    assert {issue.field for issue in check_answers(with_(**changes), NOWHERE).issues} == {field}


def test_confidence_is_asked_for_when_it_is_wanted() -> None:
    asked = {}
    for when in get_args(Confidence):
        study = check_answers(with_(confidence=when, protocols=("answer-first",)), NOWHERE).study
        assert study
        loop = study.flow[1]
        asked[when] = [
            step.id
            for step in loop.flow  # type: ignore[union-attr]
            if step.id == "confidence" or getattr(step, "ask_confidence", False)
        ]
    after = ["alone", "with_ai"]
    assert asked == {"": ["confidence"], "before": ["confidence"], "after": after, "both": ["confidence", *after]}


def test_two_things_that_would_change_together_are_refused() -> None:
    both = {**CHANGES["within"], **CHANGES["models within"]}
    assert [issue.field for issue in check_answers(with_(**both), NOWHERE).issues] == ["models_across"]


def test_a_warning_names_its_field() -> None:
    found = check_answers(with_(recruiter="prolific", consent=""), NOWHERE)
    assert {one.field for one in found.advice} == {"consent", "codes.complete", "codes.withdrawn"}


def test_what_is_offered_is_what_there_is() -> None:
    assert sorted(choices.protocols()) == sorted(read_yaml(path)["protocol"] for path in PROTOCOLS.glob("*.yaml"))
    assert {one.value for one in choices.sources()} == set(source_names()) == set(choices.SOURCES)
    offered = {one.value.partition("@")[0] for one in choices.server_choices()}
    by_hand = {"http"}
    assert offered | by_hand | set(choices.SIMULATED) == set(backend_names())
    assert {name for _, _, name in (one.value.partition("@") for one in choices.server_choices()) if name} == {
        *PROVIDERS
    }
    for labels, kind in ((choices.RECRUITERS, Recruiter), (choices.BONUSES, Bonus.model_fields["per"].annotation)):
        assert set(labels) == set(get_args(kind)), "no label is stale, and none is lacking"
    assert {one.value for one in choices.outcomes()} == set(get_args(OutcomeName))
    assert {one.value for one in choices.orders()} == set(choices.ORDERS)
    assert set(choices.COMMON) <= set(choices.protocols())
