"""DICES: conversations once each, contexts to the character, and every fault of a file at once."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
from problems.dices import HARM_TYPES, STYLES, context, load, parse
from problems.errors import ProblemError
from problems.problem import DialogueMessage

SAMPLE = Path(problems.__file__).parent / "data" / "dices" / "dialogues.csv"
HEADER = ("item_id", "rater_id", "context", "response", "degree_of_harm", "harm_type", "safety_gold")
ROW = ("1", "r1", "USER: Hi\nLAMDA: Yes?\nUSER: Bye", "Good day", "Benign", "", "No")


def file(*rows: Sequence[str], header: Sequence[str] = HEADER) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(ProblemError) as caught:
        parse(text, "x.csv")
    assert str(caught.value).startswith("x.csv: not a csv of DICES")
    return caught.value.faults


def test_a_conversation_is_taken_once_however_many_rated_it() -> None:
    (problem,) = parse(file(ROW, ("1", "r2", *ROW[2:])), "x.csv")
    said = [("user", "Hi", "USER"), ("bot", "Yes?", "LAMDA"), ("user", "Bye", "USER"), ("bot", "Good day", "")]
    assert problem.dialogue == tuple(DialogueMessage(*parts) for parts in said)  # type: ignore[arg-type]
    assert (problem.text, problem.plain, problem.response) == ("Good day", ROW[2], "Good day")
    assert (problem.dataset, problem.tags) == ("dices-350", {"degree_of_harm": "Benign", "safety_gold": "No"})


@pytest.mark.parametrize(("name", "count"), [("dices_350_rows.csv", 1), ("dices_990_rows.csv", 2)])
def test_the_released_rows_are_read(shared: Path, name: str, count: int) -> None:
    talks = load(shared / name)
    assert len(talks) == count
    with (shared / name).open(encoding="utf-8", newline="") as rows:
        written = {row["item_id"]: row for row in csv.DictReader(rows)}
    for problem in talks:
        assert problem.dataset == f"dices-{name.split('_')[1]}"
        assert STYLES[problem.dataset].write(problem.dialogue[:-1]) == written[problem.id]["context"] == problem.plain
        assert problem.response == written[problem.id]["response"]


words = st.text(st.characters(codec="utf-8", exclude_characters="\\\r")).filter(lambda text: ": " not in text)


@given(st.sampled_from(list(STYLES)), st.lists(words, min_size=1, max_size=6), words.filter(str.strip))
def test_a_context_is_read_and_written_to_the_character(style: str, texts: list[str], response: str) -> None:
    roles = ("user", "bot") * 3
    said = tuple(DialogueMessage(role, text) for role, text in zip(roles, texts, strict=False))  # type: ignore[arg-type]
    written = STYLES[style].write(said)
    (problem,) = parse(file(("7", "r", written, response, "", "", "")), "x.csv")
    assert [(m.role, m.text) for m in problem.dialogue] == [(m.role, m.text) for m in said] + [("bot", response)]
    assert context(problem, style) == written
    assert STYLES[style].write(problem.dialogue[:-1]) == written


def test_all_faults_are_told_at_once_with_their_lines() -> None:
    text = file(
        ROW,
        ("1", "r2", ROW[2], "Another", "Extreme", "", "No"),
        ("2", "r1", "Hello", " ", "Harmless", "Racial,Nonsense", "maybe"),
        ("3", "r1"),
    )
    assert faults(text) == (
        "line 5: item_id '1' has another response, degree_of_harm than on line 2",
        "line 9: 2 cells instead of 7; put quotes around cells with separators",
        "line 8, column response is empty",
        "line 8, column context must begin with one of 'USER: ', 'LAMDA: ', 'LLM: ', 'A: ', 'B: ', not 'Hello'",
        "line 8, column degree_of_harm 'Harmless' is not allowed; "
        "allowed: Benign, Debatable, Moderate, Extreme, or blank",
        "line 8, column safety_gold 'maybe' is not allowed; allowed: No, Yes, or blank",
        f"line 8, column harm_type 'Nonsense' is not allowed; "
        f"allowed: {', '.join(HARM_TYPES)}, joined by commas, or blank",
    )


def test_the_sample_has_every_label_of_the_release() -> None:
    for problem in load(SAMPLE):
        assert {"degree_of_harm", "harm_type", "safety_gold"} <= problem.tags.keys()
        assert set(problem.tags["harm_type"].split(",")) <= set(HARM_TYPES)
