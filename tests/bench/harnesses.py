"""inspect-ai at the work that Parley's engine does, installed into an environment of its own.

Its time is counted from the first answer at the server to the end of the process, so that starting and planning cost
it nothing, and keeping what came costs it as much as us.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from tests.fakes.fast_server import FastServer, fast_server

WANTED = ("inspect-ai==0.3.285", "openai")
HOME = Path(gettempdir()) / "parley-rivals"
PATIENCE_S = 900
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8
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


class NotThere(Exception):
    """A harness cannot be run here; the words say why."""


def installed(name: str, wanted: Sequence[str], needed: Sequence[str]) -> Path:
    """The programs of an environment of its own, which is made where one that is needed is not there."""
    programs = HOME / name / "bin"
    if not all((programs / program).exists() for program in needed):
        HOME.mkdir(exist_ok=True)
        _run([sys.executable, "-m", "venv", str(HOME / name)])
        _run([str(programs / "python"), "-m", "pip", "install", "-q", *wanted])
    return programs


def inspect_ai(calls: int) -> float:
    python = installed("venv", WANTED, ("inspect",)) / "python"
    return _measured(calls, lambda folder, url: [str(python), "-c", INSPECT, url, str(calls), QUESTION])


def _measured(calls: int, command: Callable[[Path, str], list[str]]) -> float:
    with TemporaryDirectory() as name, fast_server() as server:
        _run(command(Path(name), server.base_url), Path(name))
        return _rate(server, calls, time.time())


def _rate(server: FastServer, calls: int, ended_s: float) -> float:
    at_s = [given_s for _, _, given_s in server.ledger()]
    if len(at_s) < calls:
        raise NotThere(f"it asked {len(at_s)} of {calls} times")
    return len(at_s) / (ended_s - min(at_s))


def _run(command: list[str], folder: Path | None = None) -> None:
    more = {"OPENAI_API_KEY": "sk-none", "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | more, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotThere(str(error)[:200]) from None
    if done.returncode:
        raise NotThere(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-300:]}")
