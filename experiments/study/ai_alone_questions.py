"""The questions that a study's models answer alone, and the check of these settings against its problems."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue, suggestion, unknown
from experiments.study.sections.ai_alone import ATTENTION, SLOTS, AiAloneSpec
from experiments.study.study import Study
from experiments.study.texts import slot_errors
from problems.problem import Problem


def ai_alone_of(study: Study) -> AiAloneSpec:
    """The study's `ai_alone` settings, or the defaults (ChatBench's)."""
    return study.file.ai_alone or AiAloneSpec()


def validate_ai_alone(study: Study) -> Iterator[ValidationIssue]:
    alone = ai_alone_of(study)
    if study.file.ai_alone and not any(questions(study)):
        yield ValidationIssue("ai_alone", "needs problems with options: models alone give no numbers or free answers")
    datasets = {problem.dataset for pool in study.pools.values() for problem in pool}
    for name in alone.dataset_labels:
        if name not in datasets:
            yield ValidationIssue(
                f"ai_alone.dataset_labels.{name}", f"no problem is of the dataset {name!r}{suggestion(name, datasets)}"
            )
    if alone.examples and alone.examples not in study.file.problems:
        yield ValidationIssue("ai_alone.examples", unknown("pool of problems", alone.examples, study.file.problems))
    elif any(not problem.options or problem.answer is None for problem in study.pools.get(alone.examples, ())):
        yield ValidationIssue(
            "ai_alone.examples", f"{alone.examples!r} has problems without options or without a known answer"
        )
    for name, text in alone.prompts:
        yield from (ValidationIssue(f"ai_alone.prompts.{name}", words) for words in slot_errors(text, *SLOTS[name]))


def questions(study: Study) -> Iterator[Problem]:
    """The study's questions with options, each once: without attention checks, and without the examples."""
    pools = (pool for name, pool in study.pools.items() if name != ai_alone_of(study).examples)
    found = {problem.id: problem for pool in pools for problem in pool if problem.options}
    return (problem for problem in found.values() if problem.dataset != ATTENTION)


def examples(study: Study) -> dict[str, tuple[Problem, ...]]:
    """The examples that may be shown with their answers, by dataset, in the order of the pool."""
    found: dict[str, tuple[Problem, ...]] = {}
    for problem in study.pools.get(ai_alone_of(study).examples, ()):
        found[problem.dataset] = (*found.get(problem.dataset, ()), problem)
    return found
