"""Orders of options that cannot be drawn, and right options that all stand at the same place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.errors import ValidationIssue
from experiments.study.option_order import LETTERS
from experiments.study.problem_answer import OptionsStep
from experiments.study.schema import Loop, Node
from experiments.study.step import Step
from experiments.study.study import Study
from problems.problem import Problem

# From this number of problems on, the same place of all right options is no accident.
SEVERAL = 4


def order_issues(study: Study) -> Iterator[ValidationIssue]:
    """Orders that cannot be drawn."""
    for name, source in study.file.problems.items():
        pool = study.pools.get(name, ())
        if source.options != "listed" and pool and not any(problem.options for problem in pool):
            words = f"{source.options!r} needs problems with options, and none of the pool has any"
            yield ValidationIssue(f"problems.{name}.options", words)
    for name, shown in shuffled_pools(study):
        if many := next((one for one in shown if len(one.options) > len(LETTERS)), None):
            words = f"{many.id!r} has {len(many.options)} options; at most {len(LETTERS)} can be shuffled"
            yield ValidationIssue(f"problems.{name}", words)


def order_advice(study: Study) -> Iterator[str]:
    shuffled = dict(shuffled_pools(study))
    for name, pool in study.pools.items():
        places = [[one.key for one in p.options].index(p.answer) for p in pool if p.options and p.answer]
        if name not in shuffled and len(places) >= SEVERAL and len({*places}) == 1 and _answered(study, name):
            yield (
                f"problems.{name}: the right option is number {places[0] + 1} in all {len(places)} problems. Write "
                "`options: shuffled`, so that participants cannot notice."
            )


def _loops(nodes: Sequence[Node]) -> Iterator[Loop]:
    for node in nodes:
        if isinstance(node, Loop) and node.over_problems:
            yield node
        if not isinstance(node, Step):
            yield from _loops(node.flow)


def _steps(nodes: Sequence[Node]) -> Iterator[OptionsStep]:
    """The steps of a loop's turn, without those of loops over other problems."""
    for node in nodes:
        if isinstance(node, OptionsStep):
            yield node
        elif not isinstance(node, Step) and not (isinstance(node, Loop) and node.over_problems):
            yield from _steps(node.flow)


def shuffled_pools(study: Study) -> Iterator[tuple[str, Sequence[Problem]]]:
    """The pools whose options are shuffled anywhere."""
    for name, pool in study.pools.items():
        steps = [step for loop in _loops(study.flow) if loop.pool == name for step in _steps(loop.flow)]
        source = study.file.problems.get(name)
        if any(step.options_order(source) != "listed" for step in steps):
            yield name, pool


def _answered(study: Study, pool: str) -> bool:
    loops = (loop for loop in _loops(study.flow) if loop.pool == pool)
    return any("options" in step.requires() for loop in loops for step in _steps(loop.flow))
