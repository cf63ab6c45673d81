"""One model on one server, as a run asks it: its pace, what it brought, and when it is given up.

A key that is refused, a model that is unknown or a quota that is used up fail every call alike, so a few in a row end
the asking; so do calls that are given up one after another, and a server that only ever says 429.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from app.alone.engine.pace import Pace
from app.alone.engine.plan import Used
from app.alone.engine.survey import Sample
from app.backends.base import Backend, Whole
from app.errors import BackendDenied, BackendError, BackendRejected, BackendUnavailable
from app.naming import Asked
from storage.ai_tables import SETTLED

HOPELESS = ("settings", "bad_options")
"""Reasons that hold for every call of a run to a model, besides those for which its server denies everybody."""
OWN = ("context_length_exceeded", "status_413", *SETTLED)
"""Reasons that are the request's own and say nothing about others."""
MOST_HOPELESS, MOST_REJECTED, MOST_GIVEN_UP = 3, 20, 50
PATIENCE_S = 900.0
"""For how long a server may answer with 429 alone."""
CHARS_PER_TOKEN, REPLY_TOKENS = 4, 256


@dataclass(slots=True)
class Lane:
    """What a run knows of one model; `slots` are its server's, which it may share with other models."""

    asked: Asked
    backend: Backend
    pace: Pace
    slots: asyncio.Semaphore
    room: asyncio.Semaphore
    """How many samples may be on their way that began here: bounds what waits, also in other lanes."""
    now: Callable[[], float]
    heard_s: float
    """When a reply came last."""
    queue: asyncio.Queue[tuple[Lane, Sample]] = field(default_factory=asyncio.Queue)
    """What is to be asked here, each with the lane in which it began."""
    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who waits for the pace waits in line."""
    waiting: int = 0
    """How many calls wait for their next try."""
    helpers: int = 0
    """How many tasks call in place of those."""
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
    """The cell whose call was rejected last: of one in a row one counts, as its text may be the reason."""
    _given_up: int = 0

    def tokens(self, chars: int, most: int | None) -> int:
        """About how many tokens a call takes, by what calls took so far."""
        usual = self.completion_tokens // self.replies if self.replies else min(most or REPLY_TOKENS, REPLY_TOKENS)
        return chars // CHARS_PER_TOKEN + usual

    def replied(self, reply: Whole) -> None:
        """A reply came."""
        self._heard()
        self.replies += 1
        prompt, completion = reply.end.prompt_tokens or 0, reply.end.completion_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.pace.replied(reply.limits, prompt + completion)

    def gave_up(self, error: BackendError, cell: str) -> None:
        """A call of a cell was given up; the model may be, too."""
        if error.reason in SETTLED:
            self._heard()
            self.refused += 1
            return
        self.failed += 1
        hopeless = isinstance(error, BackendDenied) or error.reason in HOPELESS
        if isinstance(error, BackendRejected) and error.reason not in OWN:
            self._rejected += hopeless or cell != self._rejected_last
            self._rejected_last = cell
        if isinstance(error, BackendUnavailable):
            self._given_up += 1
        most = MOST_HOPELESS if hopeless else MOST_REJECTED
        if self._rejected >= most or self._given_up >= MOST_GIVEN_UP:
            self.stop(error)

    def _heard(self) -> None:
        self._rejected, self._rejected_last, self._given_up = 0, "", 0
        self.heard_s = self.now()

    def told_to_wait(self, error: BackendError) -> None:
        """The server said 429; if it says nothing else for long, or will not, it is given up."""
        if max(self.now() - self.heard_s, error.retry_after_s or 0.0) > PATIENCE_S:
            self.stop(error)

    def stop(self, error: BackendError) -> None:
        """Ask this model no more."""
        if self.stopped is None:
            self.stopped = f"{self.asked.label}: given up, as call after call failed. The last said: {error}"

    def used(self) -> Used:
        """What the model was used for."""
        retried = max(0, self.requests - self.replies - self.refused - self.failed)
        tokens = self.prompt_tokens, self.completion_tokens
        counts = self.replies, self.refused, self.failed, retried
        cost = self.cost if self.asked.model.price else None
        return Used(self.asked.label, *counts, *tokens, cost, self.stopped)
