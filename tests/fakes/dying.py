"""A server that dies, as by `kill -9`, when an act is committed and nobody is told of it: once for each act."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from storage import log
from storage.work import Append
from tests.fakes.forked import command

DIED = "died"
"""The file, in the process's folder, that has a line for each act at which it died."""
ACTS = ("enrolled", "withdrew")
"""Facts of people's, besides those that are said to be by a participant."""


def command_that_dies(*words: str) -> None:
    """A command of Parley's that does so."""
    write, died = log._outcomes, Path(DIED).absolute()

    def outcomes(connection: Connection, batch: Sequence[log._Item]) -> list[Any]:
        found = write(connection, batch)
        known = died.read_text(encoding="utf-8").split() if died.exists() else []
        for item, outcome in zip(batch, found, strict=True):
            if (act := _act(outcome or item.work)) and act not in known:
                with died.open("a", encoding="utf-8") as file:
                    file.write(f"{act}\n")
                os._exit(9)
        return found

    log._outcomes = outcomes
    command(*words)


def _act(written: Any) -> str:
    """What names an act of somebody's, if that is what was written."""
    events = written.events if isinstance(written, Append) else ()
    return next((f"{written.stream}:{e.seq}" for e in events if e.by == "participant" or e.kind in ACTS), "")
