"""A process forked from one that has imported everything, and has made what a process makes once, which takes a fresh
one some seconds of a core.

What it prints goes to files. It is told to end by signals, as any other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

END_S = 300.0


def forking() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.fakes.warmed"])
    return context


def lives(pid: int) -> bool:
    """Whether a process runs. One that ended stays, as a zombie, until its parent asks how it did, and whoever has the
    children of a process that was killed may never ask: the first process of a container."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # ended in between, or the system has no such files
        return not Path("/proc/self/stat").exists()


class Forked:
    """A process that runs a function in a folder, with more in its environment."""

    def __init__(
        self, run: Callable[..., Any], *given: Any, folder: Path, out: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.out = out
        self._process = forking().Process(target=_run, args=(run, given, folder, out, dict(env or {})))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def tell(self, how: int) -> None:
        if self.alive:
            os.kill(self.pid, how)

    def kill(self) -> None:
        """`kill -9`, and wait until it is gone."""
        self.tell(signal.SIGKILL)
        self.wait()

    def wait(self, most_s: float = END_S) -> int | None:
        self._process.join(most_s)
        return self._process.exitcode

    def said(self) -> str:
        self.wait()
        return self.out.read_text(encoding="utf-8")


def command(*words: str) -> None:
    from app.cli import main

    sys.argv = ["parley", *words]
    main()


def _run(run: Callable[..., Any], given: tuple[Any, ...], folder: Path, out: Path, env: dict[str, str]) -> None:
    told = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(told, 1)
    os.dup2(told, 2)
    os.chdir(folder)
    os.environ.update(env)
    run(*given)
