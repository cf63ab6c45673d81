"""The order of values in a report: that which a study declares, then that of the papers.

A study declares the order of its own values by its factors, models and problems. Values in neither keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from app.extensions.analysis.estimates import Finding
from experiments.study.cells import cells
from experiments.study.study import Study

Order = Mapping[str, Sequence[str]]
EVERY = ("all models", "all")
# The groups of all values together come first.
PAPERS: Order = MappingProxyType(
    {
        "dataset": (
            "elementary_mathematics",
            "high_school_mathematics",
            "college_mathematics",
            "conceptual_physics",
            "moral_scenarios",
            "moral_reasoning",
        ),
        "model": ("gpt-4o", "gpt-4o-mini", "llama-3.1-8b", "instructgpt", "chatgpt", "chatgpt4"),
        "condition": ("answer-first", "direct-to-AI"),
        "answer_type": (
            "letter_only_zero_shot",
            "letter_only_few_shot",
            "free_text",
            "user-alone",
            "user-AI",
            "user-AI.answer-first",
            "user-AI.direct-to-AI",
        ),
        "column": (
            "Q_overall",
            "Q2_harmful_content_overall",
            "Q3_bias_overall",
            "Q3_unfair_bias_overall",
            "Q4_misinformation_overall",
            "Q6_policy_guidelines_overall",
        ),
        "kind": ("alone", "with AI", "change with the AI"),
    }
)
# The values of the columns of estimates' groups, as the papers' tables have them.


def declared_order(study: Study | None) -> Order:
    found: dict[str, dict[str, None]] = {}
    for order in (*([_of_study(study)] if study else []), PAPERS):
        for column, values in order.items():
            found.setdefault(column, dict.fromkeys(EVERY)).update(dict.fromkeys(values))
    known = {column: tuple(values) for column, values in found.items()}
    return known | {"other": known["model"]}


def _of_study(study: Study) -> Order:
    """The values of the study's factors, its models, and the datasets of its problems."""
    cell_values = [cell.values for cell in cells(study.factors, study.pools)]
    factors = {name: tuple(dict.fromkeys(values[name] for values in cell_values)) for name in study.factors}
    datasets = dict.fromkeys(problem.dataset for pool in study.pools.values() for problem in pool)
    return {**factors, "model": (*factors.get("model", ()), *study.file.models), "dataset": tuple(datasets)}


def in_order(finding: Finding, order: Order) -> Finding:
    """The finding with its estimates sorted by their groups, one column after the other; names do not change.

    Values that `order` does not have follow in the order in which they were.
    """
    columns = tuple(dict.fromkeys(column for one in finding.estimates for column in one.groups))
    if not order.keys() & {*columns}:
        return finding
    places = {column: dict(_places(finding, column, order.get(column, ()))) for column in columns}
    last = len(finding.estimates) + max(map(len, order.values()))

    def place(groups: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(places[column][groups[column]] if column in groups else last for column in columns)

    return replace(finding, estimates=tuple(sorted(finding.estimates, key=lambda one: place(one.groups))))


def _places(finding: Finding, column: str, declared: Sequence[str]) -> Iterator[tuple[str, int]]:
    there = dict.fromkeys(one.groups[column] for one in finding.estimates if column in one.groups)
    known = [value for value in declared if value in there]
    return ((value, number) for number, value in enumerate(dict.fromkeys((*known, *there))))
