"""The question that a problem is, whose answers are the options that it offers."""

from __future__ import annotations

from functools import lru_cache

from experiments.study.fields import Field, Single
from problems.problem import Option

ANSWER = Field(name="answer", text="{{problem.text}}")
"""The problem as a step asks it, before there is one."""


@lru_cache(maxsize=1_000)
def choice(options: tuple[Option, ...]) -> Single:
    """One of a problem's options; made once, as it is the same for all who meet the problem."""
    return Single(name="answer", options={option.key: option.text for option in options})
