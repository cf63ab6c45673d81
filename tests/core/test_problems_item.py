"""Problems as values: what they refuse, and their way through JSON and back."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.errors import ParleyError, ProblemError, did_you_mean
from problems.item import Message, Option, Problem

OPTIONS = (Option("A", r"\(1\)", "1"), Option("B", "two", "2"))
WHOLE: dict[str, object] = {"id": "q1", "text": "Why?", "plain": "Why?", "dataset": "custom"}

words = st.text(min_size=1).filter(str.strip)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    keys = draw(st.lists(words, unique=True, max_size=5))
    options = tuple(Option(key, draw(st.text()), draw(st.text())) for key in keys)
    answer = draw(st.none() | (st.sampled_from(keys) if keys else st.text()))
    tags = draw(st.dictionaries(st.text(), st.text(), max_size=3))
    messages = st.builds(Message, st.sampled_from(["user", "bot"]), st.text(), st.text())
    dialogue = tuple(draw(st.lists(messages, max_size=4)))
    return Problem(draw(words), draw(words), draw(st.text()), draw(st.text()), options, answer, tags, dialogue)


@given(problems())
def test_a_problem_comes_back_from_json_as_it_was(problem: Problem) -> None:
    again = Problem.from_json(json.loads(json.dumps(problem.to_json())))
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.to_json() == problem.to_json()


def test_options_answer_and_tags_may_be_left_out_of_the_json() -> None:
    assert Problem.from_json(WHOLE) == Problem("q1", "Why?", "Why?", "custom")


def test_json_without_a_dialogue_is_what_it_was_before_there_were_dialogues() -> None:
    assert set(Problem.from_json(WHOLE).to_json()) == {"id", "text", "plain", "dataset", "options", "answer", "tags"}


def test_the_response_is_what_the_chatbot_said_last() -> None:
    asked, told = Message("user", "Hm?"), Message("bot", "Ah.")
    assert Problem("q", "t", "t", "d", dialogue=(asked, told)).response == "Ah."
    assert Problem("q", "t", "t", "d", dialogue=(told, asked)).response is None
    assert Problem("q", "t", "t", "d").response is None


def test_a_problem_does_not_change_with_the_json_it_came_from() -> None:
    tags = {"topic": "Algebra"}
    problem = Problem.from_json(WHOLE | {"tags": tags})
    tags["topic"] = "Topology"
    assert problem.tags == {"topic": "Algebra"}


@pytest.mark.parametrize("answer", [None, "A", "B"])
def test_the_answer_may_be_a_key_of_an_option_or_unknown(answer: str | None) -> None:
    assert Problem("q1", "Why?", "Why?", "custom", OPTIONS, answer).answer == answer


def test_without_options_any_answer_may_be_known() -> None:
    assert Problem("q1", "Why?", "Why?", "custom", answer="97").answer == "97"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"id": " "}, "id is blank"),
        ({"text": ""}, "text is blank"),
        ({"answer": "C"}, "answer: 'C' is not the key of an option; allowed: A, B"),
        ({"options": (*OPTIONS, OPTIONS[0])}, "options: the keys A, B, A are not all different"),
    ],
    ids=["blank id", "blank text", "answer that is no option", "two options of one key"],
)
def test_a_problem_that_breaks_the_rules_is_refused(change: dict[str, object], fault: str) -> None:
    good: dict[str, object] = {"id": "q1", "text": "Why?", "options": OPTIONS, "answer": "A"}
    with pytest.raises(ProblemError) as caught:
        Problem(**{"plain": "Why?", "dataset": "custom"} | good | change)  # type: ignore[arg-type]
    assert caught.value.faults == (fault,)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"text": 5}, "text must be a string, not 5"),
        ({"answer": 4}, "answer must be a string or null, not 4"),
        ({"tags": {"level": 3}}, "tags must be an object of strings, not {'level': 3}"),
        (
            {"options": "AB"},
            "options must be a list of objects with the strings key, text and plain, not 'AB'",
        ),
        ({"options": [{"key": "A", "text": "1"}]}, "options must be a list of objects"),
        ({"dialogue": [{"role": "System", "text": "", "name": ""}]}, "dialogue must be a list of objects with role"),
        ({"dialogue": {}}, "dialogue must be a list of objects with role"),
        ({"optoins": []}, "Did you mean 'options'?"),
    ],
    ids=[
        "number as text",
        "number as answer",
        "number in tags",
        "options no list",
        "option half",
        "dialogue of another role",
        "dialogue no list",
        "misspelt",
    ],
)
def test_json_of_another_shape_is_refused(change: dict[str, object], fault: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.from_json(WHOLE | change)
    assert len(caught.value.faults) == 1
    assert fault in caught.value.faults[0]


def test_all_faults_of_a_problem_come_at_once() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.from_json({"id": 1, "text": "Why?", "topic": "Algebra"})
    assert [fault.split()[0] for fault in caught.value.faults] == ["plain", "dataset", "id", "'topic'"]


def test_an_error_shows_its_faults_line_by_line_and_survives_pickling() -> None:
    error = ProblemError("x.csv: not good:", "line 1: bad", "line 2: worse")
    assert str(error) == "x.csv: not good:\n  line 1: bad\n  line 2: worse"
    assert isinstance(error, ParleyError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.faults) == (str(error), ("line 1: bad", "line 2: worse"))


def test_only_a_close_word_is_suggested() -> None:
    assert did_you_mean("chatbnch", ("chatbench", "jsonl")) == " Did you mean 'chatbench'?"
    assert did_you_mean("zebra", ("chatbench", "jsonl")) == ""
