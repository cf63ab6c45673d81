"""The calls of a run to one model on one server: their results, and when the model is given up.

A server that denies everybody (a key, a model's name, a quota) is given up once its circuit is open; one that brings
nothing for long; and one that rejects one request after another, as a wrong option does.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from app.backends.base import StreamEnd
from app.backends.model_ref import ModelRef
from app.batch.pending import Sample
from app.batch.plan import ModelUsage
from app.calls.caller import StopSignal
from app.calls.model_pool import CircuitBreaker
from app.errors import BackendDenied, BackendError, BackendRejected, BackendUnavailable
from storage.tables import SETTLED

# Reasons that are the request's own and say nothing about others.
OWN = ("context_length_exceeded", "status_413", *SETTLED)
MOST_REJECTED = 20


@dataclass(slots=True)
class ModelQueue:
    """The state of one model in a run; `slots` are its server's, which other models may share."""

    asked: ModelRef
    breaker: CircuitBreaker
    patience_s: float
    """The time for which a server may send nothing before the model is given up."""
    slots: asyncio.Semaphore
    room: asyncio.Semaphore
    """The most samples in progress that began here: bounds what waits, also in other queues."""
    queue: asyncio.Queue[tuple[ModelQueue, Sample]] = field(default_factory=asyncio.Queue)
    """The samples to ask for, each with the queue in which it began."""
    leaving: StopSignal = field(default_factory=StopSignal)
    """Given when the model is given up, or the run is to end."""
    heard_s: float = field(default_factory=time.monotonic)
    stopped: str | None = None
    replies: int = 0
    refused: int = 0
    failed: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    _rejected: int = 0
    _rejected_last: str = ""
    """The cell of the last rejected call: repeated rejections of one cell count once (its text may be the cause)."""

    def tried(self, cost: float | None) -> None:
        self.requests += 1
        self.cost += cost or 0.0

    def replied(self, end: StreamEnd) -> None:
        self._reset_rejections()
        self.replies += 1
        self.prompt_tokens += end.prompt_tokens or 0
        self.completion_tokens += end.completion_tokens or 0

    def failing(self, error: BackendError) -> None:
        denied = isinstance(error, BackendDenied) and self.breaker.is_open
        silent_s = max(time.monotonic() - self.heard_s, error.retry_after_s or 0.0)
        if denied or (isinstance(error, BackendUnavailable) and silent_s > self.patience_s):
            self.stop(error)

    def gave_up(self, error: BackendError, cell: str) -> None:
        if error.reason in SETTLED:
            self._reset_rejections()
            self.refused += 1
            return
        self.failed += 1
        if isinstance(error, BackendRejected) and not isinstance(error, BackendDenied) and error.reason not in OWN:
            self._rejected += cell != self._rejected_last
            self._rejected_last = cell
            if self._rejected >= MOST_REJECTED:
                self.stop(error)

    def _reset_rejections(self) -> None:
        self._rejected, self._rejected_last = 0, ""
        self.heard_s = time.monotonic()

    def stop(self, error: BackendError) -> None:
        if self.stopped is None:
            self.leaving.give()
            self.stopped = f"{self.asked.label}: given up, as call after call failed. The last said: {error}"

    def used(self) -> ModelUsage:
        retried = max(0, self.requests - self.replies - self.refused - self.failed)
        tokens = self.prompt_tokens, self.completion_tokens
        counts = self.replies, self.refused, self.failed, retried
        cost = self.cost if self.asked.model.price else None
        return ModelUsage(self.asked.label, *counts, *tokens, cost, self.stopped)
