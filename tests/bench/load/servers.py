"""The servers of the load bench, each a process of its own: the shipped one, and that of the models."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

from app.studies.loader import read_yaml
from app.web.participant.signed_links import Tickets
from tests.fakes import studies

STUDY = "load"
SERVERS_CORE, DRIVERS_CORE = 0, 1
HEARD = {
    "type": "single_choice",
    "name": "heard",
    "text": "How did you hear of us?",
    "options": ["From a friend", "Elsewhere"],
}
START_S = 180.0
"""How long a server may take to begin, on a machine that is busy."""
SECRET = "0123456789abcdef0123456789abcdef"
ROOT = Path(__file__).parents[3]
SHIPPED = Path(__file__).with_name("shipped")
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)
"""Runs Parley with the packages that are installed here. Another one of the same version may be
named: one that is built with optimisation, as Debian's is, takes an eighth less (docs/decisions/0007)."""
PATHS = os.pathsep.join(map(str, (SHIPPED, ROOT, sysconfig.get_path("purelib"))))


def button(study: str) -> bytes:
    return urlencode({"ticket": Tickets(SECRET).new(study)}).encode()


@contextmanager
def on_drivers_core() -> Iterator[None]:
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {DRIVERS_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, everywhere)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def model_server() -> Iterator[str]:
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
    model = {"backend": "openai", "model": "load-1", "options": {"reasoning_until": ""}}
    raw = read_yaml(studies.chat(folder, STUDY, **model))
    raw["flow"][1]["do"] = "answer-first@1"
    raw["flow"].insert(1, {"step": "survey", "id": "about", "title": "About you", "questions": [HEARD]})
    return studies.write(folder, raw)


@contextmanager
def parley(folder: Path, port: int, study: str, **settings: object) -> Iterator[int]:
    """The shipped server as a process of its own, over the database of its folder; gives its number."""
    given = {"database_url": f"sqlite:///{folder}/parley.db", "secret": SECRET, "port": port, "log_level": "WARNING"}
    env = {f"PARLEY_{name.upper()}": str(value) for name, value in {**given, **settings}.items()}
    command = [PYTHON, str(Path(sys.executable).parent / "parley"), "serve", study]
    env["PYTHONPATH"] = PATHS
    with served(command, env, folder, port) as number:
        yield number


@contextmanager
def loadable(folder: Path, port: int, model_url: str, people: int) -> Iterator[int]:
    models = {"openai_base_url": model_url, "openai_api_key": "sk-load"}
    with parley(
        folder,
        port,
        str(study_file(folder)),
        **models,
        address_rate_multiplier=people,
        sessions_per_address_per_hour=1_000_000,
    ) as number:
        yield number


@contextmanager
def served(
    command: list[str], env: dict[str, str], folder: Path, port: int, *, health: str = "/healthz"
) -> Iterator[int]:
    """A server on its core, once it answers, until the block ends; then what it has started ends with it."""
    command = ["taskset", "-c", str(SERVERS_CORE), *command]
    env = {**os.environ, **env}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        give_up = time.monotonic() + START_S
        while not _answers(f"http://127.0.0.1:{port}{health}"):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError((folder / "server.log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def served_by() -> str:
    """The Python that serves: its version, and where it is unless it is this one."""
    ask = [PYTHON, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    return version + ("" if sys.executable == PYTHON else f" ({PYTHON})")


def used_s(number: int) -> float:
    told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def peak_mb(number: int) -> float:
    status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
