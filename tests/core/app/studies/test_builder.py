"""The console's builder: whatever its form allows gives a sound study, or faults that name a field of the form."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.backends.providers import PROVIDERS
from app.backends.registry import BACKENDS
from app.bots.dry_run import estimate_by_simulation
from app.studies import builder
from app.studies.builder import (
    SHOWN,
    Answers,
    FormField,
    check_answers,
    form_fields,
    lines,
    protocols,
    server_choices,
    write,
)
from app.studies.loader import PROTOCOLS, read_yaml
from app.studies.yaml_loader import parse_yaml
from experiments.study.schema import Loop
from experiments.study.sections.recruitment import Bonus, Recruiter
from problems.registry import names as source_names
from problems.text import clean
from storage.schemas.registry import schemas

NOWHERE = Path("/nowhere")
FIELDS = form_fields(["lab"])
TEXT = st.one_of(
    st.sampled_from(
        ["", "mine", "a.b", "gpt-4.1", "warm\ncold", "{{tone}} and {{model}}", "a: b # c", "1.10", "- x\n\n  y"]
    ),
    st.text(max_size=30).map(clean),
)


def answers_to(field: FormField) -> st.SearchStrategy[Any]:
    match field.kind:
        case "whole number":
            return st.none() | st.integers(-1, 4) | st.integers()
        case "number":
            amounts = st.sampled_from([0.1, 1, 0.001]) | st.floats(allow_nan=False, allow_infinity=False)
            return st.none() | amounts
        case "boxes":
            return st.lists(st.sampled_from(sorted(field.choices)), unique=True, max_size=3)
        case "radio" | "list":
            return st.sampled_from([*field.choices])
        case _:
            return TEXT


ANSWERS = st.fixed_dictionaries({field.key: answers_to(field).map(field.read) for field in FIELDS})


def asking(*questions: dict[str, str]) -> dict[str, str]:
    keys = {f"questions.{number}.{key}": value for number, one in enumerate(questions) for key, value in one.items()}
    return {"question_count": str(len(questions)), **keys}


def with_(**changes: Any) -> Answers:
    sound = {"name": "mine", "title": "Mine", "consent": "You agree.", "take": 2}
    return {**{field.key: field.read(field.value) for field in FIELDS}, **sound, **changes}


def scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        yield from (text for part in parts for text in scalars(part))
    else:
        yield str(value)


def meant(answers: Answers) -> Iterator[str]:
    """The texts that the file has to have; of several questions of one name those of the first."""
    shown = [field for field in FIELDS if SHOWN.get(field.row, bool)(answers) and "s." not in field.key]
    yield from (answers[field.key] for field in shown if field.kind in ("line", "area") and field.key != "system")
    yield answers["system"] if int(answers["model_count"]) else ""
    names = set()
    for number in range(int(answers["question_count"])):
        one = {key: answers[f"questions.{number}.{key}"] for key in ("use", "name", "text", "type", "options")}
        name = one["use"], one["name"] or f"question_{number + 1}"
        if name not in names:
            yield one["text"]
            yield from lines(one["options"]) if one["type"] in builder.WITH_OPTIONS else ()
        names.add(name)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(ANSWERS)
def test_any_answers_give_a_study_or_faults_of_fields(answers: Answers) -> None:
    found = check_answers(answers, NOWHERE)
    assert (found.study is None) == bool(found.issues)
    assert {issue.field for issue in (*found.issues, *found.advice)} <= answers.keys()
    assert {*meant(answers)} <= {*scalars(parse_yaml(found.text).value), ""}, "the text says what was meant"


TWO_PROTOCOLS = {"protocols": ["answer-first", "direct-to-AI"]}
TWO_MODELS = {"model_count": "2", "models.0.name": "a", "models.1.name": "b"}
CHANGES: dict[str, dict[str, Any]] = {
    "as it begins": {},
    "between": TWO_PROTOCOLS,
    "within": {**TWO_PROTOCOLS, "protocols_across": "within"},
    "models between": TWO_MODELS,
    "models within": {**TWO_MODELS, "models_across": "within"},
    "no model": {"protocols": ["user-alone"], "model_count": "0"},
    "no items": {"protocols": ["side-by-side"], "items": "none", **TWO_MODELS},
    "conversations": {"protocols": ["label-turns"], "source": "dices", "model_count": "0"},
    "questions": asking(
        {"use": "screening", "type": "number", "text": "How old are you?", "correct": "18-99"},
        {"use": "comprehension", "text": "How many items are there?", "options": "1\n2", "correct": "2"},
        {
            "use": "before",
            "type": "scale",
            "text": "Do you know it?",
            "options": "Not\nSomewhat\nWell",
            "name": "known",
        },
        {"use": "attention", "type": "multiple_choice", "text": "Both.", "options": "A\nB", "correct": "A\nB"},
        {"type": "long_text", "text": "What did you think of it?"},
        {"text": "Would you do it again?", "options": "Yes\nNo", "name": "again"},
    ),
    "confidence after": {"confidence": "after", **TWO_PROTOCOLS},
    "confidence before and after": {"confidence": "both"},
    "confidence before": {"confidence": "before"},
    "shuffled and kept": {"options": ["shuffled"], "export_schemas": ["chatbench"]},
    "paid": {
        "recruiter": "prolific",
        "places": 60,
        "bonus_per": "correct_answer",
        "bonus": 0.1,
        "codes.complete": "C1",
    },
}


@pytest.mark.parametrize("case", CHANGES)
def test_each_design_is_sound_and_can_be_finished(case: str) -> None:
    found = check_answers(with_(**CHANGES[case]), NOWHERE)
    assert found.issues == ()
    assert found.study
    assert "\n\n\n" not in found.text, "no needless lines"
    assert "\n\n" not in found.text.partition("\nflow:")[2].rstrip("\n")
    assert found.study.file.export_schemas == tuple(CHANGES[case].get("export_schemas", ()))
    pool = found.study.file.problems.get("questions")
    assert pool is None or (pool.options == "shuffled") == ("options" in CHANGES[case])
    assert asyncio.run(estimate_by_simulation(found.study, 2, 300)).typical_minutes > 0


def test_what_varies_within_participants_is_met_by_each() -> None:
    study = check_answers(with_(**CHANGES["within"]), NOWHERE).study
    assert study
    assert study.factors == {}
    loop = study.file.flow[1]
    assert loop.vary == {"condition": ("answer-first", "direct-to-AI")}  # type: ignore[union-attr]


def test_questions_are_asked_where_they_belong() -> None:
    flow = parse_yaml(write(with_(instructions="Work.", **CHANGES["questions"]))[0]).value["flow"]
    asked = [(node.get("step"), node.get("kind"), [*node.get("correct_answers", {}).values()]) for node in flow]
    assert asked == [
        ("consent", None, []),
        ("check", "screening", [{"minimum": 18, "maximum": 99}]),
        ("info", None, []),
        ("check", "comprehension", ["2"]),
        ("survey", None, []),
        (None, None, []),
        ("check", "attention", [["A", "B"]]),
        ("survey", None, []),
        ("finish", None, []),
    ]
    assert [(one["type"], one["name"], one.get("options")) for one in flow[-2]["questions"]] == [
        ("long_text", "question_5", None),
        ("single_choice", "again", ["Yes", "No"]),
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "no name!"}, "name"),
        ({"name": ""}, "name"),
        ({"protocols": []}, "protocols"),
        ({"items": "file"}, "path"),
        ({"items": "file", "path": "mine.csv"}, "path"),
        ({"take": 0}, "take"),
        ({**CHANGES["within"], "take": 1}, "take"),
        ({**TWO_MODELS, "models.1.name": "a"}, "models.1.name"),
        ({"models.0.server": ""}, "models.0.server"),
        ({"system": "Be {{kind}}."}, "system"),
        ({**CHANGES["within"], **CHANGES["models within"]}, "protocols_across"),
        ({"places": -1}, "places"),
        ({**TWO_MODELS, "protocols": ["side-by-side"], "confidence": "before"}, "confidence"),
        (asking({"options": "a\nb"}), "questions.0.text"),
        (asking({"text": "Why?", "options": "a"}), "questions.0.options"),
        (asking({"text": "Why {{name}}?", "options": "a\nb"}), "questions.0.text"),
        (asking({"type": "long_text", "text": "Why?", "name": "a b"}), "questions.0.name"),
        (asking({"use": "attention", "text": "1?", "options": "1\n2"}), "questions.0.correct"),
        (asking({"use": "attention", "text": "1?", "options": "1\n2", "correct": "3"}), "questions.0.correct"),
        (asking(*[{"type": "long_text", "text": "Why?", "name": "a"}] * 2), "questions.1.name"),
        ({"codes.complete": "C1", "codes.withdrawn": "C1"}, "codes.withdrawn"),
        ({"bonus_per": "completion"}, "bonus"),
        ({"bonus_per": "completion", "bonus": 0.001}, "bonus"),
        ({"instructions": "Hello {{name}}"}, "instructions"),
        ({"instructions": "x" * 300_000}, "instructions"),
    ],
)
def test_a_fault_names_its_field(changes: dict[str, Any], field: str) -> None:
    assert {issue.field for issue in check_answers(with_(**changes), NOWHERE).issues} == {field}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"contact": "Ann, in room 2"}, "contact"),
        ({"recruiter": "lab", "bonus_per": "answer", "bonus": 2, "bonus_most": 1}, "bonus_most"),
    ],
)
def test_a_warning_names_its_field(changes: dict[str, Any], field: str) -> None:
    before = {issue.field for issue in check_answers(with_(), NOWHERE).advice}
    assert {issue.field for issue in check_answers(with_(**changes), NOWHERE).advice} - before == {field}


def test_what_is_offered_is_what_there_is() -> None:
    labels = builder.words()["labels"]
    assert sorted(protocols()) == sorted(read_yaml(path)["protocol"] for path in PROTOCOLS.glob("*.yaml"))
    assert set(labels["sources"]) == set(source_names())
    offered = next(field for field in FIELDS if field.key == "protocols").choices
    assert tuple(offered)[:3] == builder.COMMON
    assert set(offered) == set(protocols())
    by_hand, servers = {"http"}, server_choices()
    assert {one.partition("@")[0] for one in servers} | by_hand | set(builder.SIMULATED) == {*BACKENDS.all()}
    assert {name for name in (one.partition("@")[2] for one in servers) if name} == {*PROVIDERS}
    for kind, values in (
        ("schemas", schemas()),
        ("recruiters", ("", *get_args(Recruiter))),
        ("bonuses", ("", *get_args(Bonus.model_fields["per"].annotation))),
        ("orders", get_args(Loop.model_fields["order"].annotation)),
    ):
        assert set(labels[kind]) == set(values), "no label is stale, and none is lacking"
