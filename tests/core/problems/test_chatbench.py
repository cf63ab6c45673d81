"""ChatBench's questions.csv: what is read from it, and what is said of a bad one."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.chatbench import COLUMNS, load, parse
from problems.errors import ProblemError
from problems.problem import Option

GOOD: Mapping[str, str] = dict.fromkeys(COLUMNS, "") | {
    "question_id": "college_mathematics-redux-1",
    "dataset": "college_mathematics",
    "question": "What is 1 + 1?",
    "option_A": "1",
    "option_B": "2",
    "option_C": "3",
    "option_D": "4",
    "answer": "B",
}


def written(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = COLUMNS) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(columns), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def faults_of(text: str) -> tuple[str, ...]:
    with pytest.raises(ProblemError) as caught:
        parse(text, "questions.csv")
    assert str(caught.value).startswith("questions.csv: ")
    return caught.value.faults


def test_a_row_becomes_a_problem_with_formatted_and_plain_wording() -> None:
    row = {**GOOD, "question_formatted": r"What is \(1 + 1\)?", "option_B_formatted": r"\(2\)"}
    (problem,) = parse(written([row]), "questions.csv")
    assert (problem.id, problem.dataset, problem.answer) == (row["question_id"], row["dataset"], "B")
    assert (problem.text, problem.plain) == (r"What is \(1 + 1\)?", "What is 1 + 1?")
    assert problem.options[:2] == (Option("A", "1", "1"), Option("B", r"\(2\)", "2"))
    assert [option.key for option in problem.options] == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("name", "dataset", "subject"),
    [
        ("elementary_mathematics-redux-0", "elementary_mathematics", "math"),
        ("college_mathematics-dev-1", "college_mathematics", "math"),
        ("moral_scenarios-redux-7", "moral_scenarios", "moral"),
        ("moral_reasoning-redux-7", "moral_reasoning", "moral"),
    ],
)
def test_tags_give_the_dataset_and_its_subject(name: str, dataset: str, subject: str | None) -> None:
    (problem,) = parse(written([{**GOOD, "question_id": name, "dataset": dataset}]), "questions.csv")
    known = {"subject": subject} if subject else {}
    assert (problem.id, problem.tags) == (name, {"dataset": dataset} | known)


filled = st.text().filter(str.strip)


@given(st.fixed_dictionaries({name: filled for name in COLUMNS if name.startswith(("question", "option"))}))
def test_whatever_csv_can_hold_is_read_back_exactly(cells: dict[str, str]) -> None:
    row = {**GOOD, **cells, "question_id": "college_mathematics-redux-1"}
    (problem,) = parse(written([row]), "questions.csv")
    assert (problem.plain, problem.text) == (row["question"], row["question_formatted"])
    for option in problem.options:
        name = f"option_{option.key}"
        assert (option.plain, option.text) == (row[name], row[f"{name}_formatted"])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answer": "E"}, "line 2, column answer 'E' is not allowed; allowed: A, B, C, D"),
        ({"answer": "b"}, "line 2, column answer 'b' is not allowed; allowed: A, B, C, D"),
        ({"question": " "}, "line 2, column question is empty"),
        ({"option_C": ""}, "line 2, column option_C is empty"),
        ({"dataset": ""}, "line 2, column dataset is empty"),
        (
            {"dataset": "conceptual_physics"},
            "line 2, column question_id 'college_mathematics-redux-1' does not begin with its dataset "
            "'conceptual_physics'",
        ),
    ],
)
def test_a_bad_cell_is_named_by_line_and_column(change: dict[str, str], fault: str) -> None:
    assert faults_of(written([{**GOOD, **change}])) == (fault,)


@pytest.mark.parametrize(
    ("columns", "faults"),
    [
        (COLUMNS[1:], ["line 1: the column question_id is missing"]),
        ((*COLUMNS, "answer"), ["line 1: the column answer is there twice"]),
    ],
)
def test_other_columns_are_refused(columns: list[str], faults: list[str]) -> None:
    assert (
        list(faults_of(written([GOOD], columns) if len(set(columns)) == len(columns) else ",".join(columns))) == faults
    )


SHAPES = {
    "semicolons": lambda text: text.replace(",", ";"),
    "tabs": lambda text: text.replace(",", "\t"),
    "a title": lambda text: "Our questions\n" + text,
    "a title in Excel": lambda text: "Our questions;;;\n\n" + text.replace(",", ";"),
    "a declared separator": lambda text: "sep=;\n" + text.replace(",", ";"),
    "protected texts": lambda text: text.replace("q-1", '="q-1"'),
    "blank rows and columns": lambda text: "\n,,\n" + text.replace("\n", ",,\n") + ",,,,,\n",
    "an old Mac": lambda text: text.replace("\n", "\r"),
    "mixed lines": lambda text: text.replace("\n", "\r\n", 1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_a_spreadsheet_makes_of_a_file_is_read(shape: str, encoding: str, tmp_path: Path) -> None:
    text = (
        "question_id,dataset,question,option_A,option_B,option_C,option_D,answer\n"
        "q-1,q,Où?,a,b,c,d,B\nq-2,q,Who?,a,b,c,007,C\n"
    )
    path = tmp_path / "questions.csv"
    path.write_bytes(text.encode())
    plain = load(path)
    path.write_bytes(SHAPES[shape](text).encode(encoding))
    assert load(path) == plain
