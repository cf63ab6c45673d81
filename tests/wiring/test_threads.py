"""A server of which a thread has failed ends, so that it is started anew, and does not answer and keep nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2

from app.cli.listening import FAILED
from tests.fakes.served import SECRET

BROKEN = """
import sys
from app.cli import main
from storage import log


class Clock:
    def monotonic(self):
        raise OSError("no clock")


log.time = Clock()
sys.argv = ["parley", "serve", "demo"]
main()
"""


def test_a_server_whose_writer_fails_ends(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{tmp_path}/parley.db", "PARLEY_SECRET": SECRET, "PARLEY_PORT": str(port)}
    with subprocess.Popen(
        [sys.executable, "-c", BROKEN], env={**os.environ, **env}, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/healthz/ready", timeout=30)
            except httpx2.TransportError:  # it is not there yet, or no more
                time.sleep(0.1)
        _, told = process.communicate(timeout=100)
    assert process.returncode == FAILED
    assert "parley-writer" in told
    assert "OSError" in told
