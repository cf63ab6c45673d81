"""AI alone: how fast the engine asks, and what it costs; `--rivals` lets inspect-ai do the same in the same run.

    python -m tests.bench.alone [--rivals] [--calls 1000]

Each run is a process of its own beside a model server of its own, over a SQLite file with every request and reply in
it. What a `kill -9` takes from it is tested by tests/wiring/app/test_batch_killed.py.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

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

# Calls a second on one core, with everything stored; memory; times as fast as inspect-ai.
RATE, MOST_MB, TIMES = 200, 160, 3
AT_ONCE, SAMPLES = 128, 50
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8
MODEL = ModelRef("fast-1", ModelSpec(backend="openai", model="fast-1"))
RIVAL = Path(gettempdir()) / "parley-rivals"
INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate
url, calls, question = sys.argv[1], int(sys.argv[2]), sys.argv[3]
samples = MemoryDataset([Sample(input=f"[{n}] {question}", target="A") for n in range(calls)])
eval(Task(dataset=samples, solver=generate()), model="openai/fast-1", model_base_url=url, max_connections=128,
     max_samples=128, temperature=0.7, max_tokens=1000, display="none", log_dir="logs",
     model_args={"responses_api": False})
"""


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


def inspect_ai(calls: int) -> float:
    """Its calls a second, from its first answer to its end; it is installed into an environment of its own."""
    if not (RIVAL / "bin/inspect").exists():
        subprocess.run([sys.executable, "-m", "venv", RIVAL], check=True)
        subprocess.run([RIVAL / "bin/pip", "install", "-q", "inspect-ai==0.3.285", "openai"], check=True)
    env = os.environ | {"OPENAI_API_KEY": "sk-none", "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    with TemporaryDirectory() as folder, model_server() as server:
        words = ["-c", INSPECT, server.base_url, str(calls), QUESTION]
        subprocess.run([RIVAL / "bin/python", *words], cwd=folder, env=env, check=True, capture_output=True)
        ended_s, told = time.time(), server.told()
    return told["answered"] / (ended_s - told["first_s"])


def main(words: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", action="store_true", help="also inspect-ai; takes minutes")
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
    if wanted.rivals:
        theirs = inspect_ai(wanted.calls // 5)
        rows.append(("inspect-ai", f"{theirs:,.0f}", "", ""))
        missed += ["inspect-ai"] * (rate < TIMES * theirs)
    header = ("who", "calls/s", "CPU-ms a call", "peak MB")
    return bars.told(f"AI alone, {wanted.calls:,} calls, {AT_ONCE} at once", header, rows, missed)


if __name__ == "__main__":
    sys.exit(main())
