"""The command line run in this process: what it says and how it ends, without the seconds that a new process takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from app.cli import app
from problems.errors import ParleyError


@dataclass(frozen=True, slots=True)
class Done:
    """What a command said, and its exit code as `parley` itself would have it."""

    returncode: int
    stdout: str
    stderr: str


def parley(*words: str, folder: Path, typed: str = "", **settings: str) -> Done:
    """Run a command over a folder's database, with what somebody types at it."""
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db", "COLUMNS": "200", "TERM": "dumb", **settings}
    result = CliRunner().invoke(app, list(words), input=typed, env=env)
    if isinstance(result.exception, ParleyError):
        return Done(2, result.stdout, result.stderr + str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)
