"""Multiple-choice questions as people paste them: `A. ... B. ...`, on lines of their own or in one."""

import re
from dataclasses import dataclass
from fractions import Fraction

from app.backends.tutor import arithmetic
from app.backends.tutor.turn import TutorTurn

LETTERS = "ABCDEFGH"
OPTION = re.compile(r"(?:(?<=\s)|(?<=^)|(?<=\())([A-H])[.):]\s*")
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:/\d+)?")


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """A question and its options by letter."""

    question: str
    options: dict[str, str]


def find(text: str) -> MultipleChoice | None:
    """Find the last run of options A, B, ... in `text`: a prompt may give examples before."""
    marks = list(OPTION.finditer(text))
    starts = [index for index, mark in enumerate(marks) if mark[1] == "A"]
    if not starts:
        return None
    run = marks[starts[-1] :]
    count = next((i for i, mark in enumerate(run) if i >= len(LETTERS) or mark[1] != LETTERS[i]), len(run))
    if count < 2:
        return None
    ends = [mark.start() for mark in run[1:count]] + [len(text)]
    options = {
        mark[1]: text[mark.end() : end].strip(" \n\t(,;").split("\n")[0]
        for mark, end in zip(run[:count], ends, strict=True)
    }
    return MultipleChoice(text[: run[0].start()].strip(), options)


def best(choice: MultipleChoice, turn: TutorTurn) -> tuple[str, bool]:
    """Give the letter that the tutor holds for right, and whether it could work that out."""
    expression = arithmetic.find(choice.question) or arithmetic.explained(choice.question)
    if expression is not None:
        truth = arithmetic.exact(expression)
        for letter, option in choice.options.items():
            if _number(option) == truth:
                return letter, True
    return max(choice.options, key=lambda letter: turn.draw("belief", choice.question, letter)), False


def other(choice: MultipleChoice, letter: str, turn: TutorTurn) -> str:
    """Give an option that is not `letter`: what a mistaken tutor takes, or what it has to rule out."""
    rest = [option for option in choice.options if option != letter]
    return rest[int(turn.draw("other", choice.question, letter) * len(rest))]


def _number(option: str) -> Fraction | None:
    match = NUMBER.search(option.replace(",", ""))
    if match is None:
        return None
    try:
        return Fraction(match[0].replace("−", "-"))
    except ZeroDivisionError:
        return None
