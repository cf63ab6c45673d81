"""A server of which a thread has failed ends, so that it is started anew, and does not answer and keep nothing."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx2

from app.cli.http_server import FAILED
from tests.fakes.dying import command_without_a_writer
from tests.fakes.forked import Forked
from tests.fakes.served import SECRET


def test_a_server_whose_writer_fails_ends(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{tmp_path}/parley.db", "PARLEY_SECRET": SECRET, "PARLEY_PORT": str(port)}
    out = tmp_path / "said.txt"
    forked = Forked(command_without_a_writer, "serve", "demo", folder=tmp_path, out=out, env=env)
    while forked.alive:
        with suppress(httpx2.TransportError):  # it is not there yet, or no more
            httpx2.get(f"http://127.0.0.1:{port}/healthz/ready", timeout=60)
        time.sleep(0.1)
    assert forked.wait() == FAILED
    assert "parley-writer" in forked.said()
    assert "OSError" in forked.said()
