"""Load Parley and the bare server with so many at once, and print what came of it.

The server runs on the machine's first core, those who load it and the model server on the second. What is served is
the shipped server with the shipped `openai` backend, its gate and its limits of rates as they are by default, but for
one: the driver has one address, so the limit of an address is that of as many people.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from rich.console import Console
from rich.table import Table

from tests.bench.load.people import Found, crowd
from tests.fakes import studies

STUDY = "load"
SERVERS_CORE, DRIVERS_CORE = 0, 1
HEARD = {"ask": "single", "name": "heard", "text": "How did you hear of us?", "options": ["From a friend", "Elsewhere"]}
SECRET = "0123456789abcdef0123456789abcdef"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Bars:
    """Milliseconds that may not be exceeded, by what and which share."""

    of: tuple[tuple[str, float, float], ...]
    mb: float = float("inf")


BARS = {
    400: Bars((("click", 0.95, 10), ("click", 0.99, 50), ("first token", 0.95, 20), ("whole reply", 0.95, 50)), 260),
    1000: Bars((("click", 0.95, 50), ("first token", 0.95, 50))),
    2000: Bars((("click", 0.95, 100), ("first token", 0.95, 200))),
}


@dataclass(frozen=True)
class Run:
    """What came of it."""

    server: str
    people: int
    found: Found
    core: float
    """The share of its core that the server used."""
    mb: float

    @property
    def missed(self) -> list[str]:
        """Which bars were."""
        bars = BARS.get(self.people)
        if bars is None or self.server != "parley":
            return []
        told = [f"{what} p{100 * share:.0f}" for what, share, most in bars.of if self.found.p(what, share) > most]
        told += ["memory"] if self.mb > bars.mb else []
        return told + (["errors"] if self.found.errors else [])


def free_port() -> int:
    """One that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def model_server() -> Iterator[str]:
    """The model server's address, on the drivers' core."""
    command = ["taskset", "-c", str(DRIVERS_CORE), sys.executable, "-m", "tests.bench.load.model"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()
            process.wait(10)


def study_file(folder: Path) -> Path:
    """Consent, a question about oneself, one question answered alone and then with a chatbot, the end."""
    model = {"backend": "openai", "model": "load-1"}
    raw = studies.read_yaml(studies.chat(folder, STUDY, **model, options={}))
    raw["flow"][1]["do"] = "answer-first@1"
    raw["flow"].insert(1, {"step": "survey", "id": "about", "title": "About you", "questions": [HEARD]})
    return studies.write(folder, raw)


@contextmanager
def parley(folder: Path, port: int, model_url: str, people: int) -> Iterator[int]:
    """The shipped server as a process of its own; gives its number."""
    env = {
        "PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db",
        "PARLEY_SECRET": SECRET,
        "PARLEY_PORT": str(port),
        "PARLEY_OPENAI_BASE_URL": model_url,
        "PARLEY_OPENAI_API_KEY": "sk-load",
        "PARLEY_LOG_LEVEL": "WARNING",
        "PARLEY_PEOPLE_PER_ADDRESS": str(people),
        "PYTHONPATH": str(ROOT),
    }
    command = [str(Path(sys.executable).parent / "parley"), "serve", str(study_file(folder))]
    with served(command, env, folder, port) as number:
        yield number


@contextmanager
def bare(folder: Path, port: int, model_url: str) -> Iterator[int]:
    """The bare server; gives its number."""
    command = [sys.executable, "-m", "tests.bench.load.bare", str(port), str(folder), model_url]
    with served(command, {"PYTHONPATH": str(ROOT)}, folder, port) as number:
        yield number


@contextmanager
def served(command: list[str], env: dict[str, str], folder: Path, port: int) -> Iterator[int]:
    """A server on its core, once it answers, until the block ends."""
    command = ["taskset", "-c", str(SERVERS_CORE), *command]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdout=log, stderr=log)
    try:
        give_up = time.monotonic() + 60
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError((folder / "server.log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def used_s(number: int) -> float:
    """Seconds of a processor that a process has used so far."""
    told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def peak_mb(number: int) -> float:
    """The most memory that it held."""
    status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def loaded(server: str, number: int, port: int, people: int, seconds: float) -> Run:
    """Let so many come, wait until all are there, measure."""
    found, ramp_s = Found(), max(5.0, people / 60)
    coming = asyncio.create_task(crowd("127.0.0.1", port, STUDY, people, found, ramp_s))
    await asyncio.sleep(ramp_s + 5)
    found.errors.clear()
    before_s, found.measuring = used_s(number), True
    begun = time.monotonic()
    await asyncio.wait([coming], timeout=seconds)
    found.measuring = False
    core = (used_s(number) - before_s) / (time.monotonic() - begun)
    run = Run(server, people, found, core, peak_mb(number))
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    return run


def measure(server: str, people: int, seconds: float) -> Run:
    """One server under one load, in a folder of its own."""
    with TemporaryDirectory() as at, model_server() as model_url:
        folder, port = Path(at), free_port()
        up = bare(folder, port, model_url) if server == "bare" else parley(folder, port, model_url, people)
        with up as number:
            run = uvloop.run(loaded(server, number, port, people, seconds))
        told = (folder / "server.log").read_text(encoding="utf-8")
        if told and server == "parley" and run.found.errors:
            print(told[-1_500:], file=sys.stderr)
        return run


def table_of(runs: list[Run], seconds: float) -> Table:
    """All runs, in a table."""
    table = Table(
        "server", "people", "requests/s", "click p50/95/99", "page", "first token over", "whole reply over", "errors",
        "core", "CPU-ms a request", "MB", title="Under load; milliseconds",
    )  # fmt: skip
    for run in runs:
        found = run.found

        def three(what: str, found: Found = found) -> str:
            return " / ".join(f"{found.p(what, share):.0f}" for share in (0.5, 0.95, 0.99))

        rate = found.requests / seconds
        table.add_row(
            run.server, str(run.people), f"{rate:.0f}", three("click"), three("page"), three("first token"),
            three("whole reply"), str(sum(found.errors.values())), f"{100 * run.core:.0f} %",
            f"{1e3 * run.core / rate if rate else 0:.2f}", f"{run.mb:.0f}",
        )  # fmt: skip
    return table


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="*", default=sorted(BARS))
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--servers", nargs="*", default=["bare", "parley"])
    wanted = parser.parse_args(given)
    os.sched_setaffinity(0, {DRIVERS_CORE})
    out = Console(width=160)
    runs: list[Run] = []
    for people in wanted.people:
        for server in wanted.servers:
            run = measure(server, people, wanted.seconds)
            runs.append(run)
            out.print(table_of([run], wanted.seconds))
            for error, often in run.found.errors.most_common(3):
                out.print(f"  {often} x {error}", markup=False)
            if run.missed:
                out.print(f"[red]Missed at {people}: {', '.join(run.missed)}[/red]")
    out.print(table_of(runs, wanted.seconds))
    return int(any(run.missed for run in runs))


if __name__ == "__main__":
    sys.exit(main())
