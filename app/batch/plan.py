"""What the engine is told to do, and what it tells: plans and limits go in, progress and an end come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.batch.task import Task

CONCURRENCY, TRIES = 32, 5
PATIENCE_S = 900.0
DONE, BUDGET, INTERRUPTED, STOPPED = "done", "budget", "interrupted", "stopped"
"""Why a run ends: everything was asked; the budget bears no further call; somebody stopped it; a model was given up."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be asked. `cells` may make its cells as they are asked for: each is looked at once for each sample."""

    study: str
    what: str
    """What kind of run it is, for the log: `alone`, `annotate`."""
    cells: Sequence[Task]
    told: Mapping[str, Any] = field(default_factory=dict)
    """What else the log is told of the run: hash, models, methods, repeats."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How hard the engine may press; rates are those of each model on each server."""

    concurrency: int = CONCURRENCY
    """Calls at once, for each backend and server."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    budget: float | None = None
    """The most that the run may cost, in the study's currency."""
    tries: int = TRIES
    """How often one call is made before it failed; being told to wait (429) is no try."""
    patience_s: float = PATIENCE_S
    """A model of which nothing comes for so long is given up, and one whose server asks for a longer pause."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: samples, but for `calls` and what they took."""

    samples: int
    """How many are wanted in all."""
    done: int
    """Those that are complete, also those that were before."""
    reused: int
    """Those that were complete before."""
    failed: int
    refused: int
    """Those that ended with a model's refusal, in this run."""
    calls: int
    """Requests that were made, with those that failed."""
    rate: float
    """Replies a second, of late."""
    tokens: int
    cost: float
    seconds_left: float | None
    """None as long as nobody can say."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model was used for in a run."""

    label: str
    replies: int
    refused: int
    failed: int
    retried: int
    """Requests that were made again: after 429, errors and broken connections."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """None where nobody knows its price."""
    stopped: str | None = None
    """Why the run left it, if it did."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    run: str
    why: str
    asked: int
    """Replies that this run brought, refusals among them."""
    reused: int
    """Samples that were complete before."""
    failed: int
    """Samples that were given up."""
    refused: int
    cost: float
    seconds: float
    progress: RunProgress
    models: tuple[ModelUsage, ...] = ()
