"""AI alone: how fast the engine asks, and what it costs.

    python -m tests.bench.alone [--calls 1000]

Each run is a process of its own beside a model server of its own, over a SQLite file with every request and reply in
it. What a `kill -9` takes from it is tested by tests/wiring/app/test_batch_killed.py.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import uvloop
from pydantic import SecretStr

from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.plan import RunLimits, RunPlan
from app.batch.runner import run
from app.batch.task import Prompt, key_of
from app.config.settings import Settings
from experiments.study.sections.model_spec import ModelSpec
from storage.db.engine import open_database
from tests.bench import bars
from tests.bench.model_server import model_server

# Calls a second on one core, with everything stored; memory.
RATE, MOST_MB = 200, 160
AT_ONCE, SAMPLES = 128, 50
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8
MODEL = ModelRef("fast-1", ModelSpec(backend="openai", model="fast-1"))


@dataclass(frozen=True)
class Cell:
    """A question, in one step."""

    number: int
    samples: int = SAMPLES
    steps: int = 1

    @property
    def key(self) -> str:
        return key_of("bench", self.number)

    def next(self, texts: Sequence[str]) -> Prompt | None:
        asked = PromptMessage("user", f"[{self.number}] {QUESTION}")
        request = Request("fast-1", (asked,), temperature=0.7, max_tokens=1_000, options=MODEL.model.options)
        return None if texts else Prompt(MODEL, request)


def ask(folder: str, url: str, calls: int) -> None:
    """Ask, and print calls a second, milliseconds of a processor for each, and peak MB."""
    settings = Settings(openai_base_url=url, openai_api_key=SecretStr("sk-none"), _env_file=None)
    database = open_database(f"sqlite:///{folder}/bench.db")
    plan = RunPlan("bench", "alone", [Cell(number) for number in range(calls // SAMPLES)])
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    ended = uvloop.run(run(database, settings, plan, RunLimits(AT_ONCE), lambda progress: None))
    seconds, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    assert (ended.asked, ended.progress.failed) == (calls, 0)
    print(json.dumps([calls / seconds, 1e3 * cpu_s / calls, bars.peak_mb()]))


def ours(calls: int) -> tuple[float, float, float]:
    with TemporaryDirectory() as folder, model_server() as server:
        words = ["--ask", folder, server.base_url, str(calls)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.alone", *words], check=True, stdout=subprocess.PIPE, text=True
        )
        rate, cpu_ms, mb = json.loads(done.stdout.splitlines()[-1])
        return rate, cpu_ms, mb


def main(words: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    wanted = parser.parse_args(words)
    if wanted.ask:
        folder, url, calls = wanted.ask
        ask(folder, url, int(calls))
        return 0
    rate, cpu_ms, mb = ours(wanted.calls)
    rows = [("Parley", f"{rate:,.0f}", f"{cpu_ms:.2f}", f"{mb:.0f}")]
    missed = ["calls a second"] * (rate < RATE) + ["memory"] * (mb > MOST_MB)
    header = ("who", "calls/s", "CPU-ms a call", "peak MB")
    return bars.told(f"AI alone, {wanted.calls:,} calls, {AT_ONCE} at once", header, rows, missed)


if __name__ == "__main__":
    sys.exit(main())
