"""The command line run in this process: what it says and how it ends, without the seconds that a new process takes."""

from __future__ import annotations

import gc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner, Result

from app.cli import app, common
from problems.errors import ParleyError

WIDTH = 200


@dataclass(frozen=True, slots=True)
class Done:
    """What a command said, and its exit code as `parley` itself would have it."""

    returncode: int
    stdout: str
    stderr: str
    printed: bytes = field(default=b"", repr=False)
    """The bytes that were said."""


def parley(*words: str, folder: Path, typed: str = "", **settings: str) -> Done:
    """Run a command in a folder and over its database, with what somebody types at it."""
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db", "TERM": "dumb", **settings}
    common.out.width = common.err.width = WIDTH  # they were made when they were first needed, and by that environment
    with chdir(folder), ThreadPoolExecutor(1) as thread:
        # in a thread, as in a process of its own no event loop runs yet
        done = _done(thread.submit(CliRunner().invoke, app, list(words), input=typed, env=env).result())
    if "postgresql" in (env["PARLEY_DATABASE_URL"] or ""):  # None: the variable is not set
        _let_go()  # once nothing has the error, which has the command's connection
    return done


def _done(result: Result) -> Done:
    if isinstance(result.exception, ParleyError | OSError):
        return Done(2, result.stdout, result.stderr + str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)


def _let_go() -> None:
    """Close the connections of a server's database, as the end of a command's process does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
