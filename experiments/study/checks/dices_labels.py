"""Labels of a study that exports DICES's columns: only those of the release, or the export is no DICES file.

Checked are the options of questions that are named after a closed column, and the labels of the conversations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from experiments.errors import ValidationIssue, suggestion
from experiments.instruments.dices_raters import CLOSED, RAW_RACE_COLUMNS, RAW_RACES
from experiments.study.fields import ChoiceField
from experiments.study.step import Step
from problems.dices import label_faults
from problems.problem import Problem

ALLOWED = {**CLOSED, **dict.fromkeys(RAW_RACE_COLUMNS, tuple(RAW_RACES))}


def option_faults(step: Step) -> Iterator[str]:
    """What is wrong with a step's questions about the rater."""
    for asked in step.questions_asked():
        allowed = ALLOWED.get(asked.name)
        if allowed is None:
            continue
        if not isinstance(asked, ChoiceField):
            yield f"asks {asked.name!r}, a column of DICES, without options{suggestion('', allowed)}"
            continue
        for option in asked.options:
            if option not in allowed:
                yield f"{option!r} is no value of {asked.name!r} in DICES{suggestion(option, allowed)}"


def conversation_faults(pools: Mapping[str, Sequence[Problem]]) -> Iterator[ValidationIssue]:
    for name, pool in pools.items():
        for problem in pool:
            faults = list(label_faults(problem.tags)) if problem.dialogue else []
            if faults:
                yield ValidationIssue(f"problems.{name}", f"problem {problem.id!r}: {'; '.join(faults)}")
                break
