"""Checks: what passes, what becomes of who does not, what is told of it, and what is refused in a study's file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.paint import StudyLook, paint
from experiments.core.events import Action, Event
from experiments.core.place import State, here
from experiments.core.resolve import Study, resolve, restore
from experiments.core.screen import Notice, Screen
from experiments.core.session import decide, fold, owed, screen
from experiments.core.step import Step
from experiments.errors import Refused, StudyError
from problems.item import Problem
from tests.fakes.sessions import enrolment

CHOICE = {"ask": "single", "name": "tools", "text": "May you use *tools*?", "options": ["yes", "no"]}
PARTS = {"ask": "multiple", "name": "parts", "text": "What will\n you do?", "options": ["talk", "answer", "sing"]}
AGE = {"ask": "number", "name": "age", "text": "How old are you?"}
ANY = {"ask": "short", "name": "any", "text": "Anything?", "required": False}
RIGHT = {"tools": "no", "parts": ["answer", "talk"], "age": {"minimum": 18, "maximum": 30}}
GOOD = {"tools": "no", "parts": ["talk", "answer"], "age": "18"}
BAD = {"tools": "yes", "parts": ["talk"], "age": "18"}
PROBLEMS = [
    {"id": f"p{n}", "text": f"What is {n}?", "plain": "", "dataset": "d", "answer": "AB"[n % 2]}
    | {"options": [{"key": key, "text": key.lower(), "plain": ""} for key in "AB"]}
    for n in range(3)
]


def check(kind: str = "comprehension", **keys: Any) -> dict[str, Any]:
    asked = {} if keys.get("of_problem") else {"questions": [CHOICE, PARTS, AGE, ANY], "right": RIGHT}
    return {"step": "check", "id": "it", "kind": kind, **asked, **keys}


def study_of(*flow: dict[str, Any], problems: list[dict[str, Any]] | None = None) -> Study:
    raw: dict[str, Any] = {"study": "small", "title": "Small", "flow": [*flow, {"step": "finish", "text": "Done."}]}
    pools = {"questions": [Problem.from_json(one) for one in problems or []]}
    given = {"problems": {"questions": {"source": "jsonl"}}} if problems else {}
    return resolve(json.loads(json.dumps(raw | given)), {}, pools)


def begun(study: Study) -> State:
    return settled(study, fold(decide(study, State(), enrolment("1"))))


def settled(study: Study, state: State) -> State:
    """What is owed, done at once."""
    while jobs := owed(study, state):
        action = Action(jobs[0].kind, jobs[0].path, {}, 0, by="system")
        state = fold(decide(study, state, action), state)
    return state


def act(study: Study, state: State, kind: str = "submit", /, **values: Any) -> State:
    seen = screen(study, state)
    return settled(study, fold(decide(study, state, Action(kind, seen.path, values, 0, seen=seen.seen)), state))


def facts(state: State, *kinds: str) -> list[Event]:
    return [event for event in state.events if event.kind in kinds]


def notices(seen: Screen) -> list[Notice]:
    return [block for block in seen.panel.blocks if isinstance(block, Notice)]


def test_who_passes_goes_on_and_a_later_step_can_refer_to_it() -> None:
    told = {"step": "info", "when": {"it.passed": True, "it.tries": 1}, "text": "{{it.tools}}, {{it.passed}}"}
    study = study_of(check(), told)
    state = act(study, begun(study), **GOOD)
    (fact,) = facts(state, "submitted")
    kept = {"tools": "no", "parts": ["talk", "answer"], "age": 18, "any": None}
    assert dict(fact.data) == {**kept, "passed": True, "tries": 1, "check": "comprehension"}
    assert [block.text for block in screen(study, state).panel.blocks] == ["no, True"]
    missed = act(study, act(study, begun(study), **BAD), **GOOD)
    assert screen(study, missed).outcome == "complete", "it took two tries, so the step is not for them"


def test_a_missed_try_tells_how_many_are_left_and_which_questions_but_nothing_that_is_right() -> None:
    study = study_of(check(attempts=3))
    state = act(study, begun(study), **BAD)
    (fact,) = facts(state, "missed")
    assert fact.data["values"]["tools"] == "yes"
    assert fact.data["wrong"] == ["tools", "parts"]
    seen = screen(study, state)
    (notice,) = notices(seen)
    assert notice == Notice(
        "You have 2 more tries. These were not right yet:", ("May you use *tools*?", "What will you do?")
    )
    assert seen.panel.blocks[0] == notice
    assert [field.name for field in seen.panel.fields] == ["tools", "parts", "age", "any"]
    (last,) = notices(screen(study, act(study, state, **{**GOOD, "age": "31"})))
    assert last == Notice("You have one more try. These were not right yet:", ("How old are you?",))


def test_of_a_single_question_it_is_not_said_which_one() -> None:
    study = study_of(check(questions=[CHOICE], right={"tools": "no"}))
    (notice,) = notices(screen(study, act(study, begun(study), tools="yes")))
    assert notice == Notice("That was not right yet. You have one more try.")


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
    study = study_of(check(kind, **keys))
    state = begun(study)
    while not state.outcome:
        assert screen(study, state).actions == ("submit",)
        state = act(study, state, **BAD)
    assert screen(study, state).outcome == outcome
    (fact,) = facts(state, "submitted")
    assert (fact.data["passed"], fact.data["tries"]) == (False, 2 if kind == "comprehension" else 1)
    with pytest.raises(Refused):
        act(study, state, **GOOD)


def test_who_is_screened_out_was_told_nothing_of_it() -> None:
    study = study_of(check("screening"))
    state = act(study, begun(study), **BAD)
    assert facts(state, "missed") == []
    last = screen(study, state)
    assert last.panel.title == "This study is not for you"
    told = repr(last) + json.dumps(paint(last, study=StudyLook("Small"), shown=None, draft={}).as_json())
    assert last.ended
    assert not any(word in told for word in ("tools", "answer", "sing", "old"))


def test_who_is_warned_reads_it_on_the_same_place_and_goes_on() -> None:
    study = study_of(check(policy="warn", warning="Please read, **now**."))
    state = act(study, act(study, begun(study), **BAD), **BAD)
    seen = screen(study, state)
    assert (seen.path, seen.actions, seen.panel.fields) == ("it", ("submit",), ())
    assert notices(seen) == [Notice("Please read, **now**.")]
    assert facts(state, "submitted") == []
    state = act(study, state, **GOOD)
    (fact,) = facts(state, "submitted")
    assert (fact.data["tools"], fact.data["passed"], fact.data["tries"]) == ("yes", False, 2), "too late to be right"
    assert state.outcome == "complete"


@pytest.mark.parametrize("after", [1, 2, 3])
def test_attention_counts_over_the_session(after: int) -> None:
    first = check("attention", id="first", policy="record")
    second = check("attention", id="second", policy="screen_out", after=after)
    third = check("attention", id="third", policy="screen_out", after=after)
    study = study_of(check("comprehension", id="other", policy="record"), first, second, third)
    state = begun(study)
    for _ in range(2):
        state = act(study, state, **BAD)
    while not state.outcome:
        state = act(study, state, **BAD)
    assert state.outcome == "failed_attention"
    assert state.events[-1].path == ("second" if after < 3 else "third"), "other checks do not count"


def test_attention_warns_from_the_second_failure_on() -> None:
    loop = {"each": "q", "of": "questions", "take": 3, "order": "listed"}
    study = study_of({**loop, "flow": [check("attention", of_problem=True, policy="warn", after=2)]}, problems=PROBLEMS)
    state = act(study, begun(study), answer="B")
    assert (screen(study, state).path, notices(screen(study, state))) == ("q[1]/it", [])
    state = act(study, state, answer="A")
    assert screen(study, state).path == "q[1]/it"
    assert len(notices(screen(study, state))) == 1
    state = act(study, act(study, state), answer="A")
    assert [event.data["passed"] for event in facts(state, "submitted")] == [False, False, True]
    assert state.outcome == "complete"


@pytest.mark.parametrize(
    ("question", "right", "passing", "failing"),
    [
        ({"ask": "single", "options": [1, 2]}, 1, ["1"], ["2"]),
        ({"ask": "scale", "options": {"-1": "bad", "1": "good", "2": "fine"}}, {"minimum": 1}, ["1", "2"], ["-1"]),
        ({"ask": "scale", "scale": "helpfulness", "name": "it"}, ["0", 1], ["0", "1"], ["2"]),
        ({"ask": "number", "whole": False}, [0.5, 3], ["0.50", "3"], ["0.6"]),
        ({"ask": "slider"}, {"maximum": 20}, ["0", "20"], ["21"]),
        ({"ask": "short"}, ["Deep blue", "navy"], ["deep  BLUE", " Navy"], ["deepblue"]),
        ({"ask": "tick", "required": False}, True, ["on"], [None]),
        ({"ask": "tick", "required": False}, False, [None], ["on"]),
        ({"ask": "multiple", "options": ["a", "b"], "required": False}, [], [None], [["a"]]),
        ({"ask": "multiple", "options": ["a", "b"]}, "b", [["b"]], [["a", "b"], ["a"]]),
    ],
)
def test_what_passes(question: dict[str, Any], right: Any, passing: list[Any], failing: list[Any]) -> None:
    asked = {"name": "it", "text": "?", **question}
    study = study_of(check("attention", questions=[asked], right={"it": right}))
    again = restore(study.document)
    for value in (*passing, *failing):
        state = act(again, begun(again), it=value)
        (fact,) = facts(state, "submitted")
        assert fact.data["passed"] == (value in passing), value
    state = begun(study)
    place = here(study, state)
    assert place is not None
    assert isinstance(place.node, Step)
    state = act(study, state, **place.node.passing(place))
    assert facts(state, "submitted")[0].data["passed"] is True, "so simulated participants know what passes"


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
    study = study_of(check(kind, policy=policy, attempts=most), {"step": "info", "text": "On."})
    state, clicks = begun(study), 0
    while not facts(state, "submitted"):
        state = act(study, state, **given[clicks])
        clicks += 1
    (fact,) = facts(state, "submitted")
    right = [is_right(one) for one in given]
    first = right.index(True) + 1 if True in right[:most] else None
    assert (fact.data["passed"], fact.data["tries"]) == (first is not None, first or most)
    assert clicks == (first or most) + (first is None and policy == "warn")
    ended = first is None and policy == "screen_out"
    assert state.outcome == ("failed_attention" if kind == "attention" else "screened_out") * ended
    assert ended or screen(study, state).path == "info"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attempts": 1}, "needs `attempts: 2` or more: Prolific demands two tries"),
        ({"kind": "screening", "attempts": 2}, "screening has one try"),
        ({"kind": "screening", "after": 2}, "`after` counts attention checks"),
        ({"of_problem": True}, "needs either `questions` or `of_problem: true`"),
        ({"questions": [], "right": {}}, "needs either `questions` or `of_problem: true`"),
        ({"questions": [], "of_problem": True}, "`right` does not go with `of_problem`"),
        ({"questions": [], "of_problem": True, "right": {}}, "must stand inside an `each`"),
        ({"right": {}}, "needs `right`"),
        ({"right": {"tols": "no"}}, "Did you mean 'tools'?"),
        ({"right": {"tools": "yess"}}, "`right.tools`: 'yess' is no option of this question; allowed: no, yes."),
        ({"right": {"tools": ["no", "yess"]}}, "Did you mean 'yes'?"),
        ({"right": {"tools": None}}, "flow[0].right.tools: None: needs an answer, a list of answers, or"),
        ({"right": {"parts": []}}, "must be answered"),
        ({"right": {"age": []}}, "`right.age`: needs at least one answer"),
        ({"right": {"age": "old"}}, "Please enter a whole number."),
        ({"right": {"age": {"minimum": 18.2, "maximum": 18.8}}}, "is a number in this range"),
        ({"right": {"age": {"minimum": 5, "maximum": 4}}}, "minimum 5 is above maximum 4"),
        ({"right": {"age": {"minimun": 5}}}, "Did you mean 'minimum'?"),
        ({"right": {"any": {"minimum": 5}}}, "is a number in this range"),
        ({"right": {"any": "{{study}}"}}, "names in it are not filled in"),
        ({"questions": [CHOICE, CHOICE]}, "two questions are called 'tools'"),
        ({"questions": [{**CHOICE, "name": "passed"}]}, "'passed', which is a name of the check's own"),
    ],
)
def test_a_check_that_cannot_be_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as told:
        study_of({**check(), **keys})
    assert words in str(told.value)


def test_a_problem_is_no_check_where_its_answer_is_not_known() -> None:
    unknown = [{**PROBLEMS[0], "answer": None}, *PROBLEMS[1:]]
    with pytest.raises(StudyError, match="needs problems whose right answer is known"):
        study_of({"each": "q", "of": "questions", "flow": [check("attention", of_problem=True)]}, problems=unknown)
