"""The bonus of a session by its study's rules. Only completed sessions earn one.

A question is a problem of a pool, however often it was shown: all answers given to it in the session are its answers.
It can be correct only if its correct answer is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from experiments.study.location import State
from experiments.study.problem_answer import AnsweringStep
from experiments.study.sections.recruitment import Bonus
from experiments.study.study import Study
from experiments.views.problem_history import ProblemTurn, problem_turns
from problems.problem import Problem

# The kinds of steps whose `answer` is an answer to the problem.
ASKING = ("answer", "chat", "check")
ATTENTION = "attention_check"
NOTHING = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class BonusEarned:
    """The bonus of a session by one rule: the number of items that count, and the amount."""

    rule: Bonus
    count: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class GradedProblem:
    pool: str
    problem: Problem
    right: tuple[bool, ...]
    """For each of its answers."""

    def correct(self, counts: str = "any") -> bool:
        """`counts` says which answers count: "any", "last" or "all"."""
        if self.problem.answer is None or not self.right:
            return False
        return self.right[-1] if counts == "last" else all(self.right) if counts == "all" else any(self.right)


def questions(study: Study, state: State) -> tuple[GradedProblem, ...]:
    found: dict[tuple[str, str], GradedProblem] = {}
    for unit in problem_turns(study, state):
        key = (unit.pool, unit.problem.id)
        before = found[key].right if key in found else ()
        found[key] = GradedProblem(unit.pool, unit.problem, (*before, *_right(unit)))
    return tuple(found.values())


def _right(turn: ProblemTurn) -> Iterator[bool]:
    for step in turn.steps:
        given = step.submitted.data.get("answer") if step.kind in ASKING and step.submitted else None
        if given is not None:
            judge = step.node.accepts if isinstance(step.node, AnsweringStep) else _chosen
            yield judge(turn.problem, given)


def _chosen(problem: Problem, given: Any) -> bool:
    return bool(given == problem.answer)


def earned(study: Study, state: State) -> tuple[BonusEarned, ...]:
    """By each rule of the study; empty unless the session is complete."""
    if state.outcome != "complete" or not study.file.bonus:
        return ()
    asked = questions(study, state)
    return tuple(_earned(rule, asked) for rule in study.file.bonus)


def _earned(bonus: Bonus, problems: tuple[GradedProblem, ...]) -> BonusEarned:
    count = _count(bonus, [question for question in problems if not bonus.pools or question.pool in bonus.pools])
    amount = bonus.amount * count
    return BonusEarned(bonus, count, amount if bonus.max is None else min(amount, bonus.max))


def _count(bonus: Bonus, problems: list[GradedProblem]) -> int:
    if bonus.per == "completion":
        return 1
    if bonus.per == "answer":
        return sum(bool(question.right) for question in problems)
    return sum(question.correct(bonus.correct_if) for question in problems)


def bonus_of(study: Study, state: State) -> Decimal:
    return sum((part.amount for part in earned(study, state)), NOTHING)


def checks_failed(study: Study, state: State) -> int:
    """The number of failed attention checks, whatever the outcome: problems of that dataset, and `check` steps."""
    checks = (question for question in questions(study, state) if question.problem.dataset == ATTENTION)
    wrong: int = sum(bool(check.right) and not check.correct("all") for check in checks)
    judged = (event.data for event in state.events if event.kind == "submitted")
    return wrong + sum(1 for data in judged if data.get("check") == "attention" and data.get("passed") is False)
