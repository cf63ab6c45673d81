"""The command line at a terminal of its own, where it may ask for what is not to be seen."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PARLEY = (sys.executable, "-c", "from app.cli import main; main()")


def at_a_terminal(*words: str, folder: Path, answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run a command, giving each answer once what is before it was shown; its exit code, and all that was shown.

    What is typed before a hidden question has its last space is thrown away by the terminal.
    """
    ours, theirs = pty.openpty()
    env = {**os.environ, "PARLEY_DATABASE_URL": f"sqlite:///{folder}/parley.db", "TERM": "dumb"}
    with subprocess.Popen(
        [*PARLEY, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=env, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = ""
        for question, answer in answers:
            shown += _read(ours, question)
            os.write(ours, f"{answer}\n".encode())
        shown += _read(ours, None)
    os.close(ours)
    return process.returncode, shown


def _read(terminal: int, until: str | None) -> str:
    """What is shown until some words come, or to the end."""
    shown = b""
    while until is None or until.encode() not in shown:
        try:
            piece = os.read(terminal, 1024)
        except OSError:  # Linux says so where nobody holds the other side any more
            break
        if not piece:
            break
        shown += piece
    return shown.decode()
