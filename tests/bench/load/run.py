"""One server under one load, and what came of it."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from rich.table import Table

from tests.bench.load import servers
from tests.bench.load.people import Found, Visit, crowd, of_parley

VISIT_S = 18.0
"""How long a visit takes. People come over as long as that, or they would all chat at the same time."""


@dataclass(frozen=True)
class Run:
    """What came of it."""

    people: int
    found: Found
    seconds: float
    used_s: float
    """Seconds of a processor that the server used."""
    mb: float

    @property
    def core(self) -> float:
        return self.used_s / self.seconds

    @property
    def request_ms(self) -> float:
        return 1e3 * self.used_s / max(1, self.found.requests)

    @property
    def click_ms(self) -> float:
        return 1e3 * self.used_s / max(1, len(self.found.times.get("click", [])))


def coming_s(people: int) -> float:
    return max(VISIT_S, people / 60)


async def loaded(number: int, port: int, visit: Visit, people: int, seconds: float) -> Run:
    found, ramp_s = Found(), coming_s(people)
    coming = asyncio.create_task(crowd(visit, port, people, found, ramp_s))
    await asyncio.sleep(ramp_s + 5)
    found.errors.clear()
    before_s, found.measuring = servers.used_s(number), True
    begun = time.monotonic()
    await asyncio.wait([coming], timeout=seconds)
    found.measuring = False
    took_s = time.monotonic() - begun
    run = Run(people, found, took_s, servers.used_s(number) - before_s, servers.peak_mb(number))
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    return run


def measure(people: int, seconds: float) -> Run:
    with TemporaryDirectory() as at:
        return measure_in(Path(at), people, seconds)


def measure_in(folder: Path, people: int, seconds: float) -> Run:
    port = servers.free_port()
    with (
        servers.model_server() as model_url,
        servers.loadable(folder, port, model_url, people) as number,
        servers.on_drivers_core(),
    ):
        run = uvloop.run(loaded(number, port, of_parley(servers.STUDY), people, seconds))
    told = (folder / "server.log").read_text(encoding="utf-8")
    if told and run.found.errors:
        print(told[-1_500:], file=sys.stderr)
    return run


def table_of(runs: list[Run]) -> Table:
    table = Table(
        "people", "requests/s", "click p50/95/99", "arrival", "first token over", "whole reply over",
        "errors", "core", "CPU-ms a request", "MB", title="Under load; milliseconds",
    )  # fmt: skip
    for run in runs:
        found = run.found

        def three(what: str, found: Found = found) -> str:
            return " / ".join(f"{found.p(what, share):.0f}" for share in (0.5, 0.95, 0.99))

        table.add_row(
            str(run.people), f"{found.requests / run.seconds:.0f}", three("click"), three("arrival"),
            three("first token"), three("whole reply"), str(sum(found.errors.values())), f"{100 * run.core:.0f} %",
            f"{run.request_ms:.2f}", f"{run.mb:.0f}",
        )  # fmt: skip
    return table
