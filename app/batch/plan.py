"""The input and output of the batch engine: plans and limits; progress and the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.batch.task import Task

CONCURRENCY, TRIES = 32, 5
PATIENCE_S = 900.0
# Why a run ends: all calls are done; the budget is used up; it was stopped; a model was given up.
DONE, BUDGET, INTERRUPTED, STOPPED = "done", "budget", "interrupted", "stopped"


@dataclass(frozen=True, slots=True)
class RunPlan:
    study: str
    what: str
    """The kind of run, for the log: `alone`, `annotate`."""
    cells: Sequence[Task]
    details: Mapping[str, Any] = field(default_factory=dict)
    """Other facts about the run for the log: hash, models, methods, repeats."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run; rates are per model on each server."""

    concurrency: int = CONCURRENCY
    """Calls at once, for each backend and server."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    budget: float | None = None
    """The most that the run may cost, in the study's currency."""
    tries: int = TRIES
    """The number of attempts before a call counts as failed; a 429 response is not counted as an attempt."""
    patience_s: float = PATIENCE_S
    """A model is given up if it sends nothing for this long, or if its server asks for a longer pause."""


@dataclass(slots=True)
class RunProgress:
    samples: int
    reused: int
    """The samples complete before the run."""
    asked: int = 0
    """The samples that this run completed."""
    failed: int = 0
    refused: int = 0
    """The samples that a model refused in this run."""

    @property
    def done(self) -> int:
        return self.reused + self.asked + self.refused


@dataclass(frozen=True, slots=True)
class ModelUsage:
    label: str
    replies: int
    refused: int
    failed: int
    retried: int
    """Requests that were made again: after 429, errors and broken connections."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    stopped: str | None = None
    """The reason why the model was given up."""


@dataclass(frozen=True, slots=True)
class RunResult:
    run: str
    why: str
    seconds: float
    progress: RunProgress
    models: tuple[ModelUsage, ...]

    @property
    def asked(self) -> int:
        """Replies that this run brought, refusals among them."""
        return sum(one.replies + one.refused for one in self.models)

    @property
    def cost(self) -> float:
        return sum(one.cost or 0.0 for one in self.models)
