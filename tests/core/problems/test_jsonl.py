"""Problems of one's own, one JSON object a line."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.errors import ProblemError
from problems.jsonl import parse
from problems.problem import DialogueMessage, Problem
from problems.text import clean


def test_a_conversation_is_about_its_last_message_unless_it_says_otherwise() -> None:
    said = '[{"role": "user", "text": "Hi", "name": "Ann"}, {"role": "bot", "text": "Good day!"}]'
    dialogue = (DialogueMessage("user", "Hi", "Ann"), DialogueMessage("bot", "Good day!"))
    assert parse(f'{{"id": "a", "dialogue": {said}}}\n{{"id": "b", "text": "T", "dialogue": {said}}}', "x.jsonl") == (
        Problem("a", "Good day!", "Good day!", "custom", dialogue=dialogue),
        Problem("b", "T", "T", "custom", dialogue=dialogue),
    )


@given(st.lists(st.text(min_size=1).map(clean).filter(str.strip), unique=True, min_size=1))
def test_lines_are_read_back_as_they_were_written(names: Sequence[str]) -> None:
    problems = tuple(Problem(name, name, "plain", "d", (), name, {name: name}) for name in names)
    # not escaped, so that U+2028 and its like stand in the file as they are
    lines = [json.dumps(problem.to_json(), ensure_ascii=False) for problem in problems]
    assert parse("\r\n".join(["", *lines, "  "]), "x.jsonl") == problems


def test_all_bad_lines_are_named_at_once() -> None:
    lines = [
        '{"id": "a", "text": "T"}',
        '{"id": "b"}',
        "not json",
        '["list"]',
        '{"id": "a", "text": "again"}',
        '{"id": "c", "text": "T", "dataste": "d", "answer": 3}',
        '{"id": "d", "text": "T", "options": [{"key": "A", "text": "1"}], "answer": "B"}',
        '{"id": "e", "text": "T", "options": [5]}',
        "9" * 5000,
        "[" * 100_000,
    ]
    with pytest.raises(ProblemError) as caught:
        parse("\n".join(lines), "x.jsonl")
    assert str(caught.value).startswith("x.jsonl: ")
    starts = [
        "line 2: text is missing",
        "line 3: column 1 is not JSON",
        'line 4: must be an object like {"id": ..., "text": ...}',
        "line 6: answer: ",
        "line 6: 'dataste' is not a key of a problem",
        "line 7: answer: 'B' is not the key of an option; allowed: A",
        "line 8: options.0: ",
        "line 9, line 10: is nested too deeply, or has a number too long",
        "line 5: the id 'a' is taken by line 1",
    ]
    assert [fault[: len(start)] for fault, start in zip(caught.value.faults, starts, strict=True)] == starts
    assert "Did you mean 'dataset'?" in caught.value.faults[4]
