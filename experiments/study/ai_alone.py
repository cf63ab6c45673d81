"""The settings in a study file for models that answer its questions alone, without people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from experiments.errors import ValidationIssue, suggestion
from experiments.study.base_model import StrictModel
from experiments.study.template import names
from problems.problem import Problem

if TYPE_CHECKING:
    from experiments.study.resolve import Study

EXTRACTION = """\
Below are a question and what somebody replied to it. Do not answer the question yourself: say only which answer the \
reply gives.

Question:
{{question}}

Reply:
{{reply}}

Return one JSON object with these keys, and nothing else:
- "attempted_answer": true if the reply commits to an answer, false if it does not
- "answer_val": the answer that it gives, as a text; null if it gives none
- "answer_letter": the letter of the option which that answer is; null if it is none of them, or there are no options
"""
ATTENTION = "attention_check"
"""The dataset of attention checks. (ChatBench's)"""
NAMES = ("question", "reply")


class AiAloneSpec(StrictModel):
    """How models answer the study's questions alone. The defaults are ChatBench's."""

    system: str = "You are a helpful AI assistant."
    """The system prompt of every method; empty for none."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    """The sampling temperature, also of the extractor."""
    max_tokens: Annotated[int, Field(ge=1)] = 1000
    """The maximum length of a reply in tokens where the answer is more than a letter. A letter has 10."""
    dataset_labels: dict[str, str] = {}
    """The label of a dataset in the line above the examples. Its name with spaces by default."""
    examples: str = ""
    """The pool of `problems` whose first five problems of each dataset are shown with their answers by
    `letter_only_few_shot`. These problems are not asked."""
    extractor: str = ""
    """The model that extracts answers from free text: one of the study's, or `backend:name`."""
    extraction_prompt: str = EXTRACTION
    """The prompt for the extractor, in which `{{question}}` (with its options, if the model was given them) and
    `{{reply}}` are filled in."""


def ai_alone_of(study: Study) -> AiAloneSpec:
    """The study's `ai_alone` settings, or the defaults (ChatBench's)."""
    return study.file.ai_alone or AiAloneSpec()


def validate_ai_alone(study: Study) -> Iterator[ValidationIssue]:
    """Errors in the names under `ai_alone`."""
    alone = ai_alone_of(study)
    datasets = {problem.dataset for pool in study.pools.values() for problem in pool}
    for name in alone.dataset_labels:
        if name not in datasets:
            yield ValidationIssue(
                f"ai_alone.dataset_labels.{name}", f"no problem is of the dataset {name!r}{suggestion(name, datasets)}"
            )
    if alone.examples and alone.examples not in study.file.problems:
        hint = suggestion(alone.examples, study.file.problems)
        yield ValidationIssue("ai_alone.examples", f"no pool of problems is called {alone.examples!r}{hint}")
    elif any(not problem.options or problem.answer is None for problem in study.pools.get(alone.examples, ())):
        yield ValidationIssue(
            "ai_alone.examples", f"{alone.examples!r} has problems without options or without a known answer"
        )
    if alone.extractor and ":" not in alone.extractor and alone.extractor not in study.file.models:
        hint = suggestion(alone.extractor, study.file.models)
        yield ValidationIssue(
            "ai_alone.extractor", f"no model is called {alone.extractor!r}{hint} Or write `backend:name`."
        )
    yield from _extraction_faults(alone.extraction_prompt)


def _extraction_faults(text: str) -> Iterator[ValidationIssue]:
    used = list(names(text))
    for name in used:
        if name not in NAMES:
            yield ValidationIssue(
                "ai_alone.extraction_prompt", f"{{{{{name}}}}} is not defined here{suggestion(name, NAMES)}"
            )
    if "reply" not in used:
        yield ValidationIssue(
            "ai_alone.extraction_prompt", "does not contain {{reply}}, so the reply would not be read"
        )


def subject_of(alone: AiAloneSpec, dataset: str) -> str:
    """The label of a dataset in a prompt."""
    labels: Mapping[str, str] = alone.dataset_labels
    return labels.get(dataset, dataset.replace("_", " "))


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
