"""DICES: conversations once each, contexts to the character, and every fault of a file at once."""

import csv
import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.dices import HARM_TYPES, STYLES, context, parse
from problems.errors import ProblemError
from problems.problem import DialogueMessage

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
