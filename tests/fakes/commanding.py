"""The command line run in this process: what it says and how it ends, without the seconds that a new process takes."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from app.cli import app, printing
from problems.errors import ParleyError

WIDTH = 200


@dataclass(frozen=True, slots=True)
class Done:
    """A command's output, and its exit code as `parley` itself would have it."""

    returncode: int
    stdout: str
    stderr: str
    printed: bytes = field(default=b"", repr=False)
    """The bytes that were said."""


def parley(*words: str, folder: Path, typed: str = "", **settings: str) -> Done:
    """Run a command in a folder and over its database, with what somebody types at it."""
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db", "TERM": "dumb", **settings}
    printing.out.width = printing.err.width = WIDTH  # made when they were first needed
    with chdir(folder), ThreadPoolExecutor(1) as thread:
        # in a thread, as in a process of its own no event loop runs yet
        done = thread.submit(_run, words, typed, env).result()
    if "postgresql" in (env["PARLEY_DATABASE_URL"] or ""):  # None: the variable is not set
        _let_go()  # once nothing has the error, which has the command's connection
    return done


@cache
def _made() -> Any:
    """The command line. Typer makes it of some hundred functions, which took longer than most of what is run by it."""
    return get_command(app)


def _run(words: Sequence[str], typed: str, env: Mapping[str, str]) -> Done:
    command, code, error = _made(), 0, ""
    with CliRunner().isolation(input=typed, env=env) as (out, err, _):
        try:
            command.main(args=[*words], prog_name=command.name)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except (ParleyError, OSError) as raised:
            code, error = 2, str(raised)
        sys.stdout.flush()
        sys.stderr.flush()
        said, complained = (stream.getvalue().decode().replace("\r\n", "\n") for stream in (out, err))
        return Done(code, said, complained + error, out.getvalue())


def _let_go() -> None:
    """Close the connections of a server's database, as the end of a command's process does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
