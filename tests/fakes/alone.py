"""Cells, and models that do as they are told, for the tests of what asks models alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.backends import registry
from app.backends.base import Backend, Delta, PromptMessage, Request, StreamEnd, TextDelta
from app.backends.model_ref import ModelRef
from app.batch.plan import RunLimits, RunPlan, RunProgress, RunResult
from app.batch.runner import run
from app.batch.task import Prompt, key_of
from app.config.settings import Settings
from app.errors import BackendBroken, BackendDenied, BackendRejected, BackendUnavailable
from experiments.study.sections.model_spec import ModelSpec, Price
from storage.ai_alone.replies import stored
from storage.db.engine import Database, open_database
from tests.fakes.sampled import Row, sampled

BACKEND = "told"
Told = Callable[[str], Exception | None]
HASTY = {"retry_wait_s": 0.001, "max_retry_wait_s": 0.002}
BUSY = BackendUnavailable("Wait.", reason="status_429", retry_after_s=0.001)
PRICE = Price(prompt=0, completion=10)
DOWN = BackendUnavailable("Away.", reason="status_500")
GONE = BackendUnavailable("The connection broke.", reason="connection")
GARBLED = BackendBroken("What is this?", reason="malformed")
NO = BackendBroken("The model refused to reply.", reason="refusal")
BAD = BackendRejected("Not like this.", reason="status_400")
NO_KEY = BackendDenied("Who are you?", reason="status_401")


@dataclass(frozen=True)
class Talk:
    """A cell of some steps, of which each says what was said so far; `last` answers its last step."""

    name: str
    samples: int = 1
    steps: int = 1
    temperature: float = 0.7
    model: str = "one"
    last: str = ""
    price: Price | None = PRICE

    @property
    def key(self) -> str:
        return key_of(self.name, self.steps, self.temperature, self.model, self.last)

    def next(self, texts: Sequence[str]) -> Prompt | None:
        if len(texts) == self.steps:
            return None
        model = self.last if self.last and len(texts) == self.steps - 1 else self.model
        asked = ModelRef(model, ModelSpec(backend=BACKEND, model=model, price=self.price))
        said = " | ".join([self.name, *texts])
        return Prompt(asked, Request(model, (PromptMessage("user", said),), self.temperature, 1_000))


class Asking(Backend):
    """Records what the model was asked, in order; `told` hears the seed and raises the failure of the reply."""

    def __init__(self, told: Told = lambda seed: None) -> None:
        self.told = told
        self.asked: list[str] = []
        self.texts: list[str] = []
        self.at_once = self.most_at_once = 0

    def __call__(self, settings: Settings, sleep: Any) -> Asking:
        return self

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """A reply that names its seed's sample and step, and costs 100 tokens."""
        self.asked.append(request.seed)
        self.texts.append(request.messages[-1].text)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            error = self.told(request.seed)
        finally:
            self.at_once -= 1
        if error is not None:
            raise error
        _, sample, step = request.seed.split(":")
        yield TextDelta(f"reply {sample}.{step}")
        yield StreamEnd("stop", "v1", 10, 100, sent=request.messages[-1].text, raw="{}")


@contextmanager
def asking(told: Told = lambda seed: None) -> Iterator[Asking]:
    model: Any = Asking(told)
    registry.BACKENDS.entries[BACKEND] = model
    try:
        yield model
    finally:
        del registry.BACKENDS.entries[BACKEND]


def database_in(folder: Path) -> Database:
    return open_database(f"sqlite:///{folder}/parley.db")


def ask(
    database: Database,
    cells: Sequence[Talk],
    limits: RunLimits = RunLimits(concurrency=4, tries=3),  # noqa: B008  (frozen)
    tell: Callable[[RunProgress], None] = lambda progress: None,
    **settings: Any,
) -> RunResult:
    there = Settings(_env_file=None, **{**HASTY, **settings})
    return asyncio.run(run(database, there, RunPlan("trial", "alone", cells), limits, tell))


def seeds(cells: Sequence[Talk]) -> list[str]:
    return [f"{one.key}:{n}:{step}" for one in cells for n in range(one.samples) for step in range(one.steps)]


def rows(database: Database, cells: Sequence[Talk]) -> list[tuple[str, str | None, str | None]]:
    found = stored(database, [cell.key for cell in cells])
    return [(f"{one.cell}:{one.sample}:{one.step}", one.text, one.reason) for one in found]


def row(seed: str, reason: str | None = None) -> Row:
    key, sample, step = seed.split(":")
    return sampled(key, int(sample), int(step), None if reason else f"reply {sample}.{step}", reason)
