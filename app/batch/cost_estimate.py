"""An estimate of a plan before its first call: calls, tokens and cost, without those stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.batch.pending import find_pending
from app.batch.plan import RunPlan
from app.batch.task import Prompt, Task
from app.calls.model_pool import CHARS_PER_TOKEN
from storage.db.engine import Database

# About a token.
FILLER = "word"
FRAME_TOKENS = 4


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    label: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Calls are the most there can be, as a sample may end before its last step."""

    samples: int
    stored: int
    """Samples that are complete."""
    calls: int
    left: int
    """Calls that would be made now."""
    prompt_tokens: int
    completion_tokens: int
    models: tuple[ModelEstimate, ...]

    @property
    def cost(self) -> float:
        return sum(one.cost or 0.0 for one in self.models)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.models if one.cost is None)


def estimate(database: Database, plan: RunPlan, reply_tokens: int) -> CostEstimate:
    """The estimate of a plan's missing calls, with replies of so many tokens, or of `max_tokens` where that is less."""
    found = find_pending(database, plan.cells)
    models: dict[str, ModelEstimate] = {}
    wanted = 0
    for known in found.known:
        for step, question in enumerate(_questions(plan.cells[known.index], reply_tokens)):
            wanted += known.samples
            label, more = question.asked.label, _model_estimate(question, known.missing(step), reply_tokens)
            models[label] = _sum(models[label], more) if label in models else more
    sums = models.values()
    return CostEstimate(
        samples=found.samples,
        stored=found.stored,
        calls=wanted,
        left=sum(one.calls for one in sums),
        prompt_tokens=sum(one.prompt_tokens for one in sums),
        completion_tokens=sum(one.completion_tokens for one in sums),
        models=tuple(sums),
    )


def _questions(task: Task, reply_tokens: int) -> Iterator[Prompt]:
    """The prompts of a sample, if replies were of the usual length."""
    texts: list[str] = []
    while len(texts) < task.steps and (question := task.next(texts)):
        yield question
        texts.append(FILLER * reply_tokens)


def _model_estimate(asked_prompt: Prompt, calls: int, reply_tokens: int) -> ModelEstimate:
    request, price = asked_prompt.request, asked_prompt.asked.model.price
    prompt = calls * sum(len(message.text) // CHARS_PER_TOKEN + FRAME_TOKENS for message in request.messages)
    completion = calls * min(reply_tokens, request.max_tokens or reply_tokens)
    cost = price.of(prompt, completion) if price else None
    return ModelEstimate(asked_prompt.asked.label, calls, prompt, completion, cost)


def _sum(estimate: ModelEstimate, added_estimate: ModelEstimate) -> ModelEstimate:
    return ModelEstimate(
        estimate.label,
        estimate.calls + added_estimate.calls,
        estimate.prompt_tokens + added_estimate.prompt_tokens,
        estimate.completion_tokens + added_estimate.completion_tokens,
        None if estimate.cost is None or added_estimate.cost is None else estimate.cost + added_estimate.cost,
    )
