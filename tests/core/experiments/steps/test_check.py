"""Checks: what passes, what becomes of who does not, what is told of it, and what is refused in a study's file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.participant.view import StudyContext, render_page
from experiments.errors import Refused, StudyError
from experiments.session.state import current_location
from experiments.study.resolve import restore
from experiments.study.screen import NoticeBlock, Screen
from experiments.study.step import Step
from tests.fakes.checked import BAD, CHOICE, GOOD, PROBLEMS, check
from tests.fakes.driven import Driven, small


def notices(seen: Screen) -> list[NoticeBlock]:
    return [block for block in seen.panel.blocks if isinstance(block, NoticeBlock)]


def test_a_missed_try_tells_how_many_are_left_and_which_questions_but_nothing_that_is_right() -> None:
    session = Driven(small(check(attempts=3))).do(**BAD)
    (fact,) = session.facts("missed")
    assert fact.data["values"]["tools"] == "yes"
    assert fact.data["wrong"] == ["tools", "parts"]
    seen = session.screen
    (notice,) = notices(seen)
    assert notice == NoticeBlock(
        "You have 2 more attempts. The answers to these questions are not correct yet:",
        ("May you use *tools*?", "What will you do?"),
    )
    assert seen.panel.blocks[0] == notice
    assert [field.name for field in seen.panel.fields] == ["tools", "parts", "age", "any"]
    (last,) = notices(session.do(**{**GOOD, "age": "31"}).screen)
    assert last == NoticeBlock(
        "You have one more attempt. The answers to these questions are not correct yet:", ("How old are you?",)
    )


@pytest.mark.parametrize(
    ("kind", "keys", "outcome"),
    [
        ("screening", {}, "screened_out"),
        ("comprehension", {}, "screened_out"),
        ("attention", {"policy": "screen_out"}, "failed_attention"),
        ("attention", {}, "complete"),
        ("comprehension", {"policy": "record"}, "complete"),
    ],
)
def test_the_policy_says_how_it_ends_for_who_never_passes(kind: str, keys: dict[str, Any], outcome: str) -> None:
    session = Driven(small(check(kind, **keys)))
    while not session.state.outcome:
        assert session.actions == ("submit",)
        session.do(**BAD)
    assert session.screen.outcome == outcome
    (fact,) = session.facts("submitted")
    assert (fact.data["passed"], fact.data["tries"]) == (False, 2 if kind == "comprehension" else 1)
    with pytest.raises(Refused):
        session.do(**GOOD)


def test_who_is_screened_out_was_told_nothing_of_it() -> None:
    session = Driven(small(check("screening"))).do(**BAD)
    assert session.facts("missed") == []
    last = session.screen
    assert last.panel.title == "You are not eligible for this study"
    painted = render_page(last, study=StudyContext("Small"), shown=None, draft={})
    told = repr(last) + json.dumps({**painted, "updates": {**painted["updates"], "head": ""}})
    assert last.ended
    assert not any(word in told for word in ("tools", "answer", "sing", "old"))


@pytest.mark.parametrize("after", [1, 2, 3])
def test_attention_counts_over_the_session(after: int) -> None:
    first = check("attention", id="first", policy="record")
    second = check("attention", id="second", policy="screen_out", after_failures=after)
    third = check("attention", id="third", policy="screen_out", after_failures=after)
    session = Driven(small(check("comprehension", id="other", policy="record"), first, second, third))
    while not session.state.outcome:
        session.do(**BAD)
    assert session.state.outcome == "failed_attention"
    assert session.last.path == ("second" if after < 3 else "third"), "other checks do not count"


@pytest.mark.parametrize(
    ("question", "right", "passing", "failing"),
    [
        ({"type": "single_choice", "options": [1, 2]}, 1, ["1"], ["2"]),
        ({"type": "scale", "options": {"-1": "bad", "1": "good", "2": "fine"}}, {"minimum": 1}, ["1", "2"], ["-1"]),
        ({"type": "number", "integer": False}, [0.5, 3], ["0.50", "3"], ["0.6"]),
        ({"type": "short_text"}, ["Deep blue", "navy"], ["deep  BLUE", " Navy"], ["deepblue"]),
        ({"type": "checkbox", "required": False}, True, ["on"], [None]),
        ({"type": "multiple_choice", "options": ["a", "b"], "required": False}, [], [None], [["a"]]),
        ({"type": "multiple_choice", "options": ["a", "b"]}, "b", [["b"]], [["a", "b"], ["a"]]),
    ],
)
def test_what_passes(question: dict[str, Any], right: Any, passing: list[Any], failing: list[Any]) -> None:
    asked = {"name": "it", "text": "?", **question}
    study = small(check("attention", questions=[asked], correct_answers={"it": right}))
    again = restore(study.document)
    for value in (*passing, *failing):
        (fact,) = Driven(again).do(it=value).facts("submitted")
        assert fact.data["passed"] == (value in passing), value
    session = Driven(study)
    place = current_location(study, session.state)
    assert place is not None
    assert isinstance(place.node, Step)
    session.do(**place.node.passing(place))
    assert session.facts("submitted")[0].data["passed"] is True, "so simulated participants know what passes"


answers = st.fixed_dictionaries(
    {
        "tools": st.sampled_from(["yes", "no"]),
        "parts": st.lists(st.sampled_from(["talk", "answer", "sing"]), min_size=1, max_size=3),
        "age": st.integers(10, 40).map(str),
    }
)


def is_right(given: dict[str, Any]) -> bool:
    return given["tools"] == "no" and {*given["parts"]} == {"talk", "answer"} and 18 <= int(given["age"]) <= 30


@given(
    st.sampled_from(["screening", "comprehension", "attention"]),
    st.sampled_from(["record", "warn", "screen_out"]),
    st.integers(2, 4),
    st.lists(answers, min_size=5, max_size=5),
)
def test_any_answers_come_to_an_end_and_who_passed_goes_on(
    kind: str, policy: str, attempts: int, given: list[dict[str, Any]]
) -> None:
    most = 1 if kind == "screening" else attempts
    session, clicks = Driven(small(check(kind, policy=policy, attempts=most), {"step": "info", "text": "On."})), 0
    while not session.facts("submitted"):
        session.do(**given[clicks])
        clicks += 1
    (fact,) = session.facts("submitted")
    right = [is_right(one) for one in given]
    first = right.index(True) + 1 if True in right[:most] else None
    assert (fact.data["passed"], fact.data["tries"]) == (first is not None, first or most)
    assert clicks == (first or most) + (first is None and policy == "warn")
    ended = first is None and policy == "screen_out"
    assert session.state.outcome == ("failed_attention" if kind == "attention" else "screened_out") * ended
    assert ended or session.path == "info"


@pytest.mark.parametrize(
    "keys",
    [
        *({"attempts": 1}, {"kind": "screening", "attempts": 2}, {"ask_problem": True}, {"correct_answers": {}}),
        {"questions": [], "ask_problem": True},
        *({"correct_answers": answer} for answer in ({"tools": "yess"}, {"age": "old"}, {"any": "{{study}}"})),
        {"correct_answers": {"age": {"minimum": 18.2, "maximum": 18.8}}},
        *({"questions": [CHOICE, CHOICE]}, {"questions": [{**CHOICE, "name": "passed"}]}),
    ],
    ids=str,
)
def test_a_check_that_cannot_be_is_refused_at_its_place(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError) as told:
        small({**check(), **keys})
    assert {issue.where.partition(".")[0] for issue in told.value.found} == {"flow[0]"}


def test_a_problem_is_no_check_where_its_answer_is_not_known() -> None:
    unknown = [replace(PROBLEMS[0], answer=None), *PROBLEMS[1:]]
    with pytest.raises(StudyError, match="needs problems whose correct answer is known"):
        small({"each": "q", "of": "pool", "flow": [check("attention", ask_problem=True)]}, problems=unknown)
