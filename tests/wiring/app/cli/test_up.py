"""`parley up`: participants and the console in one command, over one database."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.forked import Forked, command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.nightly]
START_S = 120.0


def free_ports() -> Iterator[int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        yield from (one.getsockname()[1], other.getsockname()[1])


def status(port: int, path: str) -> int:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=60).status_code
    except httpx2.TransportError:
        return 0


def until(port: int, path: str, wanted: int) -> None:
    end = time.monotonic() + START_S
    while (found := status(port, path)) != wanted:
        assert time.monotonic() < end, f"{path}: {found}"
        time.sleep(0.2)


def console_of(pid: int) -> int:
    """The process of the console that `parley up` has started."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(child) for file in children for child in file.read_text().split()]
    (console,) = [one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return console


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_participants_and_the_console_are_served_until_the_command_ends(how: int, tmp_path: Path) -> None:
    study = studies.chat(tmp_path)
    port, console_port = free_ports()
    words = ("up", str(study), "--no-browser", "--port", str(port), "--console-port", str(console_port))
    running = Forked(command, *words, folder=tmp_path, out=tmp_path / "said.txt")
    try:
        until(port, f"/s/{study.stem}", 200)
        assert f"http://127.0.0.1:{console_port}/welcome/" in (tmp_path / "said.txt").read_text(), "printed first"
        until(console_port, "/login", 200)
        assert status(port, "/s/arena") == 404
        parley("publish", "arena", folder=tmp_path)
        parley("recruit", "open", "arena", folder=tmp_path)
        until(port, "/s/arena", 200)
        if how == signal.SIGINT:
            os.kill(console_of(running.pid), signal.SIGSEGV)
            until(console_port, "/login", 0)
            until(console_port, "/login", 200)
        running.tell(how)
        running.wait(60)
        until(console_port, "/login", 0)
        assert status(port, f"/s/{study.stem}") == 0
    finally:
        running.kill()
    printed = running.said()
    assert ("SIGSEGV" in printed) == (how == signal.SIGINT), "it is said that the console ended"
    assert how != signal.SIGTERM or " ERROR " not in printed
    assert f"http://127.0.0.1:{port}/s/{study.stem}\n" in printed
    for trial in ("preview", "pilot"):
        assert f"http://127.0.0.1:{port}/s/{study.stem}?parley_{trial}=" in printed
    assert f"http://127.0.0.1:{console_port}/welcome/" in printed
