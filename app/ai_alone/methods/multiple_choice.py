"""Questions with lettered options, as prompts have them, and what a reply that shall be a letter says."""

from __future__ import annotations

from string import ascii_uppercase

from app.ai_alone.methods.base import SampleResult
from problems.problem import Problem

KEPT_CHARS = 200
"""How much is kept of what is no letter, beside the reply itself."""


def lettered(problem: Problem) -> str:
    """The question, and below it its options, each on a line with its letter."""
    lines = (f"{letter}. {option.plain}" for letter, option in zip(ascii_uppercase, problem.options, strict=False))
    return "\n".join((problem.plain, *lines))


def key_of_letter(problem: Problem, letter: str) -> str | None:
    """The key of the option with that letter; None where none has it."""
    place = ascii_uppercase.find(letter) if len(letter) == 1 else -1
    return problem.options[place].key if 0 <= place < len(problem.options) else None


def letter_of(problem: Problem) -> str:
    """The letter of the right option."""
    return ascii_uppercase[[option.key for option in problem.options].index(problem.answer or "")]


def answered(problem: Problem, key: str | None) -> SampleResult:
    """The outcome of committing to an option, or to none of them, which is wrong."""
    return SampleResult("answered", key, key is not None and key == problem.answer)


def read_letter(problem: Problem, text: str) -> SampleResult:
    """ChatBench's rule: the first character, if it is a letter of an option; else what was said is kept, and wrong.

    Space before it is left out.
    """
    said = text.strip()
    key = key_of_letter(problem, said[:1])
    return answered(problem, key) if key is not None else SampleResult("unparsed", _kept(said), False)


def _kept(text: str) -> str:
    return text.replace("\x00", "")[:KEPT_CHARS]


def letters(problem: Problem) -> str:
    """The first letter of its options and the last, in words."""
    return f"A through {ascii_uppercase[len(problem.options) - 1]}"
