"""Measure Parley's time to its first page and its memory then, beside a bare Gradio page.

`python -m tests.bench.start`; `--times 1` is a short form. Both start in turn, on one core: `parley serve demo` over a
database that is there, and a page of Gradio's with a text and a button. Seconds are until the first page came, memory
is what is resident then. What both import is compiled once, before they are measured.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import bars, servers
from tests.bench.model_server import SERVERS_CORE, on_core

MOST_TIMES, MOST_MORE_MB = 1.1, 40
PATIENCE_S = 120.0
BARE = """import gradio
with gradio.Blocks() as page:
    gradio.Markdown("Hello")
    gradio.Button("Start")
page.launch(server_port={port})
"""


@dataclass(frozen=True)
class Started:
    """Until the first page: seconds, seconds of a processor, and the resident memory then."""

    seconds: float
    cpu_s: float
    mb: float


def start(command: Sequence[str], port: int, path: str, folder: Path, env: Mapping[str, str]) -> Started:
    began = time.perf_counter()
    with (
        (folder / "log").open("ab") as log,
        on_core(SERVERS_CORE),
        subprocess.Popen(command, cwd=folder, env=_environment(folder, env), stdout=log, stderr=log) as process,
    ):
        try:
            while not _serves(port, path):
                if time.perf_counter() > began + PATIENCE_S or process.poll() is not None:
                    raise RuntimeError((folder / "log").read_text(encoding="utf-8")[-2_000:])
                time.sleep(0.01)
            return Started(time.perf_counter() - began, servers.cpu_s(process.pid), bars.resident_mb(process.pid))
        finally:
            process.terminate()


def _environment(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """That of this process, but compiled modules are kept, in the folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), **env}


def _serves(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with suppress(OSError):
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def gradio(folder: Path) -> Started:
    port = _free_port()
    env = {"GRADIO_ANALYTICS_ENABLED": "False"}
    return start((sys.executable, "-c", BARE.format(port=port)), port, "/", folder, env)


def parley(folder: Path) -> Started:
    port = _free_port()
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db", "PARLEY_PORT": str(port)}
    return start((str(Path(sys.executable).parent / "parley"), "serve", "demo"), port, "/s/demo", folder, env)


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how often each is started")
    times = parser.parse_args(given).times
    with TemporaryDirectory() as name:
        gradio(Path(name)), parley(Path(name))  # compile what is imported, make the database
        pairs = [(gradio(Path(name)), parley(Path(name))) for _ in range(times)]
    bare, ours = (
        [statistics.median(getattr(one, field) for one in some) for field in ("seconds", "cpu_s", "mb")]
        for some in zip(*pairs, strict=True)
    )
    rows = [(who, f"{s:.2f}", f"{cpu:.2f}", f"{mb:.0f}") for who, (s, cpu, mb) in (("Gradio", bare), ("Parley", ours))]
    missed = ["start"] * (ours[0] > MOST_TIMES * bare[0]) + ["memory"] * (ours[2] > bare[2] + MOST_MORE_MB)
    header = ("server", "first page after, s", "of a processor, s", "MB")
    return bars.told(f"Start and memory, {times} times, medians", header, rows, missed)


if __name__ == "__main__":
    sys.exit(main())
