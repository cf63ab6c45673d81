"""The settings in a study file for models that answer its questions alone, without people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from experiments.errors import ValidationIssue, suggestion
from experiments.instruments import chatbench_prompts
from experiments.study.base_model import StrictModel
from experiments.study.template import names
from problems.problem import Problem

if TYPE_CHECKING:
    from experiments.study.resolve import Study

ATTENTION = "attention_check"
"""The dataset of attention checks. (ChatBench's)"""


class AiAlonePrompts(StrictModel):
    """The prompts of models alone. The defaults are ChatBench's, word for word. `{{question}}` is the question with its
    lettered options; `{{letters}}` are the letters as `"A", "B", "C", or "D"`, `{{range}}` as `A through D`."""

    letter_only_zero_shot: str = chatbench_prompts.LETTER_ONLY
    """The question, and that a letter is to be the answer."""
    letter_only_few_shot: str = chatbench_prompts.FEW_SHOT
    """Likewise with `{{examples}}`, the solved questions, and `{{subject}}`, the label of their dataset."""
    free_text: str = chatbench_prompts.FREE_TEXT
    """The question alone, also for `free_text_no_options`, where `{{question}}` has no options."""
    extraction: str = chatbench_prompts.EXTRACTION
    """For the extractor, which reads the answer from `{{reply}}`, the model's reply in free text."""
    extraction_no_options: str = chatbench_prompts.EXTRACTION_WITHOUT_OPTIONS
    """Likewise where the model was given no options."""
    check: str = chatbench_prompts.CHECK
    """For the extractor, which says yes or no: whether `{{given}}`, the answer in the reply, is `{{right}}`, the
    correct one."""
    zero_shot_cot: str = chatbench_prompts.THINK
    """The question, and that the model is to think step by step."""
    zero_shot_cot_letter: str = chatbench_prompts.THOUGHT
    """The second call, with the model's first reply as `{{reasoning}}`, which asks for the letter."""
    zero_shot_cot_direct_letter: str = chatbench_prompts.THOUGHT_DIRECT
    """The second call of `zero_shot_cot_direct`."""


SLOTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "letter_only_zero_shot": (("question",), ("letters", "range", "subject")),
        "letter_only_few_shot": (("examples", "question"), ("letters", "range", "subject")),
        "free_text": (("question",), ()),
        "extraction": (("reply",), ("question", "letters")),
        "extraction_no_options": (("reply",), ("question",)),
        "check": (("given", "right"), ("question",)),
        "zero_shot_cot": (("question",), ()),
        "zero_shot_cot_letter": (("question", "reasoning"), ("letters", "range")),
        "zero_shot_cot_direct_letter": (("question", "reasoning"), ("letters", "range")),
    }
)
"""The names that each prompt must use, and those that it may use as well."""


class AiAloneSpec(StrictModel):
    """How models answer the study's questions alone. The defaults are ChatBench's."""

    system: str = chatbench_prompts.ASSISTANT
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
    extraction_system: str = chatbench_prompts.HELPER
    """The system prompt of the extractor; empty for none."""
    prompts: AiAlonePrompts = AiAlonePrompts()
    """The prompts."""


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
    for name, text in alone.prompts:
        yield from _slots(f"ai_alone.prompts.{name}", text, *SLOTS[name])


def _slots(where: str, text: str, needed: Sequence[str], more: Sequence[str]) -> Iterator[ValidationIssue]:
    used, allowed = list(names(text)), (*needed, *more)
    for name in used:
        if name not in allowed:
            yield ValidationIssue(where, f"{{{{{name}}}}} is not defined here{suggestion(name, allowed)}")
    for name in needed:
        if name not in used:
            yield ValidationIssue(where, f"does not contain {{{{{name}}}}}, so the model would not see it")


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
