"""Checks of the orders of options: contradictions, and biases of the measures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiments.errors import ValidationIssue
from experiments.study.option_order import LETTERS
from experiments.study.problem_answer import OptionsStep, shuffled_pools
from experiments.study.study import Study

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


def order_issues(study: Study) -> Iterator[ValidationIssue]:
    for name, source in study.file.problems.items():
        pool = study.pools.get(name, ())
        if source.options != "listed" and pool and not any(problem.options for problem in pool):
            words = f"{source.options!r} needs problems with options, and none of the pool has any"
            yield ValidationIssue(f"problems.{name}.options", words)
    for name, shown in shuffled_pools(study).items():
        if many := next((one for one in shown if len(one.options) > len(LETTERS)), None):
            words = f"{many.id!r} has {len(many.options)} options; at most {len(LETTERS)} can be shuffled"
            yield ValidationIssue(f"problems.{name}", words)


def order_advice(study: Study) -> Iterator[str]:
    shuffled = shuffled_pools(study)
    for name, pool in shuffled.items():
        options = [(one.id, option.text) for one in pool for option in one.options]
        if found := [(where, text) for where, text in options if REFERS.fullmatch(text.strip())]:
            yield (
                f"problems.{name}: the option {found[0][1]!r} of {found[0][0]!r} names others by their places "
                f"({len(found)} in all), which differ where options are shuffled. Write `options: listed` or reword it."
            )
    answered = {
        one.turn.pool
        for one in study.placed_steps
        if one.turn and isinstance(one.step, OptionsStep) and "options" in one.step.requires()
    }
    for name, pool in study.pools.items():
        places = [[one.key for one in p.options].index(p.answer) for p in pool if p.options and p.answer]
        if name in answered.difference(shuffled) and len(places) >= SEVERAL and len({*places}) == 1:
            yield (
                f"problems.{name}: the right option is number {places[0] + 1} in all {len(places)} problems. Write "
                "`options: shuffled`, so that participants cannot notice."
            )
