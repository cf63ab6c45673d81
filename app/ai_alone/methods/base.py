"""The interface of a method: how a model is asked a question without a participant, and how its replies are scored.

A method has no state and makes no calls: `ask` builds the next prompt from the replies so far, and `read` computes the
result from the replies alone. Stored replies can therefore be scored again at any time without a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from app.backends.base import PromptMessage, Request, ToolSpec
from app.backends.model_ref import ModelRef
from app.batch.task import Prompt
from app.errors import AloneError
from experiments.study.sections.ai_alone import AiAloneSpec
from experiments.study.sections.tools import ToolSet
from experiments.study.texts import fill
from problems.problem import Problem

# Maximum length, in tokens, of a reply that should be one letter (ChatBench's value).
LETTER_TOKENS = 10


@dataclass(frozen=True, slots=True)
class SampleResult:
    """`refused`: the server marked the reply as a refusal; `failed`: there was no reply; `unparsed`: no answer can be
    read from it. `right` is None if the sample does not count; `answer` is None if the model chose none of the
    options."""

    kind: Literal["answered", "unparsed", "refused", "failed"]
    answer: str | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class MethodContext:
    """The parts of prompts: the model, the extractor if there is one, and the study's settings."""

    asked: ModelRef
    alone: AiAloneSpec
    extractor: ModelRef | None = None
    examples: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    """By dataset, the questions that can be shown as examples with their answers."""
    tools: ToolSet | None = None
    specs: tuple[ToolSpec, ...] = ()
    """The tools that the server of `tools` offers. Where the answer is a letter, the model is offered none."""

    def question(self, *said: str, max_tokens: int | None = None) -> Prompt:
        """A prompt for the model. `said` alternates user and model messages; `max_tokens` defaults to the study's."""
        prompt = self._to(self.asked, self.alone.system, said, max_tokens)
        if self.tools is None or max_tokens is not None:
            return prompt
        return replace(prompt, request=replace(prompt.request, tools=self.specs), tools=self.tools)

    def extraction(self, text: str) -> Prompt:
        if self.extractor is None:
            raise AloneError(
                "No model is set to extract answers from free text: write `ai_alone: {extractor: MODEL}` into the "
                "study file, or name an extractor for this run: a model of the study, or BACKEND:NAME."
            )
        return self._to(self.extractor, self.alone.extraction_system, (text,), None)

    def shown(self, dataset: str, count: int) -> tuple[Problem, ...]:
        """The first `count` examples of a dataset; raises AloneError if there are fewer."""
        found = self.examples.get(dataset, ())[:count]
        if len(found) < count:
            raise AloneError(
                f"{count} examples of {dataset!r} are needed and there are {len(found)}: name a pool of the study that "
                "has them in `ai_alone: {examples: POOL}`, or leave out the methods that show examples."
            )
        return found

    def _to(self, model: ModelRef, system: str, said: Sequence[str], max_tokens: int | None) -> Prompt:
        first = (PromptMessage("system", system),) if system else ()
        turns = tuple(PromptMessage("assistant" if n % 2 else "user", text) for n, text in enumerate(said))
        return Prompt(
            model,
            Request(
                model=model.name,
                messages=first + turns,
                temperature=self.alone.temperature,
                max_tokens=max_tokens or self.alone.max_tokens,
                options=model.model.options,
            ),
        )


def filled(template: str, **values: str) -> str:
    return fill(template, values.__getitem__)


class Method(Protocol):
    steps: int
    own: int
    """The first `own` calls go to the model itself, the others to the extractor. (A method may also have `prompts`: the
    names of the study's prompts that it uses, which exports then state.)"""

    def ask(self, context: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        """The next prompt after these replies; raises AloneError without an extractor or examples that it needs."""
        ...

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None: ...
