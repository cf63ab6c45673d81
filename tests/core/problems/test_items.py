"""Items of one's own: which column is what, and what each row says."""

from __future__ import annotations

import json
from string import ascii_uppercase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.items import Items, understand
from problems.problem import Problem
from problems.tables import of_objects
from problems.text import clean

TEXT = st.text("abcxyz äß日", min_size=2).map(str.strip).filter(lambda text: len(text) > 1)


def items(*rows: dict[str, Any], **columns: Any) -> Items:
    table = of_objects(((f"row {number}", row) for number, row in enumerate(rows, 1)), "t")
    return understand(table, columns, "mine")


def one(row: dict[str, Any], **columns: Any) -> Problem:
    found = items(row, **columns)
    assert not found.faults
    (problem,) = found.problems
    return problem


def options(problem: Problem) -> dict[str, str]:
    return {option.key: option.text for option in problem.options}


def fault(*rows: dict[str, Any], **columns: Any) -> str:
    (told,) = items(*rows, **columns).faults
    return told


def test_columns_can_be_named_and_tags_chosen() -> None:
    row = {"Frage": "Why?", "eins": "x", "zwei": "y", "Lösung": "y", "nr": "q7", "Fach": "Algebra", "note": "-"}
    told = {"question": "Frage", "options": ["eins", "zwei"], "answer": "Lösung", "id": "nr", "tags": ["Fach"]}
    problem = one(row, **told)
    assert (problem.id, options(problem), problem.answer) == ("q7", {"A": "x", "B": "y"}, "B")
    assert problem.tags == {"fach": "Algebra"}


@pytest.mark.parametrize(
    "cell",
    [
        ["x", "y"],
        '["x", "y"]',
        "['x', 'y']",
        {"text": ["x", "y"], "label": ["A", "B"]},
        {"A": "x", "B": "y", "C": None},
        '{"A": "x", "B": "y"}',
        [{"key": "A", "value": "x"}, {"key": "B", "value": "y"}],
        "{'text': ['x', 'y'], 'label': ['A', 'B']}",
    ],
)
def test_options_can_be_a_list_in_one_column(cell: Any) -> None:
    assert options(one({"question": "Why?", "choices": cell})) == {"A": "x", "B": "y"}


GPQA = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
SCIQ = ("correct_answer", "distractor1", "distractor2", "distractor3")


@pytest.mark.parametrize(
    "row",
    [
        *(dict(zip(names, "wxyz", strict=True)) for names in (GPQA, SCIQ)),
        {"best_answer": "w", "incorrect_answers": ["x", "y", "z"], "correct_answers": ["w"]},
        {"Best Answer": "w", "Incorrect Answers": "x; y; z", "Correct Answers": "w; v"},
        {"mc1_targets": {"choices": [*"wxyz"], "labels": [1, 0, 0, 0]}},
    ],
)
def test_where_the_right_option_comes_first_by_form_each_item_has_an_order_of_its_own(row: dict[str, Any]) -> None:
    found = items(*({"Question": f"{number}?", **row} for number in range(40)))
    assert not found.faults
    assert all(options(problem)[str(problem.answer)] == "w" for problem in found.problems)
    assert {problem.answer for problem in found.problems} == {*"ABCD"}
    assert {tuple(sorted(options(problem).values())) for problem in found.problems} == {tuple("wxyz")}
    assert len(found.notes) >= 1
    again = items(*({"Question": f"{number}?", **row} for number in range(40)))
    assert again.problems == found.problems, "the same each time"
    assert items(*({"Question": "?", **row} for _ in range(40)), **found.columns.to_json()).problems[7].options == (
        found.problems[7].options
    ), "the order follows from the id alone"


@given(texts=st.lists(TEXT, min_size=2, max_size=26, unique_by=str.casefold), data=st.data())
def test_an_answer_is_a_key_a_text_or_a_number(texts: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(texts) - 1))
    key = ascii_uppercase[place]
    first, last = ({"question": "?", "options": texts, "answer": end} for end in ("0", str(len(texts))))
    for answer, also in ((key, ()), (key.lower(), ()), (texts[place], ()), (place, (first,)), (place + 1, (last,))):
        found = items({"question": "?", "options": texts, "answer": answer}, *also)
        assert (found.faults, found.problems[0].answer) == ((), key)


TWO = {"question": "?", "a": "x", "b": "y"}


@pytest.mark.parametrize(
    "row",
    [
        *(TWO | {"answer": answer} for answer in ("E", "1")),
        TWO | {"a": "B", "answer": "B"},
        TWO | {"a": "same", "b": "same", "answer": "same"},
        *(TWO | {"b": "", "c": "z"}, {"question": ["a", "b"]}),
        *({"question": "?", "options": options} for options in (["x"], [str(n) for n in range(27)], "x or y")),
    ],
    ids=str,
)
def test_a_row_that_cannot_be_used_is_one_error_with_its_number(row: dict[str, Any]) -> None:
    assert fault(row).startswith("row 1: ")


TEXTS = st.text().map(clean)


@given(
    row=st.dictionaries(
        st.sampled_from(["question", "a", "b", "options", "answer", "id", "t"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | TEXTS,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
        ),
    )
)
def test_any_row_is_an_item_or_one_clear_error(row: dict[str, Any]) -> None:
    found = items(row)
    assert bool(found.problems) != bool(found.faults)
    for problem in found.problems:
        assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem
