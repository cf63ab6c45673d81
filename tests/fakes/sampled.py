"""Attempts of runs of models alone, put into a database without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from app.ai_alone.plan import AloneCell
from experiments.study.study import Study
from storage.ai_alone.replies import save_cells
from storage.db.engine import Database, writer
from storage.log.writer import AttemptRow, write
from storage.registers.studies import Studies

_turns = count(1)
Row = Mapping[str, Any]


def sampled(cell: str, sample: int, step: int, text: str | None, reason: str | None = None, **more: Any) -> Row:
    """An attempt to get a step of a sample, and what came of it, at a cost of a hundredth."""
    own = {"stream": "run", "turn": next(_turns), "slot": "", "number": 1, "study": "trial", "path": ""}
    ended = {"finish_reason": None if reason else "stop", "version": None, "reason": reason, "cause": reason}
    took = {"started_us": 0, "first_token_us": None, "total_us": 1, "cost": 0.01}
    tokens = {"prompt_tokens": 1, "completion_tokens": 1}
    asked: Row = {"model": "one", "backend": "told", "server": None, "request": {}, "sent": "{}", "raw": "{}"}
    of = {"cell": cell, "sample": sample, "step": step, "text": text or ""}
    return {**own, **ended, **took, **tokens, **asked, **of, **more}


def write_sampled(database: Database, rows: Iterable[Row]) -> None:
    with writer(database) as connection, connection.begin():
        for row in rows:
            write(connection, AttemptRow(row))


def scripted(cell: str, sample: int, step: int, text: str | None, reason: str | None = None) -> Row:
    return sampled(cell, sample, step, text, reason, model="tutor-a", backend="scripted")


def keep(database: Database, study: Study, cells: Sequence[AloneCell], rows: Iterable[Row]) -> None:
    Studies(database).register(study)
    save_cells(database, study.name, (cell.stored(number) for number, cell in enumerate(cells)))
    write_sampled(database, rows)
