"""Problems as values: what they refuse, and their way through JSON and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.errors import ProblemError
from problems.problem import DialogueMessage, Option, Problem

OPTIONS = (Option("A", r"\(1\)", "1"), Option("B", "two", "2"))
WHOLE: dict[str, object] = {"id": "q1", "text": "Why?", "plain": "Why?", "dataset": "custom"}

words = st.text(min_size=1).filter(str.strip)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    keys = draw(st.lists(words, unique=True, max_size=5))
    options = tuple(Option(key, draw(st.text()), draw(st.text())) for key in keys)
    answer = draw(st.none() | (st.sampled_from(keys) if keys else st.text()))
    tags = draw(st.dictionaries(st.text(), st.text(), max_size=3))
    messages = st.builds(DialogueMessage, st.sampled_from(["user", "bot"]), st.text(), st.text())
    dialogue = tuple(draw(st.lists(messages, max_size=4)))
    return Problem(draw(words), draw(words), draw(st.text()), draw(st.text()), options, answer, tags, dialogue)


@given(problems())
def test_a_problem_comes_back_from_json_as_it_was(problem: Problem) -> None:
    again = Problem.from_json(json.loads(json.dumps(problem.to_json())))
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.to_json() == problem.to_json()


def test_the_response_is_what_the_chatbot_said_last() -> None:
    asked, told = DialogueMessage("user", "Hm?"), DialogueMessage("bot", "Ah.")
    assert Problem("q", "t", "t", "d", dialogue=(asked, told)).response == "Ah."
    assert Problem("q", "t", "t", "d", dialogue=(told, asked)).response is None
    assert Problem("q", "t", "t", "d").response is None


@pytest.mark.parametrize(
    "change",
    [{"id": " "}, {"text": ""}, {"answer": "C"}, {"options": (*OPTIONS, OPTIONS[0])}],
    ids=lambda one: str([*one]),
)
def test_a_problem_that_breaks_the_rules_is_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {"id": "q1", "text": "Why?", "options": OPTIONS, "answer": "A"}
    with pytest.raises(ProblemError) as caught:
        Problem(**{"plain": "Why?", "dataset": "custom"} | good | change)  # type: ignore[arg-type]
    assert [fault.split()[0].strip(":") for fault in caught.value.faults] == [*change]


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"text": 5},
            {"answer": 4},
            {"tags": {"level": 3}},
            {"options": "AB"},
            {"options": [{"key": "A", "text": "1"}]},
        ),
        *({"dialogue": [{"role": "System", "text": "", "name": ""}]}, {"dialogue": {}}, {"optoins": []}),
    ],
)
def test_json_of_another_shape_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.from_json(WHOLE | change)
    (fault,) = caught.value.faults
    assert next(iter(change)) in fault
