"""What a method is: how a model is asked a question alone, and what its replies mean.

A method keeps nothing and asks nobody: `ask` makes the next question from what was replied so far, and `read` says what
the replies come to, from the replies alone, so that what is stored can be read again at any time without a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.task import Prompt
from app.errors import AloneError
from experiments.study.ai_alone import AiAloneSpec
from problems.problem import Problem

LETTER_TOKENS = 10
"""The longest reply that shall be a letter, in tokens. (ChatBench's)"""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What came of a sample. `refused` is only what the server marks as a refusal, `failed` what brought no reply at
    all, `unparsed` a reply in which no answer can be read.

    `right` is None where it does not count; `answer` is None where the model committed to none of those offered.
    """

    kind: Literal["answered", "unparsed", "refused", "failed"]
    answer: str | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class MethodContext:
    """Whom a method asks and how: the model, the extractor if there is one, and what the study says."""

    asked: ModelRef
    alone: AiAloneSpec
    extractor: ModelRef | None = None
    examples: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    """By dataset, what may be shown with its answer."""

    def question(self, *said: str, max_tokens: int | None = None) -> Prompt:
        """A question to the model, by turns the user's words and the model's; as long as the study says unless told."""
        return self._to(self.asked, said, max_tokens)

    def extraction(self, text: str) -> Prompt:
        """A question to the extractor; raises AloneError where there is none."""
        if self.extractor is None:
            raise AloneError(
                "No model is set to extract answers from free text: write `ai_alone: {extractor: MODEL}` into the "
                "study file, or add --extractor MODEL; a model of the study, or BACKEND:NAME."
            )
        return self._to(self.extractor, (text,), None)

    def shown(self, dataset: str, count: int) -> tuple[Problem, ...]:
        """So many examples of a dataset; raises AloneError where there are fewer."""
        found = self.examples.get(dataset, ())[:count]
        if len(found) < count:
            raise AloneError(
                f"{count} examples of {dataset!r} are needed and there are {len(found)}: name a pool of the study that "
                "has them in `ai_alone: {examples: POOL}`, or leave out the methods that show examples."
            )
        return found

    def _to(self, asked: ModelRef, said: Sequence[str], max_tokens: int | None) -> Prompt:
        system = (PromptMessage("system", self.alone.system),) if self.alone.system else ()
        turns = tuple(PromptMessage("assistant" if n % 2 else "user", text) for n, text in enumerate(said))
        return Prompt(
            asked,
            Request(
                model=asked.name,
                messages=system + turns,
                temperature=self.alone.temperature,
                max_tokens=max_tokens or self.alone.max_tokens,
                options=asked.model.options,
            ),
        )


class Method(Protocol):
    """A way to ask a model a question alone."""

    steps: int
    """The most calls that a sample takes."""
    own: int
    """How many of them, the first ones, the model itself is asked; the extractor the others."""

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        """What is asked next, of what was replied by the texts alone; raises AloneError if the terms lack what it
        needs."""
        ...

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        """What the replies come to; None where more is to be asked."""
        ...
