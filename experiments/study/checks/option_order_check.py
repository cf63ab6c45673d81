"""Orders of options that contradict something, and orders that bias what is measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from experiments.errors import ValidationIssue
from experiments.study.fields import MultipleChoiceField, SingleChoice
from experiments.study.location import exclusive
from experiments.study.option_order import LETTERS
from experiments.study.problem_answer import OptionsStep
from experiments.study.schema import Loop, Node
from experiments.study.step import Step
from experiments.study.study import Study
from problems.problem import Problem

# From this number of problems on, the same place of all right options is no accident.
SEVERAL = 4
# Options that name others by their places or letters.
REFERS = re.compile(
    r".*\b(?:(?:all|none|any|some|both|neither|either|one|two) (?:of )?(?:the )?(?:above|below|preceding))\b.*"
    r"|.*\b(?:alle|keine|beide|eine|nichts)[snr]?\b.*\b(?:oben|unten|obigen|genannten|vorigen|davor)\b.*"
    r"|.*(?:ما|مما) (?:سبق|ذكر|ورد|تقدم).*"
    r"|(?:both|either|neither|only|sowohl|weder|nur|كلا)?\s*\(?[A-H]\)?(?:,\s*\(?[A-H]\)?)*,?\s*"
    r"(?:and|or|nor|&|und|oder|noch|als auch|و|أو)\s*\(?[A-H]\)?\.?",
    re.IGNORECASE,
)
# Options that people look for at the end.
LAST = re.compile(
    r"(?:other|none of|something else|(?:I )?(?:do not|don.t) know|prefer not|andere|sonstige|keine[sr]? (?:davon|der)"
    r"|weiß (?:ich )?nicht|أخرى|غير ذلك|لا شيء|لا أعرف)\b.*",
    re.IGNORECASE,
)


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
    for name, pool in shuffled.items():
        options = [(one.id, option.text) for one in pool for option in one.options]
        if found := [(where, text) for where, text in options if REFERS.fullmatch(text.strip())]:
            yield (
                f"problems.{name}: the option {found[0][1]!r} of {found[0][0]!r} names others by their places "
                f"({len(found)} in all), which differ where options are shuffled. Write `options: listed` or reword it."
            )
    for name, pool in study.pools.items():
        places = [[one.key for one in p.options].index(p.answer) for p in pool if p.options and p.answer]
        if name not in shuffled and len(places) >= SEVERAL and len({*places}) == 1 and _answered(study, name):
            yield (
                f"problems.{name}: the right option is number {places[0] + 1} in all {len(places)} problems. Write "
                "`options: shuffled`, so that participants cannot notice."
            )
    yield from (words for loop in _loops(study.flow) for words in _two_orders(study, loop))
    for path, step in study.steps:
        order = getattr(step, "options", None) if not isinstance(step, OptionsStep) else None
        for field in step.questions_asked() if order in ("shuffled", "shuffled_once") else ():
            shown = (
                field.options.items()
                if isinstance(field, SingleChoice | MultipleChoiceField) and not field.last
                else ()
            )
            if ends := [key for key, text in shown if LAST.match(text.strip()) or REFERS.fullmatch(text.strip())]:
                yield f"{path}: shuffled, {ends[0]!r} of {field.name!r} may stand anywhere. Write `last: {ends}`."


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


def _two_orders(study: Study, loop: Loop) -> Iterator[str]:
    """A warning if the same options are shown in two orders within a turn."""
    source = study.file.problems.get(loop.pool)
    for one, other in combinations(_steps(loop.flow), 2):
        orders = one.options_order(source), other.options_order(source)
        if len({*orders}) > 1 and not exclusive(one.when, other.when):
            yield (
                f"each {loop.each}: {one.id!r} shows the options {orders[0]} and {other.id!r} {orders[1]}, so a letter "
                "means two things to a participant. Write the same `options` at both, or at the pool."
            )
            return
