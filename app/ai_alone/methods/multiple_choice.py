"""Format multiple-choice questions for prompts, and read replies that should be one letter."""

from __future__ import annotations

from string import ascii_uppercase

from app.ai_alone.methods.base import SampleResult
from experiments.instruments.chatbench_prompts import quoted_letters
from problems.problem import Problem
from problems.text import clean

# Maximum length of an invalid answer that is stored besides the reply itself.
KEPT_CHARS = 200


def lettered(problem: Problem) -> str:
    """The question, followed by its options, one per line with its letter."""
    lines = (f"{letter}. {option.plain}" for letter, option in zip(ascii_uppercase, problem.options, strict=False))
    return "\n".join((problem.plain, *lines))


def key_of_letter(problem: Problem, letter: str) -> str | None:
    place = ascii_uppercase.find(letter) if len(letter) == 1 else -1
    return problem.options[place].key if 0 <= place < len(problem.options) else None


def letter_of(problem: Problem) -> str:
    return ascii_uppercase[[option.key for option in problem.options].index(problem.answer or "")]


def answered(problem: Problem, key: str | None) -> SampleResult:
    """The result of choosing the option `key`; choosing none of them (None) is wrong."""
    return SampleResult("answered", key, key is not None and key == problem.answer)


def read_letter(problem: Problem, text: str) -> SampleResult:
    """ChatBench's rule: the answer is the first character of the reply, after whitespace, if it is the letter of an
    option. Otherwise the reply is unparsed, which counts as wrong, and its text is kept."""
    said = text.strip()
    key = key_of_letter(problem, said[:1])
    return answered(problem, key) if key is not None else SampleResult("unparsed", clean(said)[:KEPT_CHARS], False)


def slots(problem: Problem) -> dict[str, str]:
    letters = ascii_uppercase[: len(problem.options)]
    return {
        "question": lettered(problem),
        "letters": quoted_letters(letters),
        "range": f"{letters[0]} through {letters[-1]}",
    }
