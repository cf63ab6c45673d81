"""The engine in a process of its own, asking a made-up plan: to be measured, and to be killed.

    python -m tests.fakes.asker '{"database": ..., "url": ..., "cells": 200, "samples": 50}'

It says `began` once it asks, and at the end what it took, as JSON.
"""

import gc
import json
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import uvloop
from pydantic import SecretStr

from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.plan import RunLimits, RunPlan, RunProgress
from app.batch.runner import run
from app.batch.task import Prompt, key_of, request_parts
from app.config.settings import Settings
from experiments.study.sections.model_spec import ModelSpec
from storage.db.engine import open_database
from tests.fakes.fast_server import FastServer

ROOT = Path(__file__).parents[2]
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8
MODEL = ModelRef("fast-1", ModelSpec(backend="openai", model="fast-1"))


@dataclass(frozen=True, slots=True)
class Told:
    """What the process is to do."""

    database: str
    url: str
    cells: int
    samples: int
    concurrency: int = 128
    cap_s: float = 2.0
    """The longest pause before a call is made again that failed."""


@dataclass(frozen=True, slots=True)
class Took:
    """What it took."""

    asked: int
    failed: int
    seconds: float
    cpu_s: float
    peak_mb: float
    early_mb: float
    """Memory when a fifth was done."""
    late_mb: float


@dataclass(frozen=True)
class Cell:
    """A question to the fast server, in one step."""

    number: int
    samples: int
    steps: int = 1

    @cached_property
    def _question(self) -> Prompt:
        messages = (
            PromptMessage("system", "Answer with a letter."),
            PromptMessage("user", f"[{self.number}] {QUESTION}"),
        )
        request = Request("fast-1", messages, temperature=0.7, max_tokens=1_000, options=MODEL.model.options)
        return Prompt(MODEL, request)

    @cached_property
    def key(self) -> str:
        return key_of(request_parts(self._question))

    def next(self, texts: Sequence[str]) -> Prompt | None:
        return None if texts else self._question


def memory_mb() -> float:
    """What the process holds now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    told = Told(**json.loads(sys.argv[1]))
    settings = Settings(
        database_url=told.database,
        openai_base_url=told.url,
        openai_api_key=SecretStr("sk-none"),
        max_retry_wait_s=told.cap_s,
        _env_file=None,
    )
    database = open_database(told.database)
    plan = RunPlan("bench", "alone", [Cell(n, told.samples) for n in range(told.cells)])
    seen: list[tuple[int, float]] = []

    def tell(progress: RunProgress) -> None:
        seen.append((progress.done, memory_mb()))

    gc.collect()
    print("began", flush=True)
    used, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    ended = uvloop.run(run(database, settings, plan, RunLimits(told.concurrency), tell))
    seconds, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    early = next((mb for done, mb in seen if done >= told.cells * told.samples / 5), 0.0)
    took = Took(ended.asked, ended.failed, seconds, cpu_s, now.ru_maxrss / 1024, early, seen[-1][1])
    print(json.dumps(asdict(took)), flush=True)


def start(told: Told) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.fakes.asker", json.dumps(asdict(told))]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def ask(told: Told) -> Took:
    with start(told) as process:
        assert process.stdout
        lines = process.stdout.read().splitlines()
    if process.returncode:
        raise RuntimeError(f"the asking process ended with {process.returncode}")
    return Took(**json.loads(lines[-1]))


@dataclass(frozen=True, slots=True)
class Killed:
    """What is there after many kills."""

    kills: int
    samples: dict[str, int]
    """Replies, by cell."""
    twice: int
    """Replies of the server that are stored more than once."""
    lost: int
    """Answers that the server gave and that are not stored."""
    oldest_lost_ms: float
    """How long before its kill the first of them was given."""
    requests: int
    """All that the server was asked, also what was on its way at a kill."""

    @property
    def stored(self) -> int:
        return sum(self.samples.values())


def killed(told: Told, server: FastServer, kills: int, chance: random.Random) -> Killed:
    """Ask, with `kill -9` so many times on the way, then to the end."""
    wanted, rate = told.cells * told.samples, told.concurrency / 0.06
    at_s: list[float] = []
    while len(at_s) < kills and (left := wanted - len(_numbers(told))) > 0:
        with start(told) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(chance.uniform(0.1, max(0.2, 1.8 * left / (kills - len(at_s) + 1) / rate)))
            process.send_signal(signal.SIGKILL)
            process.wait()
            at_s.append(time.time())
    ask(told)
    numbers = _numbers(told)
    missing = [given_s for number, _, given_s in server.ledger() if number not in numbers]
    ages = [min((kill_s - given_s for kill_s in at_s if kill_s >= given_s), default=1e9) for given_s in missing]
    with sqlite3.connect(_file(told)) as connection:
        counts: dict[str, int] = dict(
            connection.execute("SELECT cell, count(*) FROM attempt WHERE reason IS NULL GROUP BY cell")
        )
    connection.close()
    twice = sum(counts.values()) - len(numbers)
    return Killed(
        len(at_s), counts, twice, len(missing), 1e3 * max(ages, default=0.0), int(server.counts()["requests"])
    )


def _numbers(told: Told) -> set[int]:
    if not _file(told).exists():
        return set()
    connection = sqlite3.connect(_file(told))
    try:
        rows = connection.execute("SELECT json_extract(raw, '$.id') FROM attempt WHERE reason IS NULL")
        return {int(name.removeprefix("chatcmpl-")) for (name,) in rows}
    except sqlite3.OperationalError:  # killed before there were tables
        return set()
    finally:
        connection.close()


def _file(told: Told) -> Path:
    return Path(told.database.removeprefix("sqlite:///"))


if __name__ == "__main__":
    main()
