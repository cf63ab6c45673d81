"""The settings in a study file for models that answer its questions alone, without people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from experiments.instruments import chatbench_prompts
from experiments.study.base_model import StrictModel

ATTENTION = "attention_check"


class AiAlonePrompts(StrictModel):
    """The prompts of models alone. The defaults are ChatBench's, word for word. `{{question}}` is the question with its
    lettered options; `{{letters}}` are the letters as `"A", "B", "C", or "D"`, `{{range}}` as `A through D`."""

    letter_only_zero_shot: str = chatbench_prompts.LETTER_ONLY
    """The question, and that a letter is to be the answer."""
    letter_only_few_shot: str = chatbench_prompts.FEW_SHOT
    """Likewise with `{{examples}}`, the solved questions, and `{{subject}}`, the label of their dataset."""
    free_text: str = chatbench_prompts.FREE_TEXT
    """The question alone."""
    extraction: str = chatbench_prompts.EXTRACTION
    """For the extractor, which reads the answer from `{{reply}}`, the model's reply in free text."""


SLOTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "letter_only_zero_shot": (("question",), ("letters", "range", "subject")),
    "letter_only_few_shot": (("examples", "question"), ("letters", "range", "subject")),
    "free_text": (("question",), ()),
    "extraction": (("reply",), ("question", "letters")),
}


class AiAloneSpec(StrictModel):
    """The study's questions for models alone. The defaults are ChatBench's."""

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
    tools: str = ""
    """The set of `tools` that models may use where the answer is more than a letter; empty for none. Calls that a
    participant would have to allow are refused, as nobody is there."""
    prompts: AiAlonePrompts = AiAlonePrompts()
    """The prompts."""


def subject_of(alone: AiAloneSpec, dataset: str) -> str:
    labels: Mapping[str, str] = alone.dataset_labels
    return labels.get(dataset, dataset.replace("_", " "))
