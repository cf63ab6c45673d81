"""A run of models alone that is to be killed, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.plan import RunLimits, RunPlan
from app.batch.runner import run
from app.batch.task import Prompt, key_of
from app.config.settings import Settings
from experiments.study.sections.model_spec import ModelSpec
from storage.db.engine import open_database

CONCURRENCY = 16
MODEL = ModelSpec(backend="openai", model="slow")


@dataclass(frozen=True)
class Line:
    """A cell that says its number."""

    number: int
    samples: int
    steps: int = 1

    @property
    def key(self) -> str:
        return key_of("line", self.number)

    def next(self, texts: Sequence[str]) -> Prompt | None:
        said = f"line {self.number}"
        return (
            None if texts else Prompt(ModelRef("slow", MODEL), Request("fault:brief", (PromptMessage("user", said),)))
        )


def main(database: str, server: str, cells: int, samples: int) -> None:
    settings = Settings(_env_file=None, openai_base_url=server, database_url=database)
    plan = RunPlan("lines", "alone", [Line(number, samples) for number in range(cells)])
    opened = open_database(database)
    print("begins", flush=True)
    ended = asyncio.run(run(opened, settings, plan, RunLimits(CONCURRENCY), lambda progress: None))
    print(ended.why)
