"""A folder of `parley deploy`, run on this machine: the same start.sh and Caddyfile, with other folders and ports."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

START_S = 120.0
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Deployed:
    """What runs: the port that the host passes on, and what was logged."""

    port: int
    log: Path

    @property
    def url(self) -> str:
        """Where the host's own proxy would ask."""
        return f"http://127.0.0.1:{self.port}"


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    found = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return found


def moved(written: Path, here: Path, data: Path) -> tuple[Path, int, dict[str, str]]:
    """A copy of the folder for this machine; its public port, and the ports behind as variables."""
    port, inner, console = free_ports(3)
    shutil.copytree(written, here)
    for name in ("start.sh", "Caddyfile", "litestream.yml"):
        if (here / name).exists():
            text = (here / name).read_text(encoding="utf-8").replace("/data/", f"{data}/")
            for shipped, other in ((":7860", f":{port}"), (":8001", f":{inner}"), (":8002", f":{console}")):
                text = text.replace(shipped, other)
            (here / name).write_text(text, encoding="utf-8")
    return here, port, {"PARLEY_PORT": str(inner), "PARLEY_CONSOLE_PORT": str(console)}


@contextmanager
def running(here: Path, port: int, env: dict[str, str], stop: int = signal.SIGTERM) -> Iterator[Deployed]:
    """Run start.sh until the block ends, as the container's first process."""
    log = here / "log.txt"
    environ = {"PATH": f"{BIN}:/usr/sbin:/usr/bin:/bin", "HOME": str(here), "TERM": "dumb", **env}
    with log.open("ab") as out:
        process = subprocess.Popen(
            ["bash", "start.sh"], cwd=here, env=environ, stdout=out, stderr=out, start_new_session=True
        )
    try:
        _wait(process, port, log)
        yield Deployed(port, log)
        process.send_signal(stop)
        process.wait(30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until participants' server and console answer, as they do to the host."""
    end, waiting = time.monotonic() + START_S, ["/healthz/ready", "/console/healthz"]
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx2.TransportError):
            if httpx2.get(f"http://127.0.0.1:{port}{waiting[0]}", timeout=10).status_code == 200:
                del waiting[0]
        if not waiting:
            return
        time.sleep(0.2)
    raise RuntimeError(f"it did not come up within {START_S:g} s:\n{log.read_text(encoding='utf-8')[-4000:]}")
